//! `ipcmark run` as a user runs it: what it measures, writes and shows.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{
    IPCMARK, Running, Verdict, assert_valid, end, ipcmark, ipcmark_under, is_root, outcome,
    processors, read, run, traces, works,
};
use ipcmark_results::{Case, Figures, RunResult, Status, decode};
use serde_json::Value;

ipcmark_harness::tests![
    the_table_shows_machine_and_rows,
    json_is_valid_against_the_schema,
    the_file_is_what_json_prints,
    csv_has_a_line_a_case,
    markdown_has_a_table,
    every_transport_of_the_system_has_plausible_figures,
    trials_repeat_every_case,
    a_count_is_met_exactly,
    sizes_and_touch_are_as_asked_for,
    a_seed_repeats_the_order,
    without_a_sandbox_nothing_stays,
    an_ordinary_user_measures_everything,
    processors_are_those_asked_for,
    one_processor_is_enough,
    colour_is_for_terminals,
    a_plan_file_gives_way_to_flags,
    every_example_runs_as_it_is,
    two_runs_at_once_both_measure,
    a_reader_may_go_away,
    the_list_says_what_each_can_do,
];

fn the_table_shows_machine_and_rows() {
    let ended = run("run -t null,pipe,shm-ring -s 64 -d 20ms").exits(0);
    for words in ["cpu ", "kernel ", "placement ", "floor ", "clock ", "64 B", "p50", "p99"] {
        assert!(ended.stdout.contains(words), "no '{words}' in: {}", ended.stdout);
    }
    for name in ["null", "pipe", "shm-ring"] {
        // A figure of a busy machine may have no decimals.
        let is_row =
            |line: &str| line.starts_with(name) && line.contains(|c: char| c.is_ascii_digit());
        let mut lines = ended.stdout.lines().map(str::trim_start);
        assert!(lines.any(is_row), "no row {name} in: {}", ended.stdout);
    }
    assert_eq!(ended.stderr, "", "there is nothing to say on standard error");
}

fn json_is_valid_against_the_schema() {
    let ended = run("run -t null,pipe -s 64,4k -w spin,hybrid -d 10ms --format json").exits(1);
    assert_valid(&serde_json::from_str(&ended.stdout).expect("JSON"));
    let result = ended.result();
    assert!(result.complete);
    assert_eq!((result.planned_cases, result.cases.len()), (8, 8));
    let measured = result.cases.iter().filter(|case| case.status == Status::Ok);
    assert_eq!(measured.count(), 4, "spin was measured, hybrid was not");
}

fn the_file_is_what_json_prints() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("result.json");
    let mut command = ipcmark("run -t null -s 64 -d 10ms --format json -o");
    let ended = end(command.arg(&path)).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), ended.stdout);
    let result = read(&path);
    assert!(result.run.command.contains(&path.display().to_string()));
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "no temporary file stays: {names:?}");
}

fn csv_has_a_line_a_case() {
    let ended = run("run -t null,pipe -s 64 -w spin,block -d 10ms --format csv").exits(1);
    let mut csv = csv::Reader::from_reader(ended.stdout.as_bytes());
    let columns: Vec<String> = csv.headers().unwrap().iter().map(Into::into).collect();
    let at = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let lines: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let measured = line[at("status")] == *"ok";
        assert_eq!(line[at("round_trips")].parse::<u64>().is_ok(), measured, "{line:?}");
        assert_eq!(line[at("reason")].is_empty(), measured, "{line:?}");
    }
}

fn markdown_has_a_table() {
    let ended = run("run -t null,pipe -s 64 -d 10ms --format markdown").exits(0);
    let rows = |start: &str| ended.stdout.lines().filter(|line| line.starts_with(start)).count();
    assert!(rows("| pipe") >= 2, "{}", ended.stdout);
    assert!(rows("| ---") + rows("|---") + rows("| :--") >= 2, "{}", ended.stdout);
}

