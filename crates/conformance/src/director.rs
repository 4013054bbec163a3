//! What stands around one check of one transport with one wait: sets the stage, and looks at what is left after.

use std::{
    env, fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ipcmark_transport::{SessionName, Wait};

use crate::{
    failure::Failure,
    pair::{Ended, Pair},
    part::{Part, directory},
    stamp::{Side, mix},
    suite::{Suite, is_all_ours},
    traces::{self, Horizon},
};

/// What stands around one check.
pub struct Director<'a> {
    suite: &'a Suite,
    wait: Wait,
    check: &'static str,
    watchdog: Duration,
    horizon: Horizon,
    root: Root,
}

/// One session: a name, and the mark in its messages.
#[derive(Clone)]
pub struct Session {
    name: SessionName,
    mark: u16,
}

/// A directory of the test's own, removed with it.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A number that no other test of this process has.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<'a> Director<'a> {
    /// For the check of this name. What runs longer than `watchdog` is ended.
    pub fn new(
        suite: &'a Suite,
        wait: Wait,
        check: &'static str,
        watchdog: Duration,
    ) -> Result<Self, Failure> {
        let number = next_number();
        let root = env::temp_dir().join(format!("conformance-{}-{number}", std::process::id()));
        fs::create_dir(&root)?;
        let (horizon, root) = (Horizon::narrow(), Root(root));
        Ok(Self { suite, wait, check, watchdog, horizon, root })
    }

    /// How the ends wait.
    pub fn wait(&self) -> Wait {
        self.wait
    }

    /// The share of what differs little from wait to wait: each of the transport's waits does what stands at its own
    /// place, and again after so many.
    pub fn share(&self) -> (u32, usize) {
        let waits = &self.suite.definition().capabilities.waits;
        let place = waits.iter().position(|wait| *wait == self.wait).unwrap_or_default();
        (place as u32, waits.len().max(1))
    }

    /// Makes a session with a directory of its own.
    pub fn session(&self) -> Result<Session, Failure> {
        // All names are equally long, so that none is the beginning of another.
        let (pid, number) = (std::process::id(), next_number());
        let name = SessionName::new(format!("ipcmark-c{pid:07}-{number:06}"))?;
        fs::create_dir(directory(&self.root.0, &name))?;
        Ok(Session { name, mark: mix(u64::from(number) << 32 | u64::from(pid)) as u16 })
    }

    /// Starts both processes of a scene.
    pub fn start(&self, session: &Session, scene: u32) -> Result<Pair, Failure> {
        let part = Part {
            transport: self.suite.definition().name.to_string(),
            wait: self.wait,
            check: self.check.to_owned(),
            scene,
            side: Side::Leader,
            name: session.name.clone(),
            session: session.mark,
            root: self.root.0.clone(),
        };
        Pair::start(&part, self.watchdog)
    }

    /// Runs a scene that both processes play to the end, after which nothing is left.
    pub fn play(&self, session: &Session, scene: u32) -> Result<(), Failure> {
        let ended = self.start(session, scene)?.wait()?;
        self.passed_cleanly(session, &ended)
    }

    /// Checks that both processes played to the end, said nothing and left nothing.
    pub fn passed_cleanly(&self, session: &Session, ended: &Ended) -> Result<(), Failure> {
        if let Err(failure) = ended.passed(&[Side::Leader, Side::Follower]) {
            // It failed already: what it left is not the point, and must not disturb others.
            let _ = self.suite.remove(&session.name);
            return Err(failure);
        }
        self.said_nothing(ended)?;
        let outcome = self.left_nothing(session, ended);
        if outcome.is_err() {
            let _ = self.suite.remove(&session.name);
        }
        outcome.map_err(|failure| failure.during("after both ends were closed"))
    }

    /// Does after a crash what the command does: removes what has the session's name, what the transport
    /// names beyond that, and the session's directory. Nothing is left then.
    pub fn clear(&self, session: &Session, ended: &Ended) -> Result<(), Failure> {
        self.suite.remove(&session.name)?;
        let directory = directory(&self.root.0, &session.name);
        fs::remove_dir_all(&directory)?;
        fs::create_dir(&directory)?;
        self.left_nothing(session, ended)
            .map_err(|failure| failure.during("after what is known was removed"))
    }

    fn left_nothing(&self, session: &Session, ended: &Ended) -> Result<(), Failure> {
        let mut left = traces::names(&session.name, &directory(&self.root.0, &session.name))?;
        left.extend(self.horizon.system_v(&ended.pids()));
        left.extend(traces::queues_left(&queues_said(ended)));
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::expected("nothing left in the system", left.join(", ")))
    }

    /// A transport of the operating system is all ours, and prints nothing.
    fn said_nothing(&self, ended: &Ended) -> Result<(), Failure> {
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

/// The message queues that the processes reported as theirs.
fn queues_said(ended: &Ended) -> Vec<String> {
    let lines = ended.leader.output.lines().chain(ended.follower.output.lines());
    lines.filter(|line| line.starts_with('/')).map(str::to_owned).collect()
}
