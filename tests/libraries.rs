//! Tests with the real libraries behind modules: their processes are killed, their daemon is missing or belongs to
//! somebody else, memory is exhausted. Each costs one row with its reason and leaves nothing behind.

use std::{collections::BTreeSet, process::Command, thread, time::Duration};

use ipcmark_harness::sampled;
use ipcmark_results::{RunResult, Status};
use libc::{SIGCONT, SIGKILL};

use crate::support::{
    IPCMARK, Running, Verdict, end, ipcmark, listed,
    namespaces::{lacking, namespaces, unshared},
    outcome, run,
    scene::{A_MOMENT, FOLLOWER, LEADER, Scene},
    traces,
};

ipcmark_harness::tests![
    a_killed_daemon_costs_one_row,
    killed_ends_cost_one_row_and_the_next_run_is_clean,
    two_runs_at_once_do_not_disturb_each_other,
    a_daemon_of_another_process_is_left_alone,
    a_missing_daemon_is_reported,
    a_small_dev_shm_is_reported,
    messages_over_tcp_have_the_carrier_network,
];

/// One transport of each library that keeps objects in the system.
const LIBRARIES: [&str; 24] = [
    "iceoryx-cpp",
    "iceoryx2",
    "cpp-ipc-channel",
    "alephzero-pubsub",
    "zeromq-ipc",
    "fastdds-datasharing",
    "fastdds-shm",
    "cyclonedds",
    "cyclonedds-iceoryx",
    "mpi-openmpi",
    "mpi-mpich",
    "zenoh-unix",
    "zenoh-shm",
    "zenoh-query",
    "ucx-shm",
    "libfabric-shm",
    "dbus-daemon",
    "grpc-cpp-stream",
    "python-shared-memory",
    "grpc-tonic-stream",
    "varlink",
    "redis-pubsub",
    "nanomsg-ipc",
    "aeron-ipc",
];

/// The reason why a transport cannot run here, if any.
fn missing(name: &str) -> Option<Verdict> {
    listed::missing(name).map(Verdict::Skipped)
}

/// The states of a session before its endpoints are open.
const BEFORE: [&str; 3] = ["starting", "measuring the floor", "opening"];

/// A row with a daemon, its wait, its sandbox, the daemon's process, which the first opening endpoint starts, and the
/// daemon's name in an error.
const DAEMONS: [[&str; 5]; 8] = [
    ["iceoryx-cpp", "spin", "auto", "iox-roudi", "iceoryx's daemon"],
    ["iceoryx-c", "spin", "off", "iox-roudi", "iceoryx's daemon"],
    ["iceoryx-waitset", "block", "off", "iox-roudi", "iceoryx's daemon"],
    ["dbus-daemon", "block", "auto", "dbus-daemon", "dbus-daemon: it has ended"],
    ["redis-pubsub", "block", "auto", "redis-server", "redis-server: it has ended"],
    ["redis-list", "spin", "off", "redis-server", "redis-server: it has ended"],
    ["aeron-ipc", "spin", "auto", "aeron-md-shd", "Aeron's media driver: it has ended"],
    ["nats", "block", "auto", "nats-server", "nats-server: it has ended"],
];

/// Runs a scene with increasing times for opening the endpoints, until they were open in time: before that, nobody
/// knows what an endpoint has made. Returns its result, and the reason of the one failed row.
fn once_open(mut play: impl FnMut(Duration) -> RunResult) -> (RunResult, String) {
    let mut patience = A_MOMENT;
    loop {
        let result = play(patience);
        let failed: Vec<_> =
            result.cases.iter().filter(|case| case.status() == Status::Failed).collect();
        assert_eq!(failed.len(), 1, "{:?}", result.cases);
        let reason = failed[0].reason().expect("a failed row has a reason").to_owned();
        if !BEFORE.iter().any(|phase| reason.contains(&format!("while {phase}"))) {
            return (result, reason);
        }
        patience *= 2;
    }
}

fn a_killed_daemon_costs_one_row() -> Verdict {
    let rows: Vec<_> = DAEMONS.iter().filter(|row| missing(row[0]).is_none()).collect();
    if rows.is_empty() {
        return Verdict::Skipped("no row with a daemon is there".into());
    }
    for [transport, wait, sandbox, daemon, said] in sampled("killed daemons", rows.into_iter()) {
        let words = format!("-s 64,4k -w {wait} --seed 1 --sandbox {sandbox}");
        let words = format!("run -t {transport} {words}");
        let (result, reason) = once_open(|patience| {
            let (scene, leader) = Scene::held_with(|| ipcmark(&words), 2 * patience, daemon);
            scene.send(daemon, SIGKILL);
            leader.send(SIGCONT);
            scene.end().1
        });
        assert!(reason.contains(said), "{transport} {sandbox}: {reason}");
        assert!(result.cases.iter().any(|case| case.status() == Status::Ok), "the next one runs");
    }
    Verdict::Holds
}