fn every_transport_of_the_system_has_plausible_figures() {
    let result = run("run -t os -s 64 -n 300 --format json").exits(0).result();
    let floor = result.floor.as_ref().expect("there is a floor");
    assert!(0.0 < floor.lowest_ns && floor.lowest_ns <= floor.round_trip_ns);
    assert!(floor.round_trip_ns <= floor.highest_ns);
    assert!(result.clock.read_ns > 0.0);
    assert!(result.cases.len() > 15, "there are {} cases", result.cases.len());
    for case in &result.cases {
        let figures = case.figures.as_ref();
        let figures = figures.unwrap_or_else(|| panic!("{}: {:?}", case.transport, case.reason));
        assert_plausible(case, figures);
        assert_eq!(figures.path.declared.as_ref(), Some(&figures.path.carrier), "{case:?}");
    }
}

fn assert_plausible(case: &Case, figures: &Figures) {
    let name = format!("{} {}", case.transport, case.wait);
    let times = &figures.round_trip_ns;
    let rising = [times.min, times.p50, times.p90, times.p99, times.p99_9, times.p99_99, times.max];
    assert!(times.min > 0 && rising.is_sorted(), "{name}: {times:?}");
    assert!((times.min as f64..=times.max as f64).contains(&times.mean), "{name}: {times:?}");
    assert!(times.bulk_mean > 0.0, "{name}: {times:?}");
    let histogram = decode(&figures.histogram).unwrap();
    assert_eq!(histogram.len(), figures.round_trips, "{name}");
    assert_eq!(histogram.value_at_quantile(0.5), times.p50, "{name}");
    let bytes = figures.messages_per_second * case.payload_bytes as f64;
    assert!((figures.bytes_per_second / bytes - 1.0).abs() < 1e-9, "{name}: {figures:?}");
    let cpu = &figures.cpu_ns_per_message;
    assert!(cpu.leader > 0.0 && figures.floor_round_trip_ns > 0.0, "{name}: {figures:?}");
    assert!((cpu.follower > 0.0) == (case.span != "none"), "{name}: {figures:?}");
    assert!(figures.setup_ns > 0 && figures.peak_memory_bytes.leader > 0, "{name}: {figures:?}");
    if case.wait == "block" {
        let switches = &figures.context_switches.leader;
        assert!(switches.voluntary > 0, "{name} blocks and never slept: {switches:?}");
    }
}

fn trials_repeat_every_case() {
    let result = run("run -t pipe,fifo -w block -s 64 -d 10ms --trials 2 --format json");
    let result = result.exits(0).result();
    let rows: BTreeSet<_> =
        result.cases.iter().map(|case| (case.transport.as_str(), case.trial)).collect();
    let wanted = [("fifo", 1), ("fifo", 2), ("pipe", 1), ("pipe", 2)];
    assert_eq!(rows, BTreeSet::from(wanted));
}

fn a_count_is_met_exactly() {
    for count in [1, 2, 137, 5000] {
        let words = format!("run -t null,pipe -s 64 -n {count} --format json");
        for case in run(&words).exits(0).result().cases {
            let figures = case.figures.expect("it is measured");
            assert_eq!(figures.round_trips, count, "{} {}", case.transport, case.wait);
            assert_eq!(decode(&figures.histogram).unwrap().len(), count);
        }
    }
}

fn sizes_and_touch_are_as_asked_for() {
    let rows = |words: &str| -> Vec<(u64, String)> {
        let result = run(&format!("run -t null --format json {words}")).exits(0).result();
        result.cases.into_iter().map(|case| (case.payload_bytes, case.touch)).collect()
    };
    let rows_of = |rows: &[(u64, &str)]| -> Vec<(u64, String)> {
        rows.iter().map(|(bytes, touch)| (*bytes, (*touch).to_owned())).collect()
    };
    let default = [(64, "head"), (4096, "head"), (1 << 20, "head"), (1 << 20, "all")];
    assert_eq!(rows("-d 5ms"), rows_of(&default));
    assert_eq!(rows("-n 3 -s 16,4M"), rows_of(&[(16, "head"), (4 << 20, "head")]));
    assert_eq!(rows("-n 3 -s 17..64 --touch all"), rows_of(&[(32, "all"), (64, "all")]));
}

