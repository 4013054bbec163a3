//! What happens to a run from outside: its processes are killed and stopped, and so is the command
//! itself. Each costs one row at most, has its reason, and leaves nothing.

mod support;

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use ipcmark_results::{Case, RunResult, Status};
use libc::{SIGBUS, SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGSTOP, SIGTERM};
use support::{
    Ended, Running, ipcmark,
    processes::{Process, await_end_of, await_named, await_that, descendants},
    read, run, traces,
};
use tempfile::TempDir;

support::tests![
    a_killed_leader_costs_one_row,
    a_killed_follower_costs_one_row,
    a_crash_costs_one_row,
    a_stopped_leader_costs_one_row,
    a_stopped_follower_costs_one_row,
    a_killed_keeper_costs_one_row,
    a_kill_at_any_moment_costs_one_row_at_most,
    an_interrupted_run_keeps_what_it_has,
    an_interrupt_during_a_hang_ends_the_run,
    a_killed_command_leaves_nothing,
    what_a_killed_command_left_can_be_cleaned,
    what_a_run_left_that_died_whole_can_be_cleaned,
    cleaning_leaves_a_living_run_alone,
];

/// A run that writes its result into a directory of its own.
struct Scene {
    running: Running,
    file: PathBuf,
    _directory: TempDir,
}

/// The processes of a session, as they are named.
const LEADER: &str = "ipcmark-leader";
const FOLLOWER: &str = "ipcmark-follow";
const KEEPER: &str = "ipcmark-keeper";

/// Two cases that take a while each.
const TWO_CASES: &str = "run -t pipe,uds-stream -w block -s 64 -d 700ms";

impl Scene {
    /// Starts a run.
    fn start(words: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("result.json");
        let running = Running::start(ipcmark(words).arg("-o").arg(&file));
        Self { running, file, _directory: directory }
    }

    /// Waits until the first case is under way: the file is there as soon as there is a floor.
    fn await_case(&self) {
        await_that("the run has begun", || self.file.exists().then_some(()));
        await_named(self.running.id(), LEADER);
        await_named(self.running.id(), FOLLOWER);
        thread::sleep(Duration::from_millis(200));
    }

    /// Sends a signal to the session's process of this name.
    #[track_caller]
    fn send(&self, name: &str, signal: i32) {
        await_named(self.running.id(), name)[0].send(signal);
    }

    /// Sends a signal to the command.
    fn send_command(&self, signal: i32) {
        send(self.running.id(), signal);
    }

    /// Waits for the end; what the command wrote, and its file.
    #[track_caller]
    fn end(self) -> (Ended, RunResult) {
        let Self { running, file, _directory } = self;
        let ended = running.end();
        let result = read(&file);
        assert_eq!(traces::names(&result.run.id), [""; 0]);
        (ended, result)
    }
}

/// The case that is not measured, after a run in which that is one.
#[track_caller]
fn the_failed(ended: Ended, result: RunResult) -> Case {
    let ended = ended.exits(1);
    assert!(result.complete);
    assert_eq!(result.cases.len() as u64, result.planned_cases);
    let mut others: Vec<Case> =
        result.cases.into_iter().filter(|case| case.status != Status::Ok).collect();
    assert_eq!(others.len(), 1, "{others:?}");
    let failed = others.remove(0);
    assert_eq!(failed.status, Status::Failed);
    assert!(ended.stdout.contains("failed"), "{}", ended.stdout);
    failed
}

/// Sends a signal to a process of the first case; with and without a sandbox.
#[track_caller]
fn costs_one_row(name: &str, signal: i32, reason: &str) {
    // Only one that is stopped is found out by its silence.
    let timeout = if signal == SIGSTOP { "4s" } else { "1m" };
    for sandbox in ["auto", "off"] {
        let scene = Scene::start(&format!("{TWO_CASES} --sandbox {sandbox} --timeout {timeout}"));
        scene.await_case();
        let processes = descendants(scene.running.id());
        scene.send(name, signal);
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let said = the_failed(ended, result).reason.unwrap_or_default();
        assert!(said.contains(reason), "no '{reason}' in: {said}");
    }
}

