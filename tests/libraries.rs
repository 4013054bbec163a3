//! The libraries behind modules, for real: their processes are killed, their daemon is missing, theirs
//! is somebody else's, there is no room. Each costs one row with its reason and leaves nothing.

mod support;

use std::{path::PathBuf, process::Command, thread, time::Duration};

use ipcmark_results::{RunResult, Status};
use libc::SIGKILL;
use serde_json::Value;
use support::{
    Ended, IPCMARK, Running, Verdict, end, ipcmark, is_root, outcome,
    processes::{Process, await_named},
    read, run, traces, works,
};

support::tests![
    a_killed_daemon_costs_one_row,
    killed_ends_cost_one_row_and_the_next_run_is_clean,
    two_runs_at_once_do_not_disturb_each_other,
    a_daemon_of_somebody_else_is_left_alone,
    a_missing_daemon_is_named,
    a_small_dev_shm_is_named,
    what_goes_over_tcp_is_seen_to,
];

/// One transport of each library that keeps something in the system.
const LIBRARIES: [&str; 9] = [
    "iceoryx-cpp",
    "iceoryx2",
    "cpp-ipc-channel",
    "alephzero-pubsub",
    "zeromq-ipc",
    "fastdds-datasharing",
    "fastdds-shm",
    "cyclonedds",
    "cyclonedds-iceoryx",
];

/// Why a transport cannot run here, if it cannot.
fn missing(name: &str) -> Option<Verdict> {
    let listed = run("list --format json").exits(0);
    let entries: Vec<Value> = serde_json::from_str(&listed.stdout).expect("a list");
    let entry = entries.iter().find(|entry| entry["name"] == name).expect("it is listed");
    (entry["available"] != true).then(|| Verdict::Skipped(format!("{name}: {}", entry["reason"])))
}

/// A run of some transports, written to a file of its own.
struct Scene {
    running: Running,
    file: PathBuf,
    _directory: tempfile::TempDir,
}

impl Scene {
    fn start(words: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("result.json");
        let running = Running::start(ipcmark(words).arg("-o").arg(&file));
        Self { running, file, _directory: directory }
    }

    /// A process of this name, once it has been there for a while: long enough to have opened its
    /// end, for what it makes before that is known to nobody else.
    fn await_process(&self, name: &str) -> Process {
        await_named(self.running.id(), name);
        thread::sleep(Duration::from_millis(1000));
        await_named(self.running.id(), name).remove(0)
    }

    fn end(self) -> RunResult {
        self.running.end();
        let result = read(&self.file);
        assert_eq!(traces::names(&result.run.id), [""; 0]);
        result
    }
}

fn a_killed_daemon_costs_one_row() -> Verdict {
    if let Some(skipped) = missing("iceoryx-cpp") {
        return skipped;
    }
    for (transport, sandbox) in
        [("iceoryx-cpp", "auto"), ("iceoryx-c", "off"), ("iceoryx-waitset", "off")]
    {
        let words = "-s 64,4k -w spin,block -d 1500ms --seed 1";
        let scene = Scene::start(&format!("run -t {transport} {words} --sandbox {sandbox}"));
        scene.await_process("iox-roudi").send(SIGKILL);
        let result = scene.end();
        let mut failed = result.cases.iter().filter(|case| case.status == Status::Failed);
        let reason = failed.next().and_then(|case| case.reason.clone()).unwrap_or_default();
        assert!(reason.contains("iceoryx's daemon"), "{transport} {sandbox}: {reason}");
        assert!(failed.next().is_none(), "more than one row: {:?}", result.cases);
        assert!(result.cases.iter().any(|case| case.status == Status::Ok), "the next one runs");
    }
    Verdict::Holds
}