fn a_seed_repeats_the_order() {
    // A wait that none of these has: the order is made, and nothing needs to be measured.
    let order = |seed: u32| -> Vec<String> {
        let transports = "pipe,fifo,tcp,udp,uds-stream,uds-dgram,uds-seqpacket";
        let words = format!("run -t {transports} -s 64 -w hybrid --seed {seed} --format json");
        let result = run(&words).exits(1).result();
        assert_eq!(result.run.seed, u64::from(seed));
        result.cases.into_iter().map(|case| case.transport).collect()
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(9));
}

fn without_a_sandbox_nothing_stays() {
    let words = "run -t os -w block -s 64,1M -d 5ms --sandbox off --format json";
    let result = run(words).exits(0).result();
    assert!(result.environment.sandbox.starts_with("off"), "{}", result.environment.sandbox);
    assert_eq!(traces::names(&result.run.id), [""; 0]);
    assert_eq!(traces::system_v(), [""; 0]);
}

fn an_ordinary_user_measures_everything() -> Verdict {
    let words = "run -t os -w block -s 4k -d 5ms --format json";
    if !is_root() {
        run(words).exits(0);
        return Verdict::Holds;
    }
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    if !works("setpriv", &[&user[..], &["true"]].concat()) {
        return Verdict::Skipped(
            "this is root, and setpriv cannot make it an ordinary user".into(),
        );
    }
    // The build's directory may be closed to others.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = directory.path().join("ipcmark");
    fs::copy(IPCMARK, &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(user).arg(&copy).args(words.split_whitespace()).current_dir("/");
    let result = end(&mut command).exits(0).result();
    assert!(result.cases.iter().any(|case| case.status == Status::Ok));
    Verdict::Holds
}

fn processors_are_those_asked_for() -> Verdict {
    let placement = |words: &str| {
        let result = run(&format!("run -t null -s 64 -n 10 --format json {words}"));
        let figures = result.exits(0).result().cases.remove(0).figures.expect("it is measured");
        (figures.placement.leader_cpu, figures.placement.follower_cpus)
    };
    assert_eq!(placement("--no-pin"), (None, vec![]));
    let [first, second, ..] = processors()[..] else {
        return Verdict::Skipped("there is one processor only".into());
    };
    let both = placement(&format!("--cpus {first},{second}"));
    assert_eq!(both, (Some(first), vec![second]));
    let both = placement(&format!("--cpus {second},{first}"));
    assert_eq!(both, (Some(second), vec![first]));
    Verdict::Holds
}

fn one_processor_is_enough() -> Verdict {
    let first = processors()[0].to_string();
    if !works("taskset", &["-c", &first, "true"]) {
        return Verdict::Skipped("there is no taskset".into());
    }
    let words = "run -t pipe -s 64 -d 20ms --format json";
    let result = end(&mut ipcmark_under("taskset", &["-c", &first], words)).exits(0).result();
    assert_eq!(result.environment.cpus_usable, 1);
    let warning = result.notes.iter().find(|note| note.contains("share 1 processor"));
    assert!(warning.is_some(), "{:?}", result.notes);
    assert!(result.cases.iter().all(|case| case.status == Status::Ok), "{:?}", result.cases);
    Verdict::Holds
}

fn colour_is_for_terminals() -> Verdict {
    let words = "run -t null,nul* -s 64 -d 5ms";
    let escape = '\x1b';
    let ended = run(words).exits(0);
    assert!(!ended.stdout.contains(escape) && !ended.stderr.contains(escape));
    if !works("script", &["-qec", "true", "/dev/null"]) {
        return Verdict::Skipped("there is no script to make a terminal".into());
    }
    let on_terminal = |variable: &str| {
        let line = format!("env {variable} {} {words} 2>/dev/null", IPCMARK);
        end(Command::new("script").args(["-qec", &line, "/dev/null"])).exits(0).stdout
    };
    assert!(on_terminal("TERM=xterm").contains(escape), "a terminal gets colour");
    assert!(!on_terminal("NO_COLOR=1").contains(escape), "NO_COLOR is honoured");
    assert!(!on_terminal("TERM=dumb").contains(escape), "a dumb terminal gets none");
    Verdict::Holds
}

fn a_plan_file_gives_way_to_flags() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    let plan = "transports = [\"null\", \"pipe\"]\nsizes = [64, \"1k\"]\nwaits = [\"spin\"]\n\
                duration = \"5ms\"\nseed = 5\nno-pin = true\nformat = \"json\"\n";
    fs::write(&path, plan).unwrap();
    let planned = |words: &str| -> RunResult {
        end(ipcmark("run").arg(&path).args(words.split_whitespace())).exits(0).result()
    };
    let rows = |result: &RunResult| -> BTreeSet<(String, u64)> {
        result.cases.iter().map(|case| (case.transport.clone(), case.payload_bytes)).collect()
    };
    let as_written = planned("");
    let all = [("null", 64), ("null", 1024), ("pipe", 64), ("pipe", 1024)];
    assert_eq!(rows(&as_written), all.map(|(name, bytes)| (name.to_owned(), bytes)).into());
    assert_eq!(as_written.run.seed, 5);

    let overridden = planned("-t null -s 32 -n 77 --seed 6");
    assert_eq!(rows(&overridden), [("null".to_owned(), 32)].into());
    assert_eq!(overridden.run.seed, 6);
    let figures = overridden.cases[0].figures.as_ref().expect("it is measured");
    assert_eq!((figures.round_trips, figures.placement.leader_cpu), (77, None));
}

