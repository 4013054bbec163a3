//! The events of a session: replies of workers, reports of keepers, and their ends.

use std::{
    os::fd::AsFd,
    time::{Duration, Instant},
};

use ipcmark_transport::{Error, Role};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::state::{Session, SessionError, unexpected};
use crate::wire::{KeeperReport, Reply};

/// An event.
pub(super) enum SessionEvent {
    Reply(usize, Reply),
    Closed(usize),
    Keeper(usize, KeeperReport),
    KeeperGone(usize),
    Deadline,
}

impl Session<'_> {
    /// Waits for the next event.
    pub(super) fn next_event(&mut self, deadline: Instant) -> Result<SessionEvent, SessionError> {
        loop {
            if let Some(event) = self.buffered()? {
                return Ok(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(SessionEvent::Deadline);
            }
            if let Some(event) = self.poll(left)? {
                return Ok(event);
            }
        }
    }

    fn buffered(&mut self) -> Result<Option<SessionEvent>, SessionError> {
        for (at, worker) in self.workers.iter_mut().enumerate() {
            let Some(reply) = worker.reply()? else { continue };
            if let Reply::Phase(phase) = &reply {
                self.phase = phase.to_string();
            }
            return Ok(Some(SessionEvent::Reply(at, reply)));
        }
        Ok(None)
    }

    fn poll(&mut self, left: Duration) -> Result<Option<SessionEvent>, SessionError> {
        let mut wanted = vec![PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
        for worker in &self.workers {
            let open = if worker.closed { PollFlags::empty() } else { PollFlags::POLLIN };
            wanted.push(PollFd::new(worker.control.as_fd(), open));
            let open = if worker.stderr.ended { PollFlags::empty() } else { PollFlags::POLLIN };
            wanted.push(PollFd::new(worker.stderr.pipe.as_fd(), open));
        }
        for keeper in 0..=self.followers.len() {
            wanted.push(PollFd::new(self.frames(keeper).as_fd(), PollFlags::POLLIN));
        }
        let left = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        match poll(&mut wanted, left) {
            Err(Errno::EINTR) => return Ok(None),
            other => other.map_err(|e| Error::os("wait for", "a session", e))?,
        };
        let ready: Vec<bool> = wanted.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let (workers, keepers) = ready[1..].split_at(2 * self.workers.len());
        self.take_in(ready[0], workers, keepers)
    }

    /// Reads from all ready descriptors: control and standard error of each worker, then the keepers.
    fn take_in(
        &mut self,
        interrupted: bool,
        workers: &[bool],
        keepers: &[bool],
    ) -> Result<Option<SessionEvent>, SessionError> {
        if interrupted {
            return Err(SessionError::Interrupted);
        }
        for (worker, ready) in self.workers.iter_mut().zip(workers.chunks(2)) {
            if ready[1] {
                worker.stderr.fill();
            }
        }
        let mut filled = false;
        for (at, (worker, ready)) in self.workers.iter_mut().zip(workers.chunks(2)).enumerate() {
            if ready[0] && !worker.closed {
                if !worker.control.fill()? {
                    worker.closed = true;
                    return Ok(Some(SessionEvent::Closed(at)));
                }
                filled = true;
            }
        }
        // A worker's last messages come before its exit report.
        let speaking = keepers.iter().position(|ready| *ready).filter(|_| !filled);
        speaking.map(|keeper| self.hear(keeper)).transpose()
    }

    /// The next report of a keeper. The keeper of a follower elsewhere can be another user's, and may only report
    /// on its own worker.
    fn hear(&self, keeper: usize) -> Result<SessionEvent, SessionError> {
        let Ok((bytes, _)) = self.frames(keeper).receive() else {
            return Ok(SessionEvent::KeeperGone(keeper));
        };
        let report = serde_json::from_slice(&bytes)
            .map_err(|e| Error::new("understand", "a keeper of the session", e))?;
        let own = keeper.checked_sub(1).map(|number| Role::Follower(number as u32));
        match &report {
            KeeperReport::Exited { role, .. } if own.is_some_and(|own| own != *role) => {
                Err(unexpected(&report))
            }
            _ => Ok(SessionEvent::Keeper(keeper, report)),
        }
    }
}
