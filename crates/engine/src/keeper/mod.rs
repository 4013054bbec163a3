//! The keeper: the process that holds a session together. It makes the sandbox, forks the workers,
//! reports how they end, and takes them along when it ends itself.
//!
//! The command starts the keeper as a fresh copy of the executable, with one thread, so that it may
//! fork. Workers are forked and not executed again: they need no file of the host, which the
//! sandbox may hide, and start within a millisecond.

mod descendants;

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

use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::{namespaces, process::die_with_parent};

use crate::{
    leftovers,
    registry::Registry,
    wire::{COMMAND_FD, KeeperReport, Order, WorkerSpec},
    worker::{run_workers, status},
};

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CommandEnd {
    /// The command has said so.
    Ended,
    /// It is gone without having announced it.
    Crashed,
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
    Ok(FrameSocket::from(unsafe { OwnedFd::from_raw_fd(COMMAND_FD) }))
}

fn start(command: FrameSocket, registry: &Registry) -> Result<(), Error> {
    die_with_parent()?;
    let _ = prctl::set_name(c"ipcmark-keeper");
    let _ = setsid();
    let Order::Start { sandbox, run, visible, cleans } = receive(&command)?.0 else {
        return Err(Error::new("start", "the session", "the first order was another"));
    };
    if !sandbox {
        descendants::adopt()?;
        outlive_parent()?;
        say(&command, &KeeperReport::Ready)?;
        if serve(command, registry)? == CommandEnd::Crashed && cleans {
            leftovers::clean_run(registry, &run.to_string())?;
        }
        return Ok(());
    }
    if let Err(error) = namespaces::enter() {
        return say(&command, &KeeperReport::Refused { reason: error.to_string() });
    }
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| Error::scarce("fork", "the keeper", e))? {
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
    if let Err(error) = namespaces::furnish(visible) {
        return say(&command, &KeeperReport::Refused { reason: error.to_string() });
    }
    say(&command, &KeeperReport::Ready)?;
    serve(command, registry).map(drop)
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

fn say(command: &FrameSocket, word: &KeeperReport) -> Result<(), Error> {
    let bytes = serde_json::to_vec(word).map_err(|e| Error::new("write", "a word", e))?;
    command.send(&bytes, &[])
}

/// Serves until the command closes its end; then everything that the session has started ends.
fn serve(command: FrameSocket, registry: &Registry) -> Result<CommandEnd, Error> {
    let mut keeper = Keeper { command, registry, workers: Vec::new() };
    let end = keeper.serve();
    descendants::end();
    end
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
    fn serve(&mut self) -> Result<CommandEnd, Error> {
        match self.obey_to_the_end() {
            Err(error) if error.is_peer_gone() => Ok(self.command_end()),
            Err(error) => Err(error),
            Ok(()) => Ok(CommandEnd::Ended),
        }
    }

    /// How a command that is gone has ended. A final `End` may still be queued behind the hang-up: drain
    /// before concluding that the command crashed.
    fn command_end(&self) -> CommandEnd {
        let mut failures = 0;
        while failures < 2 {
            match receive(&self.command) {
                Ok((Order::End, _)) => return CommandEnd::Ended,
                Ok(_) => {}
                Err(_) => failures += 1,
            }
        }
        CommandEnd::Crashed
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
            Order::Start { .. } => say(&self.command, &KeeperReport::Ready)?,
            Order::Spawn { workers, transport } => self.spawn(workers, transport, fds)?,
            Order::Inspect => say(&self.command, &KeeperReport::States(self.states()))?,
            Order::End => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn spawn(
        &mut self,
        workers: Vec<WorkerSpec>,
        transport: Option<String>,
        fds: Vec<OwnedFd>,
    ) -> Result<(), Error> {
        // SAFETY: this process has one thread.
        match unsafe { fork() }.map_err(|e| Error::scarce("fork", "a worker", e))? {
            ForkResult::Parent { child } => {
                // Of several in one process it is the first whose end is told.
                let role = workers.first().map_or(Role::Leader, |worker| worker.role);
                self.workers.push((child, role));
                say(&self.command, &KeeperReport::Spawned)
            }
            ForkResult::Child => process::exit(status(|| {
                run_workers(self.registry, &workers, transport.as_deref(), fds)
            })),
        }
    }

    /// Reports every worker that has ended; orphans that were adopted are only reaped.
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
            say(&self.command, &KeeperReport::Exited { role, how: in_words(status) })?;
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
    matches!(state, 'T' | 't').then(|| format!("the {} is stopped", role.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of the command as a keeper sees it that has said something which the command never read.
    fn end_after(orders: &[Order]) -> CommandEnd {
        let (ours, theirs) = FrameSocket::pair().unwrap();
        say(&theirs, &KeeperReport::Ready).unwrap();
        for order in orders {
            ours.send(&serde_json::to_vec(order).unwrap(), &[]).unwrap();
        }
        drop(ours);
        let registry = Registry::new();
        Keeper { command: theirs, registry: &registry, workers: Vec::new() }.serve().unwrap()
    }

    #[test]
    fn a_command_that_did_not_listen_to_the_last_word_has_ended_all_the_same() {
        assert_eq!(end_after(&[Order::End]), CommandEnd::Ended);
        assert_eq!(end_after(&[Order::Inspect, Order::End]), CommandEnd::Ended);
        assert_eq!(end_after(&[]), CommandEnd::Crashed);
        assert_eq!(end_after(&[Order::Inspect]), CommandEnd::Crashed);
    }
}
