//! The two processes of a check, from the side of the test that starts, watches and ends them.

use std::{
    env, fs,
    fs::File,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use ipcmark_fdpass::FrameSocket;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{failure::Failure, part::CheckPart, progress::RecordedProgress, stamp::Side};

/// The time for which a process may continue after the other one failed.
const GRACE: Duration = Duration::from_secs(3);
/// The signal number that a check kills with.
const SIGKILL: i32 = Signal::SIGKILL as i32;
/// The interval between looks at the processes.
const LOOK: Duration = Duration::from_millis(2);

/// Two running processes.
pub struct ProcessPair {
    leader: PairWorker,
    follower: PairWorker,
    watchdog: Duration,
}

/// The exits of both processes.
pub struct Exits {
    /// The leader's exit.
    pub leader: Exit,
    /// The follower's exit.
    pub follower: Exit,
}

/// The exit of one process.
pub struct Exit {
    side: Side,
    status: ExitStatus,
    /// The place where it hung, if the watchdog had to end it.
    hung: Option<String>,
    noted: RecordedProgress,
    /// Its standard error.
    complaint: String,
    /// Its standard output.
    pub output: String,
    /// Its process id.
    pub pid: u32,
    order: Instant,
}

struct PairWorker {
    part: CheckPart,
    child: Child,
    ended: Option<(ExitStatus, Instant)>,
    hung: Option<String>,
}

impl ProcessPair {
    /// Starts the leader's and the follower's processes for `part`.
    pub fn start(part: &CheckPart, watchdog: Duration) -> Result<Self, Failure> {
        let (one, other) = FrameSocket::pair()?;
        let leader = PairWorker::start(CheckPart { side: Side::Leader, ..part.clone() }, one)?;
        let follower =
            PairWorker::start(CheckPart { side: Side::Follower, ..part.clone() }, other)?;
        Ok(Self { leader, follower, watchdog })
    }

    /// Kills both once each of them has received `messages`.
    pub fn kill_after(&mut self, messages: u64) -> Result<(), Failure> {
        let start = Instant::now();
        while self.workers().iter_mut().any(|worker| worker.noted().received() < messages) {
            if self.workers().into_iter().any(|worker| worker.has_ended()) {
                break;
            }
            if start.elapsed() > self.watchdog {
                break;
            }
            thread::sleep(LOOK);
        }
        self.workers().into_iter().for_each(PairWorker::kill);
        Ok(())
    }

    /// Waits until both have ended; ends them if they take too long.
    pub fn wait(mut self) -> Result<Exits, Failure> {
        let start = Instant::now();
        while !self.have_ended() {
            if start.elapsed() > self.watchdog {
                self.workers()
                    .into_iter()
                    .for_each(|worker| worker.give_up("the watchdog ended it"));
            } else if self.failed_long_ago() {
                let why = "it went on after the other process had failed";
                self.workers().into_iter().for_each(|worker| worker.give_up(why));
            }
            thread::sleep(LOOK);
        }
        Ok(Exits { leader: self.leader.exit()?, follower: self.follower.exit()? })
    }

    fn workers(&mut self) -> [&mut PairWorker; 2] {
        [&mut self.leader, &mut self.follower]
    }

    fn have_ended(&mut self) -> bool {
        self.workers().map(PairWorker::has_ended) == [true; 2]
    }

    fn failed_long_ago(&mut self) -> bool {
        self.workers().into_iter().any(|worker| match worker.ended {
            // A killed process was killed on purpose: the check tests the other one's reaction.
            Some((status, when)) => {
                !status.success() && status.signal() != Some(SIGKILL) && when.elapsed() > GRACE
            }
            None => false,
        })
    }
}

impl PairWorker {
    fn start(part: CheckPart, rendezvous: FrameSocket) -> Result<Self, Failure> {
        let child = Command::new(env::current_exe()?)
            .args(part.words())
            .stdin(Stdio::from(OwnedFd::from(rendezvous)))
            .stdout(File::create(part.output_file("out"))?)
            .stderr(File::create(part.output_file("err"))?)
            .process_group(0)
            .spawn()?;
        Ok(Self { part, child, ended: None, hung: None })
    }

    fn noted(&self) -> RecordedProgress {
        RecordedProgress::read(&self.part.progress())
    }

    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended =
                self.child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
        }
        self.ended.is_some()
    }

    fn give_up(&mut self, why: &str) {
        if !self.has_ended() && self.hung.is_none() {
            self.hung = Some(format!("{why} while {}, {}", self.noted(), self.kernel_state()));
            self.kill();
        }
    }

    fn kill(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        // It may have ended by itself, and then there is nothing to kill.
        let _ = killpg(group, Signal::SIGKILL);
    }

    /// The kernel's view of the process: running, or the place where it sleeps.
    fn kernel_state(&self) -> String {
        let directory = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(directory.join("status")).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("gone");
        let place = fs::read_to_string(directory.join("wchan")).unwrap_or_default();
        format!("{} in {}", state.trim(), if place.is_empty() { "?" } else { &place })
    }

    fn exit(mut self) -> Result<Exit, Failure> {
        let (status, order) = match self.ended.take() {
            Some(ended) => ended,
            None => (self.child.wait()?, Instant::now()),
        };
        let output_file =
            |stream| fs::read_to_string(self.part.output_file(stream)).unwrap_or_default();
        Ok(Exit {
            side: self.part.side,
            status,
            hung: self.hung.take(),
            noted: self.noted(),
            complaint: output_file("err"),
            output: output_file("out"),
            pid: self.child.id(),
            order,
        })
    }
}

/// A failing test leaves no process behind.
impl Drop for PairWorker {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

impl Exits {
    /// The exit of one side.
    pub fn of(&self, side: Side) -> &Exit {
        match side {
            Side::Leader => &self.leader,
            Side::Follower => &self.follower,
        }
    }

    /// The process ids of both.
    pub fn pids(&self) -> [u32; 2] {
        [self.leader.pid, self.follower.pid]
    }

    /// Checks that the processes of `sides` succeeded.
    pub fn passed(&self, sides: &[Side]) -> Result<(), Failure> {
        let mut failed: Vec<&Exit> =
            sides.iter().map(|side| self.of(*side)).filter(|exit| !exit.passed()).collect();
        // The first failure is likely the cause of the others.
        failed.sort_by_key(|exit| (exit.is_peer_lost(), exit.order));
        let exits: Vec<String> = failed.iter().map(|exit| exit.describe()).collect();
        if exits.is_empty() { Ok(()) } else { Err(Failure::new(exits.join("\n  "))) }
    }
}

impl Exit {
    /// True if it ran its part successfully.
    pub fn passed(&self) -> bool {
        self.hung.is_none() && self.status.success()
    }

    /// True if it was killed, by itself or from outside, and not because it hung.
    pub fn was_killed(&self) -> bool {
        self.hung.is_none() && self.status.signal() == Some(SIGKILL)
    }

    /// Its standard error.
    pub fn complaint(&self) -> &str {
        self.complaint.trim()
    }

    /// True if it failed only because the other process was gone.
    fn is_peer_lost(&self) -> bool {
        self.complaint.contains("the other process closed its end")
    }

    fn describe(&self) -> String {
        let how = match (&self.hung, self.complaint()) {
            (Some(hung), _) => hung.clone(),
            (None, "") => format!("ended with {} while {}", self.status, self.noted),
            (None, complaint) => format!("{complaint} [payload and counts: {}]", self.noted),
        };
        format!("the {}: {how}", self.side)
    }
}