/// As it is, but for less time and with the system's own transports.
fn every_example_runs_as_it_is() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
    let plans: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert!(!plans.is_empty());
    for plan in plans {
        let mut command = ipcmark("run");
        command.arg(&plan).args("-t pipe,eventfd -d 2ms --format json".split(' '));
        let result = end(&mut command).result();
        let measured = result.cases.iter().filter(|case| case.status == Status::Ok).count();
        assert!(result.complete && measured >= 2, "{}", plan.display());
        assert!(
            result.cases.iter().all(|case| case.status != Status::Failed),
            "{}",
            plan.display()
        );
    }
}

fn two_runs_at_once_both_measure() {
    let words = "run -t os -w block -s 64 -d 10ms --format json";
    for sandbox in ["", " --sandbox off"] {
        let start = || Running::start(&mut ipcmark(&format!("{words}{sandbox}")));
        let both = [start(), start()].map(|running| running.end().exits(0).result());
        assert_ne!(both[0].run.id, both[1].run.id);
    }
}

fn a_reader_may_go_away() {
    for words in ["list", "schema", "run -t null -s 64 -n 10 --format json"] {
        let mut command = ipcmark(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
    }
}

fn the_list_says_what_each_can_do() {
    let list: Vec<Value> =
        serde_json::from_str(&run("list --format json").exits(0).stdout).unwrap();
    let names: BTreeSet<&str> = list.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), list.len(), "a name stands for one transport");
    assert!(["null", "pipe", "shm-slot"].iter().all(|name| names.contains(name)), "{names:?}");
    for entry in &list {
        let available = entry["available"].as_bool().unwrap();
        assert_eq!(entry["reason"].is_string(), !available, "{entry}");
        assert!(entry["summary"].as_str().is_some_and(|words| !words.is_empty()), "{entry}");
        assert!(entry["max_payload_bytes"].as_u64().unwrap() >= 4 << 20, "{entry}");
        assert!(!entry["waits"].as_array().unwrap().is_empty(), "{entry}");
        assert!(!entry["patterns"].as_array().unwrap().is_empty(), "{entry}");
    }
    let table = run("list").exits(0).stdout;
    assert!(names.iter().all(|name| table.contains(name)), "{table}");
    let result = run("run -t udp -s 64 -n 10 -w hybrid --format json").exits(1).result();
    assert!(outcome(&result, "udp").1.contains("spin, block"), "it has what the list says");
}