fn a_killed_leader_costs_one_row() {
    costs_one_row(LEADER, SIGKILL, "the leader was killed by signal 9 (SIGKILL) while ");
}

fn a_killed_follower_costs_one_row() {
    costs_one_row(FOLLOWER, SIGKILL, "the follower was killed by signal 9 (SIGKILL) while ");
}

fn a_crash_costs_one_row() {
    costs_one_row(LEADER, SIGSEGV, "the leader was killed by signal 11 (SIGSEGV) while ");
    costs_one_row(FOLLOWER, SIGBUS, "the follower was killed by signal 7 (SIGBUS) while ");
}

fn a_stopped_leader_costs_one_row() {
    costs_one_row(LEADER, SIGSTOP, ": the leader is stopped");
}

fn a_stopped_follower_costs_one_row() {
    costs_one_row(FOLLOWER, SIGSTOP, ": the follower is stopped");
}

fn a_killed_keeper_costs_one_row() {
    // In a sandbox there are two: the first process of the namespaces, and its parent outside.
    for (sandbox, which) in [("auto", 0), ("auto", 1), ("off", 0)] {
        let scene = Scene::start(&format!("{TWO_CASES} --sandbox {sandbox}"));
        scene.await_case();
        let processes = descendants(scene.running.id());
        let keepers = await_named(scene.running.id(), KEEPER);
        if let Some(keeper) = keepers.get(which) {
            keeper.send(SIGKILL);
        } else {
            scene.send(KEEPER, SIGKILL);
        }
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let said = the_failed(ended, result).reason.unwrap_or_default();
        assert!(said.contains("keeper ended") && said.contains("signal"), "{said}");
        assert_eq!(said.matches(" while ").count(), 1, "{said}");
    }
}

fn a_kill_at_any_moment_costs_one_row_at_most() {
    let _alone = traces::system_v_alone();
    let before = traces::system_v();
    let words = "run -t pipe,shm-ring,posix-mq,sysv-mq -s 64 -d 20ms --timeout 30s";
    for moment in 0..16 {
        let sandbox = if moment % 2 == 0 { "auto" } else { "off" };
        let scene = Scene::start(&format!("{words} --sandbox {sandbox}"));
        thread::sleep(Duration::from_millis(13 * moment));
        let name = [LEADER, FOLLOWER, KEEPER][moment as usize % 3];
        // The last session may end at this very moment.
        let victims = descendants(scene.running.id());
        victims.iter().filter(|process| process.name == name).take(1).for_each(|process| {
            process.send(SIGKILL);
        });
        let (ended, result) = scene.end();
        let failed: Vec<&Case> =
            result.cases.iter().filter(|case| case.status != Status::Ok).collect();
        assert!(failed.len() <= 1, "{moment}, {name}: {failed:?}");
        assert!(result.complete && result.floor.is_some(), "{moment}, {name}");
        assert_eq!(ended.code(), failed.len() as i32, "{moment}, {name}: {}", ended.stderr);
        assert_eq!(traces::system_v(), before, "{moment}, {name}");
    }
}

