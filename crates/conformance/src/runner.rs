//! The test around one check of one transport with one wait: starts the processes, and checks for leftovers.

use std::{
    env, fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ipcmark_transport::{SessionName, Wait};

use crate::{
    failure::Failure,
    pair::{Exits, ProcessPair},
    part::{CheckPart, directory},
    stamp::{Side, mix},
    suite::{Suite, is_all_ours},
    traces::{self, VisibleObjects},
};

/// The test around one check.
pub struct CheckRunner<'a> {
    suite: &'a Suite,
    wait: Wait,
    check: &'static str,
    watchdog: Duration,
    visible: VisibleObjects,
    root: Root,
}

/// One session: its name, and the mark in its messages.
#[derive(Clone)]
pub struct CheckSession {
    name: SessionName,
    mark: u16,
}

/// The test's own directory, removed when this is dropped.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A number unique in this process.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<'a> CheckRunner<'a> {
    /// For the check of this name. The watchdog ends processes that run longer than `watchdog`.
    pub fn new(
        suite: &'a Suite,
        wait: Wait,
        check: &'static str,
        watchdog: Duration,
    ) -> Result<Self, Failure> {
        let number = next_number();
        let root = env::temp_dir().join(format!("conformance-{}-{number}", std::process::id()));
        fs::create_dir(&root)?;
        let (visible, root) = (VisibleObjects::narrow(), Root(root));
        Ok(Self { suite, wait, check, watchdog, visible, root })
    }

    /// The wait of the endpoints.
    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// The share of this wait in work that hardly depends on the wait: the index of its first item, and the stride to
    /// the next.
    pub fn share(&self) -> (u32, usize) {
        let waits = &self.suite.definition().capabilities.waits;
        let place = waits.iter().position(|wait| *wait == self.wait).unwrap_or_default();
        (place as u32, waits.len().max(1))
    }

    /// Makes a session with its own directory.
    pub fn session(&self) -> Result<CheckSession, Failure> {
        // All names have the same length, so that none is a prefix of another.
        let (pid, number) = (std::process::id(), next_number());
        let name = SessionName::new(format!("ipcmark-c{pid:07}-{number:06}"))?;
        fs::create_dir(directory(&self.root.0, &name))?;
        Ok(CheckSession { name, mark: mix(u64::from(number) << 32 | u64::from(pid)) as u16 })
    }

    /// Starts both processes of a scenario.
    pub fn start(&self, session: &CheckSession, scenario: u32) -> Result<ProcessPair, Failure> {
        let part = CheckPart {
            transport: self.suite.definition().name.to_string(),
            wait: self.wait,
            check: self.check.to_owned(),
            scenario,
            side: Side::Leader,
            name: session.name.clone(),
            session: session.mark,
            root: self.root.0.clone(),
        };
        ProcessPair::start(&part, self.watchdog)
    }

    /// Runs a scenario in which both processes succeed and leave nothing behind.
    pub fn run(&self, session: &CheckSession, scenario: u32) -> Result<(), Failure> {
        let ended = self.start(session, scenario)?.wait()?;
        self.check_clean_exit(session, &ended)
    }

    /// Checks that both processes succeeded, printed nothing and left nothing behind.
    pub fn check_clean_exit(&self, session: &CheckSession, ended: &Exits) -> Result<(), Failure> {
        if let Err(failure) = ended.passed(&[Side::Leader, Side::Follower]) {
            // The check failed already: its leftovers are irrelevant, and must not disturb other tests.
            let _ = self.suite.remove(&session.name);
            return Err(failure);
        }
        self.check_no_output(ended)?;
        let outcome = self.left_nothing(session, ended);
        if outcome.is_err() {
            let _ = self.suite.remove(&session.name);
        }
        outcome.map_err(|failure| failure.during("after both ends were closed"))
    }

    /// Cleans up after a crash as the command does: removes objects with the session's name, other leftovers that the
    /// transport names, and the session's directory. Then checks that nothing is left.
    pub fn clear(&self, session: &CheckSession, ended: &Exits) -> Result<(), Failure> {
        self.suite.remove(&session.name)?;
        let directory = directory(&self.root.0, &session.name);
        fs::remove_dir_all(&directory)?;
        fs::create_dir(&directory)?;
        self.left_nothing(session, ended)
            .map_err(|failure| failure.during("after what is known was removed"))
    }

    fn left_nothing(&self, session: &CheckSession, ended: &Exits) -> Result<(), Failure> {
        let mut left = traces::names(&session.name, &directory(&self.root.0, &session.name))?;
        left.extend(self.visible.system_v(&ended.pids()));
        left.extend(traces::queues_left(&reported_queues(ended)));
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::expected("nothing left in the system", left.join(", ")))
    }

    /// The operating system's transports are our own code and print nothing.
    fn check_no_output(&self, ended: &Exits) -> Result<(), Failure> {
        let ours = is_all_ours(self.suite.definition());
        match [&ended.leader, &ended.follower].into_iter().find(|exit| !exit.complaint().is_empty())
        {
            Some(exit) if ours => {
                Err(Failure::expected("no word on standard error", exit.complaint()))
            }
            _ => Ok(()),
        }
    }
}

/// The message queues that the processes reported.
fn reported_queues(ended: &Exits) -> Vec<String> {
    let lines = ended.leader.output.lines().chain(ended.follower.output.lines());
    lines.filter(|line| line.starts_with('/')).map(str::to_owned).collect()
}
