//! The keeper: the process that owns a session. It creates the sandbox, forks the workers, reports their exits, and
//! ends them when it ends itself. A run without a sandbox has a second such process, its cleaner.
//!
//! The command starts the keeper as a fresh copy of the executable, with one thread, so that it may fork. Workers
//! are forked without exec: they need no file of the host, which the sandbox may hide, and start within a
//! millisecond.

mod cleaner;

use std::{
    env,
    io::{self, Write},
    mem,
    ops::ControlFlow,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    path::PathBuf,
    process,
};

use ipcmark_transport::{Error, Role};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{prctl, signal::Signal},
    unistd::{ForkResult, Pid, fork, setsid},
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::{
    descendants, namespaces,
    process::{Stat, die_with_parent, end_first_without_memory, how_it_ended, reap, wait_for_end},
};

use crate::{
    command::CLEANER,
    registry::Registry,
    wire::{COMMAND_FD, Isolation, KeeperReport, Order, PlainText, WorkerSpec},
    worker::{Service, SessionContext, run_workers, status},
};

/// The whole life of a keeper, or of a cleaner; never returns.
pub fn keep(registry: &Registry) -> ! {
    let words: Vec<String> = env::args().skip(2).collect();
    if let [word, owner, run @ ..] = words.as_slice()
        && word == CLEANER
    {
        cleaner::live(registry, owner, run.first().map(String::as_str));
        process::exit(0)
    }
    let command = inherited();
    let result = command.and_then(|command| start(command, registry));
    if let Err(error) = result {
        // The command, which reads this, may be gone.
        let _ = writeln!(io::stderr(), "ipcmark: {error}");
        process::exit(1);
    }
    process::exit(0)
}

fn inherited() -> Result<FrameSocket, Error> {
    // SAFETY: asks about a descriptor number only.
    if unsafe { libc::fcntl(COMMAND_FD, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(Error::last_os("find", "the command that started this process")
            .remedy("this command is internal: only ipcmark itself starts it"));
    }
    // SAFETY: the command passed this descriptor on for us alone.
    Ok(FrameSocket::from(unsafe { OwnedFd::from_raw_fd(COMMAND_FD) }))
}

fn start(command: FrameSocket, registry: &Registry) -> Result<(), Error> {
    die_with_parent()?;
    let _ = prctl::set_name(c"ipcmark-keeper");
    let _ = setsid();
    end_first_without_memory();
    let Order::Start { run, isolation: Some(isolation) } = receive(&command)?.0 else {
        return Err(Error::new("start", "the session", "the first order was another"));
    };
    let session = SessionContext { run, isolation };
    match &session.isolation {
        Isolation::Names { .. } => {
            descendants::adopt()?;
            say(&command, &KeeperReport::Ready)?;
            serve(command, registry, &session)
        }
        Isolation::Namespaces { visible } => serve_apart(command, registry, &session, visible),
    }
}

/// Serves in its own namespaces.
fn serve_apart(
    command: FrameSocket,
    registry: &Registry,
    session: &SessionContext,
    visible: &[PathBuf],
) -> Result<(), Error> {
    if let Err(error) = namespaces::enter() {
        return say(&command, &refused(&error));
    }
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| Error::scarce("fork", "the keeper", e))? {
        ForkResult::Parent { child } => wait_for(child),
        ForkResult::Child => set_up_and_serve(command, registry, session, visible),
    }
}

fn refused(error: &Error) -> KeeperReport {
    KeeperReport::Refused { reason: error.to_string().into() }
}

/// The keeper's process outside the PID namespace only waits.
fn wait_for(child: Pid) -> Result<(), Error> {
    let status = wait_for_end(child).map_err(|e| Error::os("wait for", "the session", e))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new("hold", "the session", format!("its process {}", how_it_ended(status))))
}

