//! `ipcmark doctor` on this machine and on restricted ones: an unprivileged user, one processor, no `/sys`. The tests
//! cannot know how suitable this machine is.

use std::process::Command;

use serde_json::Value;

use crate::support::{
    Ended, IPCMARK, Verdict, end, ipcmark, ipcmark_under, is_root,
    namespaces::{lacking, namespaces, unshared},
    run, works,
};

ipcmark_harness::tests![
    the_exit_status_is_the_verdict,
    measured_figures_are_consistent,
    findings_are_sorted_by_weight,
    an_ordinary_user_can_run_it,
    without_sys_the_other_facts_are_shown,
    one_processor_is_not_fit_to_spin_on,
    without_threads_the_facts_are_shown,
    an_issue_contains_no_host_or_user_name,
    a_table_keeps_to_the_width,
    wrong_flags_are_refused,
];

const QUICK: &str = "doctor --duration 200ms --format json";

/// The diagnosis; its exit status must match its verdict.
#[track_caller]
fn diagnosis(ended: Ended) -> Value {
    let diagnosis: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", ended.stdout, ended.stderr));
    let expected = i32::from(diagnosis["verdict"]["answer"] == "not-fit");
    assert_eq!(ended.code(), expected, "{}", diagnosis["verdict"]);
    assert_eq!(ended.stderr, "", "there is no terminal to show progress on");
    diagnosis
}

fn finding<'a>(diagnosis: &'a Value, name: &str) -> Option<&'a Value> {
    diagnosis["findings"].as_array()?.iter().find(|finding| finding["name"] == name)
}

/// The ids of the processors that this process may use.
fn usable() -> Vec<u32> {
    ipcmark_machine::topology::usable().unwrap().iter().map(|cpu| cpu.id).collect()
}

fn the_exit_status_is_the_verdict() {
    let diagnosis = diagnosis(run(QUICK));
    let verdict = &diagnosis["verdict"];
    let answers: Vec<&str> = ["spinning", "sleeping", "large", "tails"]
        .map(|question| verdict["questions"][question]["answer"].as_str().unwrap())
        .into();
    let heaviest =
        ["not-fit", "reservations", "fit"].into_iter().find(|word| answers.contains(word));
    assert_eq!(verdict["answer"].as_str(), heaviest, "{verdict}");
    assert!(verdict["sentence"].as_str().unwrap().ends_with('.'));
}

fn measured_figures_are_consistent() {
    let cpus = usable();
    let diagnosis = diagnosis(run(QUICK));
    let measured = &diagnosis["measured"];
    assert!(measured["duration_ns"].as_u64().unwrap() >= 190_000_000, "{measured}");
    let hiccups = measured["hiccups"].as_array().unwrap();
    let of: Vec<u64> = hiccups.iter().map(|hiccups| hiccups["cpu"].as_u64().unwrap()).collect();
    assert_eq!(of, cpus.iter().map(|cpu| u64::from(*cpu)).collect::<Vec<_>>());
    for one in hiccups {
        assert!(one["share"].as_f64().unwrap() <= 1.0, "{one}");
        let counts: Vec<u64> = one["gaps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|gaps| gaps["count"].as_u64().unwrap())
            .collect();
        assert!(counts.len() == 3 && counts.is_sorted_by(|more, fewer| more >= fewer), "{one}");
    }
    let cores = measured["shared_cores"].as_array().unwrap();
    assert_eq!(cores.len(), cpus.len().min(2));
    for core in cores {
        let share = core["share"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share) && core["bursts"].as_u64().unwrap() > 0, "{core}");
        assert_eq!(share > 0.0, core["slowdown"].is_number(), "{core}");
    }
    let pairs = measured["pairs"].as_array().unwrap();
    assert_eq!(pairs.is_empty(), cpus.len() == 1);
    for pair in pairs {
        let distances = pair["distances"].as_array().unwrap();
        let shares: f64 =
            distances.iter().map(|distance| distance["share"].as_f64().unwrap()).sum();
        assert!(shares > 0.0 && shares <= 1.000_001, "{pair}");
        assert!(pair["over_time"].as_str().unwrap().chars().count() <= 60);
        let clocks = &pair["clock_offset"];
        // On a busy machine the two processors may never run at the same time.
        if !clocks.is_null() {
            let [low, middle, high, bound] = ["p5_ns", "p50_ns", "p95_ns", "bound_ns"]
                .map(|name| clocks[name].as_f64().unwrap());
            assert!(low <= middle && middle <= high && bound >= 0.0, "{clocks}");
        }
    }
}

fn findings_are_sorted_by_weight() {
    let diagnosis = diagnosis(run(QUICK));
    let weight = |finding: &Value| match finding["effect"]["weight"].as_str() {
        Some("not-fit") => 0,
        Some("reservation") => 1,
        Some("note") => 2,
        Some(other) => panic!("{other}"),
        None => 3,
    };
    let findings = diagnosis["findings"].as_array().unwrap();
    assert!(findings.iter().map(weight).is_sorted(), "{findings:?}");
    for fact in findings {
        assert!(!fact["value"].as_str().unwrap().is_empty(), "{fact}");
        assert!(!fact["source"].as_str().unwrap().is_empty(), "{fact}");
    }
    assert!(finding(&diagnosis, "kernel").is_some() && finding(&diagnosis, "hiccups").is_some());
}

/// The words for setpriv: a user without privileges.
const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

