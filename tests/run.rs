//! `ipcmark run` from the user's side: what it measures.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{
    IPCMARK, Running, Verdict, end, ends, ipcmark, is_root, listed, only, outcome, run, traces,
    works,
};
use ipcmark_results::{Case, Role, RunResult, Span, Status, Times, Trial, Wait};

ipcmark_harness::tests![
    every_transport_of_the_system_has_plausible_figures,
    trials_repeat_every_case,
    a_count_is_met_exactly,
    rows_are_precise_at_the_distance_that_was_requested,
    sizes_and_touch_are_as_requested,
    a_seed_repeats_the_order,
    without_a_sandbox_nothing_is_left,
    an_ordinary_user_measures_everything,
    flags_override_a_plan_file,
    every_example_runs_as_it_is,
    some_transports_wait_in_their_own_way,
    two_runs_at_once_both_measure,
    the_list_shows_the_capabilities_of_each_transport,
];

fn every_transport_of_the_system_has_plausible_figures() {
    let rows = listed::selected(&["os"]).join(",");
    let words = format!("run -t {rows} -w all -s 64 -n 300 --trials 1 --format json");
    let result = run(&words).exits(0).result();
    assert_distances(&result);
    for round in &result.rounds {
        let watched = round.hiccups.iter().all(|hiccups| hiccups.watched_ns >= 1_000_000);
        assert!(watched && !round.hiccups.is_empty(), "{:?}", round.hiccups);
    }
    assert!(result.clock.read_ns > 0.0 && result.clock.step_ns > 0);
    assert!(result.cases.len() > 15, "there are {} cases", result.cases.len());
    for case in &result.cases {
        let trial = only(case);
        assert_plausible(case, trial);
        let carrier = &trial.session.carrier;
        assert_eq!(carrier.declared, Some(carrier.found), "{case:?}");
    }
}

fn assert_distances(result: &RunResult) {
    let distances = result.distances.as_ref().expect("the processors are probed");
    let floors: Vec<f64> =
        distances.all.iter().map(|distance| distance.floor_round_trip_ns).collect();
    assert!(floors[0] > 0.0 && floors.is_sorted(), "{distances:?}");
    let shares: f64 = distances.all.iter().map(|distance| distance.share).sum();
    assert!((0.999..1.001).contains(&(shares + distances.mixed_share)), "{distances:?}");
    let reference = distances.reference.map(|reference| &distances.all[reference as usize]);
    assert!(reference.is_none_or(|reference| reference.share > 0.0), "{distances:?}");
}

fn rows_are_precise_at_the_distance_that_was_requested() {
    let words = "run -t pipe,fifo -w spin -s 64 -n 20 --budget 5s --distance 1ms --format json";
    let result = run(&format!("{words} --precision 0.1%")).exits(0).result();
    let distances = result.distances.as_ref().expect("the processors are probed");
    let farthest = distances.all.iter().rposition(|distance| !distance.apart);
    if farthest.is_some() {
        assert_eq!(distances.reference.map(|at| at as usize), farthest, "{distances:?}");
        // Probes beyond 20 µs are no distance.
        let said = "never at a distance of about 1000000 ns: rows are compared at";
        assert!(result.notes.iter().any(|note| note.contains(said)), "{:?}", result.notes);
    }
    let wide = ipcmark_results::wider_than(&result, 0.001);
    let said = format!("{wide} of the rows did not reach ± 0.1 % in the available time");
    assert_eq!(
        wide > 0,
        result.notes.iter().any(|note| note.contains(&said)),
        "{:?}",
        result.notes
    );
    assert!(result.cases.iter().all(|case| case.trials().len() >= 3), "{:?}", result.cases);
}

/// True if a transport of the system uses queues that have descriptors.
fn has_kernel_queue(name: &str) -> bool {
    const QUEUES: [&str; 11] = [
        "pipe",
        "fifo",
        "uds-",
        "tcp",
        "udp",
        "posix-mq",
        "scm-rights",
        "vmsplice",
        "uring-uds",
        "uring-pipe",
        // Its ends wake one another through a socket pair.
        "xdp",
    ];
    QUEUES.iter().any(|queue| name.starts_with(queue))
}

