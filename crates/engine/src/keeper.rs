//! The keeper: the process that holds a session together. It makes the sandbox, forks the workers,
//! reports how they end, and takes them along when it ends itself.
//!
//! The command starts the keeper as a fresh copy of the executable, with one thread, so that it may
//! fork. Workers are forked and not executed again: they need no file of the host, which the
//! sandbox may hide, and start within a millisecond.

use std::{
    fs,
    ops::ControlFlow,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    path::PathBuf,
    process,
};

use ipcmark_transport::{Error, Role};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigSet, SigmaskHow, Signal, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{ForkResult, Pid, fork, setsid},
};
use serde::{Deserialize, Serialize};

use crate::{
    candidate::Registry,
    control::scarce,
    frames::FrameSocket,
    host::{host, status},
    leftovers, offspring, sandbox,
};

/// The descriptor on which a keeper finds its way to the command.
pub(crate) const COMMAND_FD: i32 = 3;

/// The command to its keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Make ready, with a sandbox or without, for the run of this id. The sandbox hides none of the
    /// paths that must be `visible`. Without one a keeper that is deserted removes the run's names,
    /// if it `cleans`: if nobody else on this host does.
    Start { sandbox: bool, run: String, visible: Vec<PathBuf>, cleans: bool },
    /// Fork a process with these workers. Descriptors, for each in turn: its control channel, its
    /// standard error, then one socket a peer.
    Spawn { seats: Vec<Seat>, transport: Option<String> },
    /// Tell what the workers are doing.
    Inspect,
    /// The session is over.
    End,
}

/// The place of one worker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Seat {
    pub role: Role,
    pub cpu: Option<u32>,
    /// How many other ends its own has to meet.
    pub peers: usize,
}

/// How a session ends for its keeper.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parting {
    /// The command has said so.
    Ended,
    /// The command is gone without a word.
    Deserted,
}

/// A keeper to its command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    Ready,
    Refused {
        reason: String,
    },
    Spawned,
    Exited {
        role: Role,
        how: String,
    },
    /// A companion: the session is over, and nothing of it is left.
    Ended,
    /// The state of each worker that is not running as it should, in words.
    States(Vec<String>),
}

/// The keeper's whole life; never returns.
pub fn keep(registry: &Registry) -> ! {
    let command = inherited();
    let result = command.and_then(|command| start(command, registry));
    if let Err(error) = result {
        eprintln!("ipcmark: {error}");
        process::exit(1);
    }
    process::exit(0)
}

fn inherited() -> Result<FrameSocket, Error> {
    // SAFETY: asks about a descriptor number only.
    if unsafe { libc::fcntl(COMMAND_FD, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(Error::last_os("find", "the command that started this process")
            .remedy("this is a part of ipcmark that only ipcmark itself starts"));
    }
    // SAFETY: the command passed this descriptor on for us alone.
    Ok(FrameSocket::from_fd(unsafe { OwnedFd::from_raw_fd(COMMAND_FD) }))
}

fn start(command: FrameSocket, registry: &Registry) -> Result<(), Error> {
    die_with_parent()?;
    let _ = prctl::set_name(c"ipcmark-keeper");
    let _ = setsid();
    let Order::Start { sandbox, run, visible, cleans } = receive(&command)?.0 else {
        return Err(Error::new("start", "the session", "the first order was another"));
    };
    if !sandbox {
        offspring::adopt()?;
        outlive_parent()?;
        say(&command, &Word::Ready)?;
        if serve(command, registry)? == Parting::Deserted && cleans {
            leftovers::clean_run(registry, &run)?;
        }
        return Ok(());
    }
    if let Err(error) = sandbox::enter() {
        return say(&command, &Word::Refused { reason: error.to_string() });
    }
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| scarce("fork", "the keeper", e.into()))? {
        ForkResult::Parent { child } => wait_for(child),
        ForkResult::Child => furnish_and_serve(command, registry, &visible),
    }
}

/// The part of the keeper outside the PID namespace only waits.
fn wait_for(child: Pid) -> Result<(), Error> {
    let status = loop {
        match waitpid(child, None) {
            Err(Errno::EINTR) => continue,
            other => break other.map_err(|e| Error::os("wait for", "the session", e))?,
        }
    };
    match status {
        WaitStatus::Exited(_, 0) => Ok(()),
        status => {
            Err(Error::new("hold", "the session", format!("its process {}", in_words(status))))
        }
    }
}

fn furnish_and_serve(
    command: FrameSocket,
    registry: &Registry,
    visible: &[PathBuf],
) -> Result<(), Error> {
    die_with_parent()?;
    if let Err(error) = sandbox::furnish(visible) {
        return say(&command, &Word::Refused { reason: error.to_string() });
    }
    say(&command, &Word::Ready)?;
    serve(command, registry).map(drop)
}

/// Nothing outlives the command, however that ends.
pub(crate) fn die_with_parent() -> Result<(), Error> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL))
        .map_err(|e| Error::os("tie", "a process to ipcmark", e))
}

/// Without a PID namespace this process must live to end what the workers have started. It sees the
/// command's end by its channel; the signal wakes it up for that, should it have been stopped.
fn outlive_parent() -> Result<(), Error> {
    prctl::set_pdeathsig(Some(Signal::SIGCONT))
        .map_err(|e| Error::os("tie", "the session to ipcmark", e))
}

fn receive(command: &FrameSocket) -> Result<(Order, Vec<OwnedFd>), Error> {
    let (bytes, fds) = command.receive()?;
    let order =
        serde_json::from_slice(&bytes).map_err(|e| Error::new("understand", "an order", e))?;
    Ok((order, fds))
}

