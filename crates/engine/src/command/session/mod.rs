//! A session as the command sees it: a keeper, its workers, and one wait for all events.

mod events;
mod reasons;
mod state;
mod worker;

use std::{
    net::IpAddr,
    os::{fd::AsFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

use ipcmark_transport::{Role, RunId};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::placement::Placement;

use super::{
    followers::FollowerKeeper,
    keeper_process::{ENDS_WITHIN, KeeperProcess},
    stderr_tail::pipe,
    symptoms::Symptom,
};
use crate::wire::{
    self, Counting, Isolation, KeeperReport, Order, Pass, PathOptions, Reply, Request, TurnLimit,
    WorkerSpec,
};
use events::SessionEvent;
pub(crate) use state::{Session, SessionError};
use state::{send, unexpected};
use worker::SessionWorker;

/// The time that the keeper of a follower elsewhere has to end a session: longer than for our own keeper.
const FOLLOWER_ENDS_WITHIN: Duration = Duration::from_secs(20);

/// The parameters of a session's start.
pub(crate) struct SessionSpec<'s> {
    /// The run's id.
    pub run: RunId,
    /// The isolation of its processes from the rest of the host.
    pub isolation: Isolation,
    /// The transport; none for the floor.
    pub transport: Option<&'s str>,
    /// The placement of its workers, and so their number.
    pub placement: &'s Placement,
    /// True if its workers are threads of one process.
    pub one_process: bool,
    /// The counts that their workers take.
    pub counting: Counting,
    /// The keepers of the followers, if this command does not start them.
    pub followers: Vec<FollowerKeeper>,
}

impl<'a> Session<'a> {
    /// Starts the keeper, prepares the followers' keepers, and starts the workers.
    pub(crate) fn start(
        spec: SessionSpec<'_>,
        timeout: Duration,
        interrupt: &'a UnixStream,
    ) -> Result<Self, SessionError> {
        let address = spec.followers.iter().find_map(|follower| follower.leader_address);
        let followers = spec.followers.into_iter().map(|follower| follower.frames).collect();
        let mut session = Self {
            keeper: KeeperProcess::start()?,
            followers,
            workers: Vec::new(),
            planned_followers: spec.placement.followers.len(),
            interrupt,
            timeout,
            phase: "starting".into(),
            counting: spec.counting,
        };
        for keeper in 0..=session.followers.len() {
            let isolation = (keeper == 0).then(|| spec.isolation.clone());
            send(session.frames(keeper), &Order::Start { run: spec.run, isolation }, &[])?;
            match session.report(keeper)? {
                KeeperReport::Ready => {}
                KeeperReport::Refused { reason } if keeper == 0 => {
                    return Err(SessionError::Refused(reason.into()));
                }
                other => return Err(unexpected(&other)),
            }
        }
        session.start_workers(spec.transport, spec.placement, address, spec.one_process)?;
        Ok(session)
    }

    fn start_workers(
        &mut self,
        transport: Option<&str>,
        placement: &Placement,
        address: Option<IpAddr>,
        one_process: bool,
    ) -> Result<(), SessionError> {
        let mut leader_peers = Vec::new();
        let mut workers = Vec::new();
        for (number, cpu) in placement.followers.iter().enumerate() {
            let (to_follower, to_leader) = FrameSocket::pair()?;
            leader_peers.push(to_follower);
            let role = Role::Follower(number as u32);
            // A follower on another host knows its own address.
            let spec = WorkerSpec { role, cpu: *cpu, peers: 1, address: None };
            workers.push((spec, vec![to_leader]));
        }
        let (role, cpu, peers) = (Role::Leader, placement.leader, leader_peers.len());
        let spec = WorkerSpec { role, cpu, peers, address };
        // The leader comes first everywhere: its reasons are checked first.
        workers.insert(0, (spec, leader_peers));
        let together = if one_process { workers.len() } else { 1 };
        for (at, workers) in workers.chunks(together).enumerate() {
            // The first process is the leader's; the others belong to the followers' keepers, if there are any.
            let keeper = if self.followers.is_empty() { 0 } else { at };
            self.spawn(keeper, workers, transport)?;
        }
        Ok(())
    }

    /// Makes this keeper fork one process for these workers.
    fn spawn(
        &mut self,
        keeper: usize,
        workers: &[(WorkerSpec, Vec<FrameSocket>)],
        transport: Option<&str>,
    ) -> Result<(), SessionError> {
        for (at, (worker, peers)) in workers.iter().enumerate() {
            let (worker, is_last) = (*worker, at + 1 == workers.len());
            let order = if is_last {
                let (transport, paths) = (transport.map(Into::into), PathOptions::Requested);
                Order::Spawn { worker, transport, paths, counting: self.counting }
            } else {
                Order::Gather { worker }
            };
            self.order_worker(keeper, worker.role, &order, peers)?;
        }
        match self.report(keeper)? {
            KeeperReport::Spawned => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends an order with the descriptors of the worker in it: its control channel, its standard error, and its
    /// rendezvous sockets.
    fn order_worker(
        &mut self,
        keeper: usize,
        role: Role,
        order: &Order,
        peers: &[FrameSocket],
    ) -> Result<(), SessionError> {
        let (control, their_control) = wire::pair()?;
        let (tail, stderr) = pipe()?;
        let theirs = [their_control.as_fd(), stderr.as_fd()];
        let fds: Vec<_> = theirs.into_iter().chain(peers.iter().map(AsFd::as_fd)).collect();
        self.workers.push(SessionWorker::new(role, control, tail, self.timeout)?);
        Ok(send(self.frames(keeper), order, &fds)?)
    }

    /// The next report of a keeper.
    fn report(&mut self, from: usize) -> Result<KeeperReport, SessionError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.next_event(deadline)? {
                SessionEvent::Keeper(_, KeeperReport::Exited { role, how }) => {
                    return Err(SessionError::Failed(format!("the {} {how}", role.as_str())));
                }
                SessionEvent::Keeper(keeper, report) if keeper == from => return Ok(report),
                SessionEvent::Keeper(_, other) => return Err(unexpected(&other)),
                SessionEvent::KeeperGone(keeper) => return Err(self.keeper_end(keeper)),
                SessionEvent::Deadline => {
                    return Err(SessionError::Failed(
                        "the session's keeper does not answer".into(),
                    ));
                }
                SessionEvent::Reply(..) | SessionEvent::Closed(_) => {}
            }
        }
    }

    /// True if all processes are present, as far as is known.
    pub(crate) fn is_whole(&self) -> bool {
        self.workers.iter().all(|worker| !worker.closed)
    }

    /// Sends each worker its request and collects one final reply from each, the leader's first.
    pub(crate) fn ask(
        &mut self,
        phase: &str,
        request: &Request,
        expected: Duration,
    ) -> Result<Vec<Reply>, SessionError> {
        self.request(phase, request);
        self.collect(self.workers.len(), expected)
    }

    /// Sends each worker its request without waiting; [`Session::answers`] must be called before the next request.
    pub(crate) fn request(&mut self, phase: &str, request: &Request) {
        self.phase = phase.into();
        self.ask_leader(request);
        self.ask_followers(request);
    }

    /// Collects the replies to [`Session::request`]: one final reply from each worker, the leader's first.
    pub(crate) fn answers(&mut self) -> Result<Vec<Reply>, SessionError> {
        self.collect(self.workers.len(), Duration::ZERO)
    }

    /// Makes all workers begin a case; returns once the leader has verified and warmed up, and all sleep. The
    /// result is the approximate time of a round trip, in nanoseconds.
    pub(crate) fn begin(&mut self, pass: &Pass) -> Result<f64, SessionError> {
        self.phase = "starting".into();
        self.ask_leader(&Request::Run(pass.clone()));
        self.ask_followers(&Request::Run(pass.of_followers()));
        let warm_up = Duration::from_nanos(pass.warm_up.time_ns);
        self.leader_is_ready(warm_up)
    }

    /// Gives this session a turn; returns like [`Session::begin`] once it is over and all workers sleep again.
    pub(crate) fn turn(
        &mut self,
        limit: TurnLimit,
        expected: Duration,
    ) -> Result<f64, SessionError> {
        self.phase = "measuring".into();
        self.ask_leader(&Request::Turn(limit));
        self.leader_is_ready(expected)
    }

    /// Makes this session run beside another's turn of this number; returns once it runs.
    pub(crate) fn run_in_background(&mut self, number: u32) -> Result<(), SessionError> {
        self.phase = "starting beside another pair".into();
        self.ask_leader(&Request::Background(number));
        match self.collect(1, Duration::ZERO)?.pop() {
            Some(Reply::BackgroundRuns) => {
                self.phase = "running beside another pair".into();
                Ok(())
            }
            other => Err(self.unexpected_of_leader(other)),
        }
    }

    /// Tells it to stop running in the background; [`Session::await_background`] waits for that.
    pub(crate) fn end_background(&mut self) {
        self.ask_leader(&Request::EndBackground);
    }

    /// Waits until it has stopped; returns like [`Session::begin`].
    pub(crate) fn await_background(&mut self, expected: Duration) -> Result<f64, SessionError> {
        self.leader_is_ready(expected)
    }

    /// Ends the turns; returns the workers' measurements, the leader's first.
    pub(crate) fn finish(&mut self) -> Result<Vec<Reply>, SessionError> {
        self.phase = "reporting".into();
        self.ask_leader(&Request::Finish);
        self.collect(self.workers.len(), Duration::ZERO)
    }

    fn leader_is_ready(&mut self, expected: Duration) -> Result<f64, SessionError> {
        match self.collect(1, expected)?.pop() {
            Some(Reply::Ready { round_trip_ns }) => Ok(round_trip_ns),
            other => Err(self.unexpected_of_leader(other)),
        }
    }

    fn unexpected_of_leader(&self, reply: Option<Reply>) -> SessionError {
        SessionError::Failed(format!("the leader answered {reply:?} to a turn"))
    }

    fn ask_leader(&mut self, request: &Request) {
        // If a worker is gone, its missing reply shows that, with the reason.
        let _ = self.workers[0].ask(request);
    }

    fn ask_followers(&mut self, request: &Request) {
        for worker in &mut self.workers[1..] {
            // As for the leader.
            let _ = worker.ask(request);
        }
    }

    /// Collects one final reply from each of the first `count` workers. A failure of any worker ends the wait.
    fn collect(&mut self, count: usize, expected: Duration) -> Result<Vec<Reply>, SessionError> {
        let deadline = Instant::now() + expected + self.timeout;
        let mut replies: Vec<Option<Reply>> = (0..count).map(|_| None).collect();
        while replies.iter().any(Option::is_none) {
            match self.next_event(deadline)? {
                SessionEvent::Reply(_, Reply::Phase(_)) => {}
                SessionEvent::Reply(at, Reply::Failed { reason, peer_gone }) => {
                    return Err(self.explain(Symptom::failed(
                        self.named(self.workers[at].role),
                        reason,
                        peer_gone,
                    )));
                }
                SessionEvent::Reply(at, reply) => match replies.get_mut(at) {
                    Some(slot) => *slot = Some(reply),
                    None => return Err(self.early(at)),
                },
                SessionEvent::Closed(at) => {
                    return Err(self.explain(Symptom::closed(self.named(self.workers[at].role))));
                }
                SessionEvent::Keeper(_, KeeperReport::Exited { role, how }) => {
                    return Err(self.explain(Symptom::exited(self.named(role), how)));
                }
                SessionEvent::Keeper(..) => {}
                SessionEvent::KeeperGone(keeper) => return Err(self.keeper_end(keeper)),
                SessionEvent::Deadline => return Err(self.overdue()),
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// The error for a follower that reports before the leader has ended the turns.
    fn early(&self, at: usize) -> SessionError {
        let role = self.workers[at].role.as_str();
        SessionError::Failed(format!("the {role} reported too early, while {}", self.phase))
    }

    /// Ends all its processes and waits until they are gone.
    pub(crate) fn end(&mut self) {
        for keeper in 0..=self.followers.len() {
            let _ = send(self.frames(keeper), &Order::End, &[]);
        }
        self.keeper.end();
        for follower in std::mem::take(&mut self.followers) {
            await_end(&follower);
        }
        // Wait until the workers are really gone, so that none of their processes runs beside the next session, and
        // none of their names survives the clean-up.
        for worker in &mut self.workers {
            worker.stderr.fill_until_end(Instant::now() + ENDS_WITHIN);
        }
    }
}

/// Waits until the keeper of a follower has ended its part of a session. One that does not is given up.
fn await_end(follower: &FrameSocket) {
    let deadline = Instant::now() + FOLLOWER_ENDS_WITHIN;
    while Instant::now() < deadline {
        let mut wanted = [PollFd::new(follower.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut wanted, PollTimeout::from(100_u8));
        if !wanted[0].any().unwrap_or(false) {
            continue;
        }
        let Ok((bytes, _)) = follower.receive() else { return };
        if matches!(serde_json::from_slice(&bytes), Ok(KeeperReport::Ended)) {
            return;
        }
    }
    follower.close();
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