fn assert_plausible(case: &Case, trial: &Trial) {
    let name = format!("{} {}", case.identity.transport, case.identity.wait);
    let times = &trial.times_ns;
    let rising = [times.min, times.p50, times.p90, times.p99, times.p99_9, times.p99_99, times.max];
    assert!(times.min > 0 && rising.is_sorted(), "{name}: {times:?}");
    assert!((times.min as f64..=times.max as f64).contains(&times.mean), "{name}: {times:?}");
    assert!(trial.clock_free_mean_ns > 0.0, "{name}: {trial:?}");
    assert_eq!(times, &Times::parse(times.histogram.clone()).unwrap(), "{name}");
    assert!(
        trial.elapsed_ns as f64 >= times.mean * times.count as f64 * 0.998,
        "{name}: {trial:?}"
    );
    let session = &trial.session;
    assert!(session.setup_ns > 0, "{name}: {session:?}");
    let roles: Vec<Role> = ends(trial).map(|end| end.role).collect();
    let alone = case.identity.span == Span::None;
    let both = [Role::Leader, Role::Follower(0)];
    assert_eq!(roles, both[..if alone { 1 } else { 2 }], "{name}");
    let blocks = &trial.blocks;
    let count = if alone { 0 } else { blocks.len() };
    for probes in [&blocks.probe_before_ns, &blocks.probe_after_ns] {
        assert!(probes.len() == count && probes.iter().all(|probe| *probe > 0.0), "{name}");
    }
    for process in &session.processes {
        assert!(process.cpu_ns > 0 && process.peak_memory_bytes > 0, "{name}: {process:?}");
        assert!(process.name.starts_with("ipcmark"), "{name}: {process:?}");
        assert!(process.threads >= Some(1), "{name}: {process:?}");
        assert_eq!(process.channels.is_empty(), !has_kernel_queue(&name), "{name}: {process:?}");
    }
    // A message lost in one direction never reached the other end.
    let (least, most) = (session.losses.received, session.losses.sent);
    assert!(times.count < most, "{name}: half of the blocks are clock-free");
    for end in ends(trial) {
        let counts = [end.sent, end.received];
        assert!(counts.iter().all(|count| (least..=most).contains(count)), "{name}: {end:?}");
        // The kernel counts how often the processor goes idle, or does not.
        let is_counted = end.cpu.is_some_and(|cpu| {
            Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0/usage")).exists()
        });
        assert_eq!(end.thread.idles.is_some(), is_counted, "{name}: {end:?}");
    }
    if case.identity.wait == Wait::Block {
        let switches = &session.leader().unwrap().context_switches;
        assert!(switches.voluntary > 0, "{name} blocks and never slept: {switches:?}");
    }
}

