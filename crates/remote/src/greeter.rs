//! One thread that serves all connections to the leader concurrently and never waits for a single one: a stranger that
//! sends nothing, or sends slowly, costs a descriptor and delays nobody.

use std::{
    io::{self, Write},
    mem,
    os::{fd::AsFd, unix::net::UnixStream},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use ipcmark_transport::Error;
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::resource::{Resource, getrlimit},
};

use crate::{
    listener::Listener,
    pending::{Accepted, GreetingProgress, Pending},
};

/// The most connections with a greeting in progress; beyond this number the oldest is dropped.
const MAX_PENDING: usize = 256;

/// The most followers that are accepted before they are requested.
const MAX_WAITING: usize = 64;

/// The most rejections that are reported: more would hide all other messages.
const MAX_REPORTED: usize = 5;

/// The time during which connections stay in the system's queue when no descriptor is left.
const PAUSE: Duration = Duration::from_millis(100);

/// The thread; it ends when this is dropped.
pub(crate) struct Greeter {
    accepted: Receiver<Accepted>,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Greeter {
    /// Starts to serve connections.
    ///
    /// # Errors
    /// The system has no thread or descriptor left.
    pub(crate) fn start(listener: Listener) -> Result<Self, Error> {
        let failed = |e| Error::scarce("start", "a thread that accepts followers", e);
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let (sender, accepted) = sync_channel(MAX_WAITING);
        let mut state = GreeterState {
            listener,
            stopped,
            accepted: sender,
            pending: Vec::new(),
            max_pending: max_pending(),
            paused_until: None,
            rejected: 0,
        };
        let thread = thread::Builder::new().name("ipcmark-greet".into());
        let thread = thread.spawn(move || state.wait_and_serve()).map_err(failed)?;
        Ok(Self { accepted, stop: Some(stop), thread: Some(thread) })
    }

    /// The next follower that was accepted, or is accepted within `time_limit`.
    ///
    /// # Errors
    /// The thread has ended.
    pub(crate) fn next(&self, time_limit: Duration) -> Result<Option<Accepted>, Error> {
        match self.accepted.recv_timeout(time_limit) {
            Ok(accepted) => Ok(Some(accepted)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::new("accept", "a follower", "the listener has failed"))
            }
        }
    }
}

impl Drop for Greeter {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A quarter of this process's descriptor limit: the rest is for its own work.
fn max_pending() -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    usize::try_from(limit / 4).unwrap_or(MAX_PENDING).clamp(1, MAX_PENDING)
}

/// The state of the thread.
struct GreeterState {
    listener: Listener,
    /// Readable when the thread must end.
    stopped: UnixStream,
    accepted: SyncSender<Accepted>,
    /// The oldest first.
    pending: Vec<Pending>,
    max_pending: usize,
    /// No connection is accepted before this time, because descriptors ran out.
    paused_until: Option<Instant>,
    rejected: usize,
}

/// The descriptors that have become ready.
struct ReadyDescriptors {
    stopped: bool,
    listener: bool,
    pending: Vec<bool>,
}

impl GreeterState {
    fn wait_and_serve(&mut self) {
        loop {
            let ready = self.wait();
            if ready.stopped {
                return;
            }
            self.advance(&ready.pending);
            if ready.listener {
                self.accept();
            }
        }
    }

    fn wait(&mut self) -> ReadyDescriptors {
        let now = Instant::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let accepts =
            if self.paused_until.is_none() { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut wanted = vec![
            PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), accepts),
        ];
        wanted.extend(self.pending.iter().map(|one| PollFd::new(one.as_fd(), PollFlags::POLLIN)));
        if poll(&mut wanted, self.timeout(now)).is_err() {
            // Interrupted, or temporarily out of memory.
            thread::sleep(Duration::from_millis(1));
            return ReadyDescriptors {
                stopped: false,
                listener: false,
                pending: vec![false; self.pending.len()],
            };
        }
        let ready: Vec<bool> = wanted.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        ReadyDescriptors { stopped: ready[0], listener: ready[1], pending: ready[2..].to_vec() }
    }

    /// The time until the first deadline.
    fn timeout(&self, now: Instant) -> PollTimeout {
        let deadlines = self.pending.iter().map(|one| one.deadline).chain(self.paused_until);
        let Some(first) = deadlines.min() else { return PollTimeout::NONE };
        // Rounded up: a poll that returns too early would be repeated in a busy loop.
        let left = first.saturating_duration_since(now) + Duration::from_millis(1);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Continues the greetings that have something to read, and drops those past their deadline.
    fn advance(&mut self, ready: &[bool]) {
        let now = Instant::now();
        for (pending, is_ready) in mem::take(&mut self.pending).into_iter().zip(ready) {
            if !is_ready {
                self.pending.extend((pending.deadline > now).then_some(pending));
                continue;
            }
            let peer = pending.peer.clone();
            match pending.advance() {
                Ok(GreetingProgress::Waiting(pending)) => self.pending.push(pending),
                // A follower beyond the limit is dropped, and connects again.
                Ok(GreetingProgress::Accepted(follower)) => _ = self.accepted.try_send(follower),
                Err(error) => self.reject(&peer, &error),
            }
        }
    }

    /// Accepts waiting connections, at most as many at a time as can be pending.
    fn accept(&mut self) {
        for _ in 0..self.max_pending {
            match self.listener.accept() {
                Ok(Some(fd)) => match Pending::new(fd, &self.listener.required_proof) {
                    Ok(pending) => self.pending.push(pending),
                    Err(error) => self.reject("this machine", &error),
                },
                Ok(None) => return,
                // No descriptor or memory is left: drop the oldest connection, or pause if there is none.
                Err(_) if self.pending.is_empty() => {
                    self.paused_until = Some(Instant::now() + PAUSE);
                    return;
                }
                Err(_) => self.drop_oldest(),
            }
            if self.pending.len() > self.max_pending {
                self.drop_oldest();
            }
        }
    }

    /// Drops the oldest connection that has proved nothing, else the oldest.
    fn drop_oldest(&mut self) {
        let oldest = self.pending.iter().position(|one| !one.is_probable()).unwrap_or(0);
        self.pending.remove(oldest);
    }

    fn reject(&mut self, peer: &str, error: &Error) {
        self.rejected = self.rejected.saturating_add(1);
        let message = match self.rejected {
            ..=MAX_REPORTED => format!("ipcmark: rejected a connection from {peer}: {error}\n"),
            n if n == MAX_REPORTED + 1 => "ipcmark: further rejections are not reported\n".into(),
            _ => return,
        };
        // Standard error may have no reader.
        let _ = io::stderr().write_all(message.as_bytes());
    }
}