fn an_interrupted_run_keeps_what_it_has() {
    for (signal, code, sandbox) in
        [(SIGINT, 130, "auto"), (SIGTERM, 143, "off"), (SIGHUP, 129, "auto")]
    {
        let scene = Scene::start(&format!("{TWO_CASES} --trials 50 --sandbox {sandbox}"));
        let first = || {
            let bytes = std::fs::read(&scene.file).ok()?;
            let result: RunResult =
                serde_json::from_slice(&bytes).expect("it is whole at any time");
            (!result.cases.is_empty()).then_some(())
        };
        await_that("the first case is written", first);
        let processes = descendants(scene.running.id());
        scene.send_command(signal);
        let (ended, result) = scene.end();
        await_end_of(&processes);
        let ended = ended.exits(code);
        assert!(!result.complete && result.planned_cases == 100, "{:?}", result.planned_cases);
        assert!(!result.cases.is_empty() && result.cases.len() < 100);
        assert!(result.cases.iter().all(|case| case.status == Status::Ok), "{:?}", result.cases);
        assert!(ended.stdout.contains("of 100 cases measured"), "{}", ended.stdout);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

fn an_interrupt_during_a_hang_ends_the_run() {
    let scene = Scene::start("run -t pipe -w block -s 64 -d 1s --timeout 1h");
    scene.await_case();
    scene.send(FOLLOWER, SIGSTOP);
    thread::sleep(Duration::from_millis(100));
    scene.send_command(SIGINT);
    let (ended, result) = scene.end();
    ended.exits(130);
    assert!(!result.complete && result.cases.is_empty());
}

/// Sends a signal to a command.
fn send(command: i32, signal: i32) {
    // SAFETY: it is a child of this process that has not been waited for.
    unsafe { libc::kill(command, signal) };
}

/// Starts a run without end, kills the command, and returns the id of the run.
fn killed(words: &str, file: &Path, delay: Duration) -> String {
    let mut command = ipcmark(words);
    let running = Running::start(command.arg("-o").arg(file));
    await_that("the run has begun", || file.exists().then_some(()));
    thread::sleep(delay);
    let processes: Vec<Process> = descendants(running.id());
    send(running.id(), SIGKILL);
    await_end_of(&processes);
    assert_eq!(running.end().status.code(), None);
    let result = read(file);
    assert!(!result.complete);
    result.run.id
}

fn a_killed_command_leaves_nothing() {
    let _alone = traces::system_v_alone();
    let before = traces::system_v();
    let directory = tempfile::tempdir().unwrap();
    for sandbox in ["auto", "off"] {
        for transport in ["pipe", "mmap-file", "sysv-mq"] {
            let file = directory.path().join(format!("{sandbox}-{transport}.json"));
            let words = format!("run -t {transport} -w block -s 64 -d 1h --sandbox {sandbox}");
            let id = killed(&words, &file, Duration::from_millis(100));
            assert_eq!(traces::names(&id), [""; 0], "{transport}");
            assert_eq!(traces::system_v(), before, "{transport}");
        }
    }
}

fn what_a_killed_command_left_can_be_cleaned() {
    let _alone = traces::system_v_alone();
    let directory = tempfile::tempdir().unwrap();
    // Many short cases: the kill comes while ends open and close.
    let words = "run -t fifo,uds-*,posix-mq,sysv-*,shm-*,mmap-file -w block -s 64 -d 1ms \
                 --trials 1000 --sandbox off";
    for moment in 0..5 {
        let file = directory.path().join(format!("{moment}.json"));
        let id = killed(words, &file, Duration::from_millis(70 * moment));
        // Between two sessions there is no keeper to do it.
        run("clean").exits(0);
        assert_eq!(traces::names(&id), [""; 0]);
        assert_eq!(traces::system_v(), [""; 0]);
    }
}

fn what_a_run_left_that_died_whole_can_be_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let running = Running::start(
        ipcmark("run -t mmap-file -w block -s 64 -d 1h --sandbox off -o").arg(&file),
    );
    await_that("the run has begun", || file.exists().then_some(()));
    await_named(running.id(), LEADER);
    let processes = descendants(running.id());
    // Stopped, the command cannot go on without the others.
    send(running.id(), SIGSTOP);
    processes.iter().for_each(|process| process.send(SIGKILL));
    send(running.id(), SIGKILL);
    running.end();
    await_end_of(&processes);
    let id = read(&file).run.id;
    assert_ne!(traces::names(&id), [""; 0], "nobody was left to remove it");
    let cleaned = run("clean").exits(0).stdout;
    assert!(cleaned.contains(&format!("removed /tmp/ipcmark-{id}")), "{cleaned}");
    assert_eq!(traces::names(&id), [""; 0]);
}

fn cleaning_leaves_a_living_run_alone() {
    let scene =
        Scene::start("run -t mmap-file,posix-mq,sysv-mq -w block -s 64 -d 300ms --sandbox off");
    scene.await_case();
    let cleaned = run("clean").exits(0).stdout;
    let id = serde_json::from_slice::<RunResult>(&std::fs::read(&scene.file).unwrap());
    let id = id.unwrap().run.id;
    assert!(!cleaned.contains(&id), "{cleaned}");
    assert_ne!(traces::names(&id), [""; 0], "its directory is there");
    let (ended, result) = scene.end();
    ended.exits(0);
    assert!(result.complete);
}