fn set_up_and_serve(
    command: FrameSocket,
    registry: &Registry,
    session: &SessionContext,
    visible: &[PathBuf],
) -> Result<(), Error> {
    die_with_parent()?;
    if let Err(error) = namespaces::mount_private(visible) {
        return say(&command, &refused(&error));
    }
    say(&command, &KeeperReport::Ready)?;
    serve(command, registry, session)
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

/// Serves until the command closes its end or a signal asks this process to end; then ends everything that the
/// session has started.
fn serve(command: FrameSocket, registry: &Registry, session: &SessionContext) -> Result<(), Error> {
    let (workers, gathered) = (Vec::new(), Vec::new());
    let served = Keeper { command, registry, session, workers, gathered }.serve();
    descendants::end();
    match served {
        Err(error) if error.is_peer_gone() => Ok(()),
        Ok(Some(signal)) => {
            descendants::end_by(signal as i32);
            // The first process of a PID namespace cannot end by its own signal.
            process::exit(128 + signal as i32)
        }
        served => served.map(drop),
    }
}

struct Keeper<'a> {
    command: FrameSocket,
    registry: &'a Registry,
    session: &'a SessionContext,
    workers: Vec<(Pid, Role)>,
    /// The workers of the process to fork next, each with its descriptors.
    gathered: Vec<(WorkerSpec, Vec<OwnedFd>)>,
}

impl Keeper<'_> {
    /// Executes orders until the last one, or until a signal asks this process to end; returns that signal.
    fn serve(&mut self) -> Result<Option<Signal>, Error> {
        let signals = descendants::signals()?;
        loop {
            let mut wanted = [
                PollFd::new(self.command.as_fd(), PollFlags::POLLIN),
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut wanted, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other.map_err(|e| Error::os("wait for", "the command", e))?,
            };
            let [order, signalled] = wanted.map(|fd| fd.any().unwrap_or(false));
            if signalled {
                match descendants::next(&signals) {
                    Some(Signal::SIGCHLD) | None => self.reap()?,
                    ending => return Ok(ending),
                }
            }
            if order && self.execute()?.is_break() {
                return Ok(None);
            }
        }
    }

    /// Executes one order; the last one breaks the loop.
    fn execute(&mut self) -> Result<ControlFlow<()>, Error> {
        let (order, fds) = receive(&self.command)?;
        match order {
            Order::Start { .. } => {
                return Err(Error::new("start", "a session", "this keeper serves one already"));
            }
            Order::Gather { worker } => self.gathered.push((worker, fds)),
            Order::Spawn { worker, transport, paths, counting } => {
                self.gathered.push((worker, fds));
                let service = Service { session: self.session, transport, paths, counting };
                self.spawn(&service)?;
            }
            Order::Inspect => say(&self.command, &KeeperReport::States(self.states()))?,
            Order::End => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Forks a process with the gathered workers, of which there is one at least.
    fn spawn(&mut self, service: &Service<'_>) -> Result<(), Error> {
        let workers = mem::take(&mut self.gathered);
        // SAFETY: this process has one thread.
        match unsafe { fork() }.map_err(|e| Error::scarce("fork", "a worker", e))? {
            ForkResult::Parent { child } => {
                // If several workers share a process, its exit is reported as the first one's.
                self.workers.push((child, workers[0].0.role));
                say(&self.command, &KeeperReport::Spawned)
            }
            ForkResult::Child => {
                process::exit(status(|| run_workers(self.registry, workers, service)))
            }
        }
    }

    /// Reports every worker that has ended; adopted orphans are only reaped.
    fn reap(&mut self) -> Result<(), Error> {
        loop {
            let Some((child, status)) = reap(None) else { return Ok(()) };
            let Some(at) = self.workers.iter().position(|(pid, _)| *pid == child) else { continue };
            let (_, role) = self.workers.swap_remove(at);
            say(&self.command, &KeeperReport::Exited { role, how: how_it_ended(status).into() })?;
        }
    }

    fn states(&self) -> Vec<PlainText> {
        self.workers.iter().filter_map(|(pid, role)| state(*pid, *role)).collect()
    }
}

/// The state of a worker if it is stopped, the only state in which it cannot report by itself.
fn state(pid: Pid, role: Role) -> Option<PlainText> {
    let state = Stat::of(pid)?.state;
    matches!(state, 'T' | 't').then(|| format!("the {} is stopped", role.as_str()).into())
}