fn killed_ends_cost_one_row_and_the_next_run_is_clean() -> Verdict {
    let mut played = 0;
    let there = LIBRARIES.iter().filter(|name| missing(name).is_none());
    let ends = there.flat_map(|transport| [LEADER, FOLLOWER].map(|name| (transport, name)));
    for (transport, name) in sampled("killed ends", ends) {
        let mut left = BTreeSet::new();
        let (_, reason) = once_open(|patience| {
            let scene =
                Scene::start(&format!("run -t {transport} -w spin -s 64 -d 1h --sandbox off"));
            scene.await_case();
            thread::sleep(patience);
            // Leftovers of a previous attempt do not count.
            let before = traces::dead_segments();
            scene.send(name, SIGKILL);
            let result = scene.end().1;
            left = &traces::dead_segments() - &before;
            result
        });
        assert_eq!(left, BTreeSet::new(), "{transport}: the {name} was killed");
        assert!(reason.contains("killed by signal 9"), "{transport}: {reason}");
        run(&format!("run -t {transport} -w spin -s 64 -n 100 --sandbox off")).exits(0);
        played += 1;
    }
    match played {
        0 => Verdict::Skipped("none of the libraries is there".into()),
        _ => Verdict::Holds,
    }
}

fn two_runs_at_once_do_not_disturb_each_other() -> Verdict {
    let there = LIBRARIES.into_iter().filter(|name| missing(name).is_none());
    let there: Vec<&str> = sampled("two runs", there).collect();
    if there.is_empty() {
        return Verdict::Skipped("none of the libraries is there".into());
    }
    let words = format!("run -t {} -s 64,64k -d 20ms --trials 1 --format json", there.join(","));
    let runs = [0, 1].map(|_| Running::start(&mut ipcmark(&words)));
    for ended in runs.map(Running::end) {
        let result = ended.exits(0).result();
        if result.environment.sandbox == "namespaces" {
            assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
        }
    }
    Verdict::Holds
}

fn a_daemon_of_another_process_is_left_alone() -> Verdict {
    if let Some(skipped) = missing("iceoryx-cpp") {
        return skipped;
    }
    if !ipcmark_harness::is_isolated() {
        return Verdict::Skipped("a daemon of this machine's own may be there".into());
    }
    // In a sandbox both daemons run; without one ours reports the conflict. The other one survives.
    let line = format!(
        "iox-roudi >/tmp/words 2>&1 & roudi=$!
        until grep -q ready /tmp/words; do sleep 0.05; done
        {IPCMARK} run -t iceoryx-cpp -s 64 -n 100 --format json >/tmp/in.json
        inside=$?
        {IPCMARK} run -t iceoryx-cpp -s 64 -n 100 --sandbox off --format json >/tmp/out.json
        outside=$?
        kill -0 $roudi && echo alive
        kill $roudi; wait $roudi
        echo $inside $outside; cat /tmp/out.json"
    );
    let ended = end(Command::new("sh").args(["-c", &line]));
    let (head, result) = ended.stdout.split_once('{').expect("a result");
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["alive", "0", "1"],
        "{}",
        ended.stderr
    );
    assert!(result.contains("is one already, and iceoryx allows one a machine"), "{result}");
    assert!(result.contains("leave the sandbox on, or stop the other"), "{result}");
    Verdict::Holds
}

fn a_missing_daemon_is_reported() -> Verdict {
    if let Some(skipped) = missing("iceoryx-cpp") {
        return skipped;
    }
    let mut command = ipcmark("run -t iceoryx-cpp,pipe -w spin -s 64 -n 100 --format json");
    let result = end(command.env("PATH", "/nowhere")).exits(1).result();
    let (status, reason) = outcome(&result, "iceoryx-cpp");
    assert_eq!(status, "failed");
    assert!(reason.contains("there is no program iox-roudi"), "{reason}");
    assert!(reason.contains("apt install iceoryx"), "{reason}");
    assert_eq!(outcome(&result, "pipe").0, "ok");
    Verdict::Holds
}

fn a_small_dev_shm_is_reported() -> Verdict {
    let there: Vec<&str> = [
        "iceoryx-cpp",
        "iceoryx2",
        "cpp-ipc-channel",
        "alephzero-pubsub",
        "python-shared-memory",
        "aeron-ipc",
    ]
    .into_iter()
    .filter(|name| missing(name).is_none())
    .collect();
    if there.is_empty() {
        return Verdict::Skipped("none of the libraries is there".into());
    }
    let own = namespaces("--mount");
    let setup = "mount -t tmpfs -o size=8m tmpfs /dev/shm";
    if let Some(skipped) = lacking(&own, setup) {
        return skipped;
    }
    let words =
        format!("run -t {} -w spin -s 4M -n 10 --sandbox off --format json", there.join(","));
    let result = unshared(&own, setup, &words).exits(1).result();
    for name in there {
        let (status, reason) = outcome(&result, name);
        assert_eq!(status, "failed", "{name}");
        assert!(reason.contains("MiB are needed"), "{name}: {reason}");
    }
    Verdict::Holds
}

/// These libraries close a socket as soon as the other end has closed its own. A carrier check
/// after that would wrongly report a fallback.
fn messages_over_tcp_have_the_carrier_network() -> Verdict {
    if let Some(why) = missing("zeromq-tcp").or_else(|| missing("nng-tcp")) {
        return why;
    }
    let words = "-s 1M -n 10 -w block --touch all --trials 8 --format json";
    let result = run(&format!("run -t zeromq-tcp,nng-tcp,nng-req-tcp {words}")).exits(0).result();
    assert_eq!(result.cases.len(), 3);
    for case in &result.cases {
        assert_eq!(case.trials().len(), 8, "{:?}", case.reason());
        let carriers = case.trials().iter().map(|trial| &trial.session.carrier);
        let fallen: Vec<_> = carriers.filter(|carrier| carrier.fell_back()).collect();
        assert!(fallen.is_empty(), "{}: {fallen:?}", case.identity.transport);
    }
    Verdict::Holds
}