fn say(command: &FrameSocket, word: &Word) -> Result<(), Error> {
    let bytes = serde_json::to_vec(word).map_err(|e| Error::new("write", "a word", e))?;
    command.send(&bytes, &[])
}

/// Serves until the command closes its end; then everything that the session has started ends.
fn serve(command: FrameSocket, registry: &Registry) -> Result<Parting, Error> {
    let mut keeper = Keeper { command, registry, workers: Vec::new() };
    let parting = keeper.serve();
    offspring::end();
    parting
}

fn child_signals() -> Result<SignalFd, Error> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)
        .and_then(|()| SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC))
        .map_err(|e| Error::os("watch", "the workers", e))
}

struct Keeper<'a> {
    command: FrameSocket,
    registry: &'a Registry,
    workers: Vec<(Pid, Role)>,
}

impl Keeper<'_> {
    fn serve(&mut self) -> Result<Parting, Error> {
        match self.obey_to_the_end() {
            Err(error) if error.is_peer_gone() => Ok(self.parting()),
            Err(error) => Err(error),
            Ok(()) => Ok(Parting::Ended),
        }
    }

    /// How a command that is gone has parted. Its last order can still lie there: the kernel tells
    /// of the words that the command did not read, and of the end, before it hands that order over.
    fn parting(&self) -> Parting {
        let mut failures = 0;
        while failures < 2 {
            match receive(&self.command) {
                Ok((Order::End, _)) => return Parting::Ended,
                Ok(_) => {}
                Err(_) => failures += 1,
            }
        }
        Parting::Deserted
    }

    fn obey_to_the_end(&mut self) -> Result<(), Error> {
        let ended = child_signals()?;
        loop {
            let mut wanted = [
                PollFd::new(self.command.as_fd(), PollFlags::POLLIN),
                PollFd::new(ended.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut wanted, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other.map_err(|e| Error::os("wait for", "the command", e))?,
            };
            let [order, child] = wanted.map(|fd| fd.any().unwrap_or(false));
            if child {
                let _ = ended.read_signal();
                self.reap()?;
            }
            if order && self.obey()?.is_break() {
                return Ok(());
            }
        }
    }

    /// Obeys one order; the last breaks off.
    fn obey(&mut self) -> Result<ControlFlow<()>, Error> {
        let (order, fds) = receive(&self.command)?;
        match order {
            Order::Start { .. } => say(&self.command, &Word::Ready)?,
            Order::Spawn { seats, transport } => self.spawn(seats, transport, fds)?,
            Order::Inspect => say(&self.command, &Word::States(self.states()))?,
            Order::End => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn spawn(
        &mut self,
        seats: Vec<Seat>,
        transport: Option<String>,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Error> {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.map_err(|e| scarce("fork", "a worker", e.into()))? {
            ForkResult::Parent { child } => {
                // Of several in one process it is the first whose end is told.
                let role = seats.first().map_or(Role::Leader, |seat| seat.role);
                self.workers.push((child, role));
                say(&self.command, &Word::Spawned)
            }
            ForkResult::Child => {
                process::exit(status(|| host(self.registry, &seats, transport.as_deref(), fds)))
            }
        }
    }

    /// Reports every worker that has ended; orphans that were adopted are only buried.
    fn reap(&mut self) -> Result<(), Error> {
        loop {
            let status = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(_) => return Ok(()),
                Ok(status) => status,
            };
            let Some(at) = self.workers.iter().position(|(pid, _)| Some(*pid) == status.pid())
            else {
                continue;
            };
            let (_, role) = self.workers.swap_remove(at);
            say(&self.command, &Word::Exited { role, how: in_words(status) })?;
        }
    }

    fn states(&self) -> Vec<String> {
        self.workers.iter().filter_map(|(pid, role)| state(*pid, *role)).collect()
    }
}

fn in_words(status: WaitStatus) -> String {
    match status {
        WaitStatus::Signaled(_, signal, _) => {
            format!("was killed by signal {} ({signal})", signal as i32)
        }
        WaitStatus::Exited(_, status) => format!("exited with status {status}"),
        other => format!("ended: {other:?}"),
    }
}

/// Whether a worker is stopped, which is the one state in which it cannot answer by itself.
fn state(pid: Pid, role: Role) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    matches!(state, 'T' | 't').then(|| format!("the {} is stopped", role_name(role)))
}

/// The word for a role in sentences.
pub(crate) fn role_name(role: Role) -> &'static str {
    if role.is_leader() { "leader" } else { "follower" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parting of a keeper that has said something which the command never read.
    fn parting(orders: &[Order]) -> Parting {
        let (ours, theirs) = FrameSocket::pair().unwrap();
        say(&theirs, &Word::Ready).unwrap();
        for order in orders {
            ours.send(&serde_json::to_vec(order).unwrap(), &[]).unwrap();
        }
        drop(ours);
        let registry = Registry::new();
        Keeper { command: theirs, registry: &registry, workers: Vec::new() }.serve().unwrap()
    }

    #[test]
    fn a_command_that_did_not_listen_to_the_last_word_has_ended_all_the_same() {
        assert_eq!(parting(&[Order::End]), Parting::Ended);
        assert_eq!(parting(&[Order::Inspect, Order::End]), Parting::Ended);
        assert_eq!(parting(&[]), Parting::Deserted);
        assert_eq!(parting(&[Order::Inspect]), Parting::Deserted);
    }
}
