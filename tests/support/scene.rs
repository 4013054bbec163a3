//! A run that writes its result into its own directory, and operations on its processes.

use std::{path::PathBuf, process::Command, thread, time::Duration};

use ipcmark_results::RunResult;
use libc::{SIGCONT, SIGKILL};
use tempfile::TempDir;

use super::{
    Ended, Running, ipcmark,
    processes::{Process, await_named, await_that, descendants},
    read, traces,
};

/// The names of a session's processes.
pub const LEADER: &str = "ipcmark-leader";
/// See [`LEADER`].
pub const FOLLOWER: &str = "ipcmark-follow";
/// See [`LEADER`].
pub const KEEPER: &str = "ipcmark-keeper";
/// The process that survives a killed command, if there is no sandbox.
pub const CLEANER: &str = "ipcmark-cleaner";

/// The time for opening endpoints on an idle machine; callers retry with more if it is too short.
pub const A_MOMENT: Duration = Duration::from_millis(250);

/// A run in progress.
pub struct Scene {
    /// The command.
    pub running: Running,
    /// Its result.
    pub file: PathBuf,
    _directory: TempDir,
}

/// Kills one of two endpoints while its row is measured: the other one stops waiting, and the row gives the cause.
#[track_caller]
pub fn killed_end_costs_its_row(row: &str, wait: &str, name: &str) {
    let scene = Scene::start(&format!("run -t {row} -w {wait} -s 64 -d 1h"));
    scene.await_case();
    scene.send(name, SIGKILL);
    let result = scene.end().1;
    let reasons: Vec<_> = result.cases.iter().filter_map(|case| case.reason()).collect();
    assert_eq!(reasons.len(), 1, "{row} {wait}");
    assert!(reasons[0].contains("killed by signal 9"), "{row} {wait}: {reasons:?}");
}

impl Scene {
    /// Starts `ipcmark` with these words.
    pub fn start(words: &str) -> Self {
        Self::of(ipcmark(words))
    }

    /// Starts a measuring command.
    pub fn of(mut command: Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("result.json");
        let running = Running::start(command.arg("-o").arg(&file));
        Self { running, file, _directory: directory }
    }

    /// Starts one trial of alternating rows with a short duration, increased if it is too short on a busy machine. The
    /// row of the first session is in progress and cannot end, because its leader is stopped.
    pub fn held(words: &str) -> (Self, Process) {
        Self::held_with(|| ipcmark(words), 2 * A_MOMENT, LEADER)
    }

    /// The same with the test's own command, which measures for `duration` at least, once the session has a process of
    /// this name.
    pub fn held_with(
        command: impl Fn() -> Command,
        mut duration: Duration,
        name: &str,
    ) -> (Self, Process) {
        loop {
            let mut command = command();
            command.args(["--trials", "1", "-d", &format!("{}ms", duration.as_millis())]);
            let scene = Self::of(command);
            let leader = scene.await_case();
            await_named(scene.running.id(), name);
            // By then most of the opening is over; no test depends on it.
            thread::sleep(duration / 2);
            if leader.stop() && leader.age() < duration {
                return (scene, leader);
            }
            leader.send(SIGCONT);
            duration *= 2;
        }
    }

    /// Waits until the first row has its leader. The file exists as soon as the machine has been examined.
    pub fn await_case(&self) -> Process {
        await_that("the run has begun", || self.file.exists().then_some(()));
        await_named(self.running.id(), LEADER).remove(0)
    }

    /// True if the command has not ended yet.
    pub fn is_under_way(&self) -> bool {
        Process::read(self.running.id()).is_some_and(|process| process.now().is_some())
    }

    /// The processes of the run, without the command.
    pub fn processes(&self) -> Vec<Process> {
        descendants(self.running.id())
    }

    /// Sends a signal to the first session's process of this name.
    #[track_caller]
    pub fn send(&self, name: &str, signal: i32) {
        await_named(self.running.id(), name)[0].send(signal);
    }

    /// Sends a signal to the command.
    pub fn send_command(&self, signal: i32) {
        // SAFETY: it is a child of this process that has not been waited for.
        unsafe { libc::kill(self.running.id(), signal) };
    }

    /// The result so far: the file is complete at any time.
    pub fn so_far(&self) -> RunResult {
        serde_json::from_slice(&std::fs::read(&self.file).unwrap())
            .expect("it is whole at any time")
    }

    /// Waits for the end; returns the command's output and its file. No part of the run is left.
    #[track_caller]
    pub fn end(self) -> (Ended, RunResult) {
        let Self { running, file, _directory } = self;
        let ended = running.end();
        let result = read(&file);
        assert_eq!(traces::names(&result.run.id), [""; 0]);
        (ended, result)
    }
}