fn trials_repeat_every_case() {
    let result = run("run -t pipe,fifo -w block -s 64 -d 10ms --trials 2 --format json");
    let result = result.exits(0).result();
    let rows: BTreeSet<_> = result
        .cases
        .iter()
        .map(|case| {
            let numbers = case.trials().iter().map(|trial| trial.number);
            (case.identity.transport.as_str(), numbers.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!((result.planned_cases, result.cases.len()), (2, 2));
    assert_eq!(rows, BTreeSet::from([("fifo", vec![1, 2]), ("pipe", vec![1, 2])]));
}

fn a_count_is_met_exactly() {
    for count in [1, 2, 137, 1000] {
        let words = format!("run -t null,pipe -s 64 -n {count} --trials 3 --format json");
        for case in run(&words).exits(0).result().cases {
            assert_eq!(case.trials().len(), 3, "so many trials give an interval");
            for trial in case.trials() {
                let times = &trial.times_ns;
                assert_eq!((times.count, times.samples().unwrap().len()), (count, count));
            }
        }
    }
}

fn sizes_and_touch_are_as_requested() {
    let rows = |words: &str| -> BTreeSet<(u64, String)> {
        let result = run(&format!("run -t null --format json {words}")).exits(0).result();
        result
            .cases
            .into_iter()
            .map(|case| (case.identity.payload_bytes, case.identity.touch.to_string()))
            .collect()
    };
    let rows_of = |rows: &[(u64, &str)]| -> BTreeSet<(u64, String)> {
        rows.iter().map(|(bytes, touch)| (*bytes, (*touch).to_owned())).collect()
    };
    let default = [(64, "all"), (4096, "all"), (1 << 20, "all")];
    assert_eq!(rows("-d 5ms"), rows_of(&default));
    assert_eq!(rows("-n 3 -s 16,4M"), rows_of(&[(16, "all"), (4 << 20, "all")]));
    assert_eq!(rows("-n 3 -s 17..64 --touch head"), rows_of(&[(32, "head"), (64, "head")]));
}

fn a_seed_repeats_the_order() {
    // Few enough to be open at the same time on any machine.
    let order = |seed: u32| -> Vec<(u64, String)> {
        let words = "run -t pipe,fifo -s 16,32,48,64 -w block -n 10 --trials 1 --format json";
        let result = run(&format!("{words} --seed {seed}")).exits(0).result();
        assert_eq!(result.run.seed, u64::from(seed));
        let rows = result.cases.into_iter().map(|case| case.identity);
        rows.map(|identity| (identity.payload_bytes, identity.transport)).collect()
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(9));
}

fn without_a_sandbox_nothing_is_left() {
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
    // Others may have no access to the build's directory.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = directory.path().join("ipcmark");
    fs::copy(IPCMARK, &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(user).arg(&copy).args(words.split_whitespace()).current_dir("/");
    let result = end(&mut command).exits(0).result();
    assert!(result.cases.iter().any(|case| case.status() == Status::Ok));
    Verdict::Holds
}

fn flags_override_a_plan_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    let plan = "transports = [\"null\", \"pipe\"]\nsizes = [64, \"1k\"]\nwaits = [\"spin\"]\n\
                duration = \"5ms\"\ntrials = 1\nseed = 5\nno-pin = true\nformat = \"json\"\n";
    fs::write(&path, plan).unwrap();
    let planned = |words: &str| -> RunResult {
        end(ipcmark("run").arg(&path).args(words.split_whitespace())).exits(0).result()
    };
    let rows = |result: &RunResult| -> BTreeSet<(String, u64)> {
        result
            .cases
            .iter()
            .map(|case| (case.identity.transport.clone(), case.identity.payload_bytes))
            .collect()
    };
    let as_written = planned("");
    let all = [("null", 64), ("null", 1024), ("pipe", 64), ("pipe", 1024)];
    assert_eq!(rows(&as_written), all.map(|(name, bytes)| (name.to_owned(), bytes)).into());
    assert_eq!(as_written.run.seed, 5);

    let overridden = planned("-t null -s 32 -n 77 --seed 6");
    assert_eq!(rows(&overridden), [("null".to_owned(), 32)].into());
    assert_eq!(overridden.run.seed, 6);
    let trial = only(&overridden.cases[0]);
    assert_eq!(trial.times_ns.count, 77);
    assert!(ends(trial).all(|end| end.cpu.is_none()), "{trial:?}");
}

fn some_transports_wait_in_their_own_way() {
    let words = "run -t pipe,shm-ring,shm-slot -s 64 -n 50 --trials 1 --timeout 5m --format json";
    let result = run(&format!("{words} -w block,shm-*=spin,shm-slot=block")).exits(0).result();
    let waits: BTreeSet<(&str, Wait)> = result
        .cases
        .iter()
        .map(|case| (case.identity.transport.as_str(), case.identity.wait))
        .collect();
    let spin = ["shm-ring", "shm-slot"].map(|name| (name, Wait::Spin));
    let block = ["pipe", "shm-slot"].map(|name| (name, Wait::Block));
    assert_eq!(waits, [spin, block].concat().into_iter().collect());
    let refused = run("run -w pipes=spin").exits(2).stderr;
    assert!(refused.contains("in --waits: ") && refused.contains("pipe"), "{refused}");
}

/// As written, except for less time and only with the system's own transports.
fn every_example_runs_as_it_is() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
    // Plans without transports of the system run in the tests of their libraries.
    let is_of_system = |path: &PathBuf| !path.ends_with("several-publishers.toml");
    let plans = paths.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let plans: Vec<PathBuf> = plans.filter(is_of_system).collect();
    assert!(!plans.is_empty());
    for plan in plans {
        let mut command = ipcmark("run");
        command.arg(&plan).args("-t pipe,eventfd -d 2ms --trials 1 --format json".split(' '));
        let result = end(&mut command).result();
        let measured = result.cases.iter().filter(|case| case.status() == Status::Ok).count();
        assert!(result.complete && measured >= 2, "{}", plan.display());
        assert!(
            result.cases.iter().all(|case| case.status() != Status::Failed),
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

fn the_list_shows_the_capabilities_of_each_transport() {
    let list = listed::all();
    let names: BTreeSet<&str> = list.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), list.len(), "a name stands for one transport");
    assert!(["null", "pipe", "shm-slot"].iter().all(|name| names.contains(name)), "{names:?}");
    for entry in &list {
        let available = entry["available"].as_bool().unwrap();
        assert_eq!(entry["reason"].is_string(), !available, "{entry}");
        assert!(entry["summary"].as_str().is_some_and(|words| !words.is_empty()), "{entry}");
        // LCM's own message limit is far above what its sockets carry without losing most.
        let least = if entry["name"] == "lcm-udpm" { 256 << 10 } else { 4 << 20 };
        assert!(entry["max_payload_bytes"].as_u64().unwrap() >= least, "{entry}");
        assert!(!entry["waits"].as_array().unwrap().is_empty(), "{entry}");
        assert!(!entry["patterns"].as_array().unwrap().is_empty(), "{entry}");
    }
    let table = run("list").exits(0).stdout;
    assert!(names.iter().all(|name| table.contains(name)), "{table}");
    let result = run("run -t udp -s 64 -n 10 -w hybrid --format json").exits(1).result();
    assert!(outcome(&result, "udp").1.contains("spin, block"), "it has what the list says");
}
