//! A worker as the command sees it: its requests, and the replies that it may send.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use ipcmark_transport::{Error, Role};

use crate::{
    command::stderr_tail::StderrTail,
    wire::{Channel, MAX_FRAME, MAX_REPORT, Reply, Request},
};

/// A worker of the session. A follower's worker elsewhere can be another user's: it may send only one reply per
/// request, of the requested kind.
pub(super) struct SessionWorker {
    pub role: Role,
    pub control: Channel<Reply>,
    pub stderr: StderrTail,
    /// The channel is closed.
    pub closed: bool,
    /// The request that it has not yet answered.
    owed: Option<Request>,
    /// The time at which its current work began.
    begun: Instant,
}

impl SessionWorker {
    /// A worker of this role at the other end of its channel and of its standard error. A write to the channel
    /// fails if the worker reads nothing for `timeout`.
    pub(super) fn new(
        role: Role,
        control: UnixStream,
        stderr: OwnedFd,
        timeout: Duration,
    ) -> Result<Self, Error> {
        control
            .set_write_timeout(Some(timeout))
            .map_err(|e| Error::os("set the timeout of", "a control channel", e))?;
        let max_frame = if role.is_leader() { MAX_REPORT } else { MAX_FRAME };
        let control = Channel::new(control, role.as_str(), max_frame);
        let (stderr, begun) = (StderrTail::new(stderr), Instant::now());
        Ok(Self { role, control, stderr, closed: false, owed: None, begun })
    }

    /// Sends a request that it must answer.
    pub(super) fn ask(&mut self, request: &Request) -> Result<(), Error> {
        if !request.continues() {
            self.begun = Instant::now();
        }
        self.owed = Some(request.clone());
        self.control.send(request)
    }

    /// The next reply among the bytes read.
    pub(super) fn reply(&mut self) -> Result<Option<Reply>, Error> {
        let Some(reply) = self.control.buffered()? else { return Ok(None) };
        if !self.is_owed(&reply) {
            let object = format!("a report of the {}", self.role.as_str());
            return Err(Error::new("take", object, "it is not what was asked for"));
        }
        if !matches!(reply, Reply::Phase(_)) {
            self.owed = None;
        }
        Ok(Some(reply))
    }

    fn is_owed(&self, reply: &Reply) -> bool {
        let Some(request) = &self.owed else { return false };
        match reply {
            Reply::Phase(_) => self.role.is_leader(),
            Reply::Failed { .. } => true,
            _ => {
                request.is_answered_by(self.role, reply) && reply.is_possible(self.begun.elapsed())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::wire::{TurnLimit, pair};

    const LIMIT: Duration = Duration::from_secs(60);

    fn worker(role: Role, timeout: Duration) -> (SessionWorker, UnixStream) {
        let (ours, theirs) = pair().unwrap();
        let (_, stderr) = nix::unistd::pipe().unwrap();
        (SessionWorker::new(role, ours, stderr, timeout).unwrap(), theirs)
    }

    fn replies(
        worker: &mut SessionWorker,
        mut from: &UnixStream,
        reply: &Reply,
    ) -> Result<(), Error> {
        let body = serde_json::to_vec(reply).unwrap();
        from.write_all(&(body.len() as u32).to_le_bytes()).unwrap();
        from.write_all(&body).unwrap();
        loop {
            if worker.reply()?.is_some() {
                return Ok(());
            }
            worker.control.fill()?;
        }
    }

    #[test]
    fn a_request_has_one_reply_of_its_kind() {
        let (mut worker, end) = worker(Role::Follower(0), LIMIT);
        assert!(replies(&mut worker, &end, &Reply::Closed).is_err(), "nothing was asked");
        worker.ask(&Request::Close).unwrap();
        assert!(
            replies(&mut worker, &end, &Reply::Prepared(None)).is_err(),
            "another was asked for"
        );
        replies(&mut worker, &end, &Reply::Closed).unwrap();
        assert!(replies(&mut worker, &end, &Reply::Closed).is_err(), "it has replied");
    }

    #[test]
    fn only_the_leader_reports_progress() {
        for (role, may) in [(Role::Leader, true), (Role::Follower(1), false)] {
            let (mut worker, end) = worker(role, LIMIT);
            worker.ask(&Request::Close).unwrap();
            let phase = Reply::Phase("verifying".into());
            assert_eq!(replies(&mut worker, &end, &phase).is_ok(), may);
        }
    }

    #[test]
    fn a_turn_is_the_leaders_and_its_figures_are_possible() {
        let turn = Request::Turn(TurnLimit { number: 0, time_ns: 1, samples: 1 });
        let ready = |round_trip_ns| Reply::Ready { round_trip_ns };
        let (mut leader, end) = worker(Role::Leader, LIMIT);
        leader.ask(&turn).unwrap();
        assert!(replies(&mut leader, &end, &ready(1e300)).is_err(), "longer than it had");
        replies(&mut leader, &end, &ready(100.0)).unwrap();
        assert!(replies(&mut leader, &end, &ready(100.0)).is_err(), "it has had its turn");
        let (mut follower, end) = worker(Role::Follower(0), LIMIT);
        follower.ask(&turn).unwrap();
        assert!(replies(&mut follower, &end, &ready(100.0)).is_err(), "a follower has no turns");
    }

    /// Without a write timeout, the command slept until the worker read.
    #[test]
    fn writing_to_a_worker_that_does_not_read_times_out() {
        let (mut worker, _end) = worker(Role::Follower(0), Duration::from_millis(20));
        while worker.ask(&Request::Look).is_ok() {}
    }
}