fn killed_ends_cost_one_row_and_the_next_run_is_clean() -> Verdict {
    let mut played = 0;
    let dead = traces::dead_segments();
    for transport in LIBRARIES.iter().filter(|name| missing(name).is_none()) {
        for name in ["ipcmark-leader", "ipcmark-follow"] {
            let words = format!("run -t {transport} -w spin -s 64 -d 2s --sandbox off");
            let scene = Scene::start(&words);
            scene.await_process(name).send(SIGKILL);
            let result = scene.end();
            let (status, reason) = outcome(&result, transport);
            assert_eq!(status, "failed", "{transport}");
            assert!(reason.contains("killed by signal 9"), "{transport}: {reason}");
            assert_eq!(traces::dead_segments(), dead, "{transport}: the {name} was killed");
            run(&format!("run -t {transport} -w spin -s 64 -n 100 --sandbox off")).exits(0);
        }
        played += 1;
    }
    match played {
        0 => Verdict::Skipped("none of the libraries is there".into()),
        _ => Verdict::Holds,
    }
}

fn two_runs_at_once_do_not_disturb_each_other() -> Verdict {
    let there: Vec<&str> = LIBRARIES.into_iter().filter(|name| missing(name).is_none()).collect();
    if there.is_empty() {
        return Verdict::Skipped("none of the libraries is there".into());
    }
    let words = format!("run -t {} -s 64,1M -d 100ms --format json", there.join(","));
    let runs = [0, 1].map(|_| Running::start(&mut ipcmark(&words)));
    for ended in runs.map(Running::end) {
        let result = ended.exits(0).result();
        if result.environment.sandbox == "namespaces" {
            assert!(result.cases.iter().all(|case| case.status == Status::Ok));
        }
    }
    Verdict::Holds
}

/// Runs a line of the shell where `/tmp` and `/dev/shm` are empty and nobody else's.
fn apart(setup: &str, line: &str) -> Option<Ended> {
    let mounts = format!("mount -t tmpfs none /tmp && mount -t tmpfs {setup} none /dev/shm");
    let mut words = vec!["--mount"];
    if !is_root() {
        words.splice(0..0, ["--user", "--map-root-user"]);
    }
    let all = [&words[..], &["sh", "-c", &mounts]].concat();
    if !works("unshare", &all) {
        return None;
    }
    let line = format!("{mounts} && {line}");
    Some(end(Command::new("unshare").args(&words).args(["sh", "-c", &line])))
}

fn cannot_be_apart() -> Verdict {
    Verdict::Skipped("this system does not allow namespaces for mounts".into())
}

fn a_daemon_of_somebody_else_is_left_alone() -> Verdict {
    if let Some(skipped) = missing("iceoryx-cpp") {
        return skipped;
    }
    // In a sandbox both run; without one ours says why it does not. The other one lives on.
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
    let Some(ended) = apart("", &line) else { return cannot_be_apart() };
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

fn a_missing_daemon_is_named() -> Verdict {
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

fn a_small_dev_shm_is_named() -> Verdict {
    let there: Vec<&str> = ["iceoryx-cpp", "iceoryx2", "cpp-ipc-channel", "alephzero-pubsub"]
        .into_iter()
        .filter(|name| missing(name).is_none())
        .collect();
    if there.is_empty() {
        return Verdict::Skipped("none of the libraries is there".into());
    }
    let line = format!(
        "{IPCMARK} run -t {} -w spin -s 4M -n 10 --sandbox off --format json",
        there.join(",")
    );
    let Some(ended) = apart("-o size=8m", &line) else { return cannot_be_apart() };
    let result = ended.exits(1).result();
    for name in there {
        let (status, reason) = outcome(&result, name);
        assert_eq!(status, "failed", "{name}");
        assert!(reason.contains("MiB are needed"), "{name}: {reason}");
    }
    Verdict::Holds
}

/// These libraries close a socket as soon as the other end has closed its own. Whoever looks after
/// that sees a row that fell back.
fn what_goes_over_tcp_is_seen_to() -> Verdict {
    if let Some(why) = missing("zeromq-tcp").or_else(|| missing("nng-tcp")) {
        return why;
    }
    let words = "-s 1M -n 10 -w block --touch all --trials 8 --format json";
    let result = run(&format!("run -t zeromq-tcp,nng-tcp,nng-req-tcp {words}")).exits(0).result();
    assert_eq!(result.cases.len(), 24);
    for case in &result.cases {
        let figures = case.figures.as_ref().unwrap_or_else(|| panic!("{:?}", case.reason));
        assert!(!figures.path.fell_back(), "{}: {:?}", case.transport, figures.path);
    }
    Verdict::Holds
}