fn an_ordinary_user_can_run_it() -> Verdict {
    if !is_root() {
        // All other tests have shown it.
        return Verdict::Holds;
    }
    if !works("setpriv", &[&NOBODY[..], &[IPCMARK, "--version"]].concat()) {
        return Verdict::Skipped("an ordinary user cannot reach the build's directory".into());
    }
    let diagnosis = diagnosis(end(&mut ipcmark_under("setpriv", &NOBODY, QUICK)));
    assert!(diagnosis["measured"].is_object(), "{diagnosis}");
    assert!(finding(&diagnosis, "processors").is_some());
    Verdict::Holds
}

fn without_sys_the_other_facts_are_shown() -> Verdict {
    let own = namespaces("--mount");
    let setup = "mount -t tmpfs tmpfs /sys && mount -t tmpfs tmpfs /proc/sys";
    if let Some(skipped) = lacking(&own, setup) {
        return skipped;
    }
    let diagnosis = diagnosis(unshared(&own, setup, QUICK));
    assert!(diagnosis["measured"]["hiccups"].is_array());
    let sources =
        diagnosis["findings"].as_array().unwrap().iter().map(|finding| &finding["source"]);
    let lost = ["/sys/kernel/", "/proc/sys/"];
    for source in sources.map(|source| source.as_str().unwrap()) {
        assert!(!lost.iter().any(|start| source.starts_with(start)), "{source} cannot be read");
    }
    assert!(finding(&diagnosis, "memory").is_some(), "/proc is still there");
    Verdict::Holds
}

fn one_processor_is_not_fit_to_spin_on() -> Verdict {
    let cpu = usable()[0].to_string();
    if !works("taskset", &["-c", &cpu, "true"]) {
        return Verdict::Skipped("there is no taskset".into());
    }
    let alone = end(&mut ipcmark_under("taskset", &["-c", &cpu], QUICK)).exits(1);
    for diagnosis in [diagnosis(alone), diagnosis(run(&format!("{QUICK} --cpus {cpu}")))] {
        assert_eq!(diagnosis["verdict"]["questions"]["spinning"]["answer"], "not-fit");
        let causes = diagnosis["verdict"]["questions"]["spinning"]["causes"].as_array().unwrap();
        assert!(causes.iter().any(|cause| cause == "processors"), "{causes:?}");
        assert_eq!(diagnosis["measured"]["pairs"].as_array().unwrap().len(), 0);
        assert!(finding(&diagnosis, "distances").is_none());
        assert!(finding(&diagnosis, "wake-up").is_some(), "sleeping threads share a processor");
    }
    Verdict::Holds
}

fn without_threads_the_facts_are_shown() -> Verdict {
    // The limit does not apply to root.
    let words = [&NOBODY[..], &["prlimit", "--nproc=1"]].concat();
    if !is_root() || !works("setpriv", &[&words[..], &[IPCMARK, "--version"]].concat()) {
        return Verdict::Skipped("only root can become a user without processes".into());
    }
    let diagnosis = diagnosis(end(&mut ipcmark_under("setpriv", &words, QUICK)));
    assert!(diagnosis["measured"].is_null(), "{diagnosis}");
    let unmeasured = finding(&diagnosis, "measurement").unwrap();
    let sentence = unmeasured["effect"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("cannot start a thread") && sentence.contains("ulimit -u"),
        "{sentence}"
    );
    assert!(finding(&diagnosis, "processors").is_some());
    Verdict::Holds
}

fn an_issue_contains_no_host_or_user_name() -> Verdict {
    let own = namespaces("--uts");
    let setup = "hostname secret-host-name";
    if let Some(skipped) = lacking(&own, setup) {
        return skipped;
    }
    let line = format!("{setup} && exec {IPCMARK} doctor --duration 200ms --format issue");
    let mut command = Command::new("unshare");
    command.args(&own).args(["sh", "-c", &line]);
    for (variable, value) in [
        ("HOME", "/home/secret-user"),
        ("USER", "secret-user"),
        ("LD_LIBRARY_PATH", "/secret-path"),
    ] {
        command.env(variable, value);
    }
    let ended = end(&mut command);
    let block = &ended.stdout;
    assert!(block.starts_with("<details>\n<summary>ipcmark doctor "), "{block}");
    assert!(block.ends_with("</details>\n"), "{block}");
    assert!(block.contains("| hiccups | > 1 µs |") && block.contains("| kernel |"), "{block}");
    assert!(!block.contains("secret"), "{block}");
    // Every line of a table has as many cells as its head; an escaped bar is not a border.
    for table in block.split("\n\n").filter(|part| part.starts_with('|')) {
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let head = table.lines().next().map(cells);
        assert!(table.lines().all(|line| Some(cells(line)) == head), "{table}");
    }
    Verdict::Holds
}

fn a_table_keeps_to_the_width() {
    let mut command = ipcmark("doctor --duration 200ms");
    let shown = String::from_utf8(command.env("COLUMNS", "80").output().unwrap().stdout).unwrap();
    assert!(shown.starts_with("This machine is "), "{shown}");
    assert!(!shown.contains('\x1b'), "there is no terminal");
    for line in shown.lines().filter(|line| !line.starts_with("    remedy: ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

fn wrong_flags_are_refused() {
    for (words, reason) in [
        ("doctor --cpus 70000", "this process may not run on it"),
        ("doctor --duration 1ms", "at least 100ms"),
        ("doctor --duration 5", "write it as 200ms or 2s"),
        ("doctor --format xml", "table, json, issue"),
        ("doctor now", "now"),
    ] {
        let ended = run(words).exits(2);
        assert_eq!(ended.stdout, "");
        let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(reason), "{words}: {said}");
    }
}
