//! A session as the command sees it: a keeper, its workers, and one wait for whatever happens.

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    time::{Duration, Instant},
};

use ipcmark_transport::{Error, Role, RunId};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::placement::Placement;

use super::{
    followers::{FollowerKeeper, HostAddresses},
    keeper_process::{ENDS_WITHIN, KeeperProcess},
    stderr_tail::{StderrTail, pipe},
    symptoms::Symptom,
};
use crate::wire::{self, Channel, KeeperReport, Order, Reply, Request, WorkerSpec};

/// After a failure that a worker reported, the time for a process that ended to show as the cause of it.
const GRACE: Duration = Duration::from_millis(300);

/// How long the keeper of a follower elsewhere may take to end a session: longer than our own may.
const FOLLOWER_ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Why a session did not do what it was asked.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// It went wrong, and why.
    Failed(String),
    /// The sandbox was refused, and why.
    Refused(String),
    /// The user wants to stop.
    Interrupted,
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        SessionError::Failed(error.to_string())
    }
}

/// What a session is started with.
pub(crate) struct SessionSpec<'s> {
    /// Whether it gets namespaces of its own.
    pub sandbox: bool,
    /// The run's id.
    pub run: RunId,
    /// The transport, or none for the floor.
    pub transport: Option<&'s str>,
    /// Files and directories that it reads.
    pub visible: Vec<PathBuf>,
    /// Where its workers run, and so how many there are.
    pub placement: &'s Placement,
    /// Whether its workers are threads of one process.
    pub one_process: bool,
    /// The keepers of the followers, if this command does not start them.
    pub followers: Vec<FollowerKeeper>,
}

/// A keeper with its workers, and the keepers of followers elsewhere. Dropping it ends them all.
pub(crate) struct Session<'a> {
    keeper: KeeperProcess,
    followers: Vec<FrameSocket>,
    /// The addresses of each follower and of its leader, if they can be on different hosts.
    addresses: Vec<HostAddresses>,
    workers: Vec<Worker>,
    /// Readable as soon as the user wants to stop.
    interrupt: &'a UnixStream,
    timeout: Duration,
    /// What is being done, for the reason of a failure.
    phase: String,
}

struct Worker {
    role: Role,
    control: Channel<Reply>,
    stderr: StderrTail,
    /// The channel is closed.
    closed: bool,
}

/// Something that happened.
enum Event {
    Reply(usize, Reply),
    Closed(usize),
    Keeper(KeeperReport),
    KeeperGone(usize),
    Deadline,
}

impl<'a> Session<'a> {
    /// Starts the keeper, prepares those of the followers, and starts the workers.
    pub(crate) fn start(
        spec: SessionSpec<'_>,
        timeout: Duration,
        interrupt: &'a UnixStream,
    ) -> Result<Self, SessionError> {
        let addresses = spec.followers.iter().filter_map(|follower| follower.addresses).collect();
        let followers = spec.followers.into_iter().map(|follower| follower.frames).collect();
        let mut session = Self {
            keeper: KeeperProcess::start()?,
            followers,
            addresses,
            workers: Vec::new(),
            interrupt,
            timeout,
            phase: "starting".into(),
        };
        for keeper in 0..=session.followers.len() {
            let order = Order::Start {
                sandbox: spec.sandbox,
                run: spec.run,
                visible: spec.visible.clone(),
                cleans: keeper == 0 || !session.addresses.is_empty(),
            };
            send(session.frames(keeper), &order, &[])?;
            match session.word()? {
                KeeperReport::Ready => {}
                KeeperReport::Refused { reason } => return Err(SessionError::Refused(reason)),
                other => return Err(SessionError::Failed(format!("the keeper said {other:?}"))),
            }
        }
        session.start_workers(spec.transport, spec.placement, spec.one_process)?;
        Ok(session)
    }

    /// The connection to a keeper: our own is the first, then those of the followers.
    fn frames(&self, keeper: usize) -> &FrameSocket {
        match keeper.checked_sub(1) {
            None => &self.keeper.frames,
            Some(follower) => &self.followers[follower],
        }
    }

    fn start_workers(
        &mut self,
        transport: Option<&str>,
        placement: &Placement,
        one_process: bool,
    ) -> Result<(), SessionError> {
        let mut leader_peers = Vec::new();
        let mut workers = Vec::new();
        for (number, cpu) in placement.followers.iter().enumerate() {
            let (to_follower, to_leader) = FrameSocket::pair()?;
            leader_peers.push(to_follower);
            let spec = WorkerSpec { role: Role::Follower(number as u32), cpu: *cpu, peers: 1 };
            workers.push((spec, vec![to_leader]));
        }
        let spec =
            WorkerSpec { role: Role::Leader, cpu: placement.leader, peers: leader_peers.len() };
        // The leader comes first everywhere: its reasons are looked at first.
        workers.insert(0, (spec, leader_peers));
        let together = if one_process { workers.len() } else { 1 };
        for (at, workers) in workers.chunks(together).enumerate() {
            // The first is the leader; the others belong to the followers' keepers, if there are any.
            let keeper = if self.followers.is_empty() { 0 } else { at };
            self.spawn(keeper, workers, transport)?;
        }
        Ok(())
    }

    /// Has one process made for these workers, by this keeper.
    fn spawn(
        &mut self,
        keeper: usize,
        workers: &[(WorkerSpec, Vec<FrameSocket>)],
        transport: Option<&str>,
    ) -> Result<(), SessionError> {
        let mut theirs: Vec<OwnedFd> = Vec::new();
        for (spec, peers) in workers {
            let (control, their_control) = wire::pair()?;
            let (tail, stderr) = pipe()?;
            theirs.extend([their_control.into(), stderr]);
            for peer in peers {
                let copy = peer.as_fd().try_clone_to_owned();
                theirs.push(copy.map_err(|e| Error::scarce("copy", "a socket", e))?);
            }
            let control = Channel::new(control, spec.role.as_str());
            let tail = StderrTail::new(tail);
            self.workers.push(Worker { role: spec.role, control, stderr: tail, closed: false });
        }
        let workers = workers.iter().map(|(spec, _)| *spec).collect();
        let fds: Vec<_> = theirs.iter().map(AsFd::as_fd).collect();
        let order = Order::Spawn { workers, transport: transport.map(Into::into) };
        send(self.frames(keeper), &order, &fds)?;
        drop(theirs);
        match self.word()? {
            KeeperReport::Spawned => Ok(()),
            other => Err(SessionError::Failed(format!("the keeper said {other:?}"))),
        }
    }

    /// The next word of a keeper.
    fn word(&mut self) -> Result<KeeperReport, SessionError> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.next_event(deadline)? {
                Event::Keeper(KeeperReport::Exited { role, how }) => {
                    return Err(SessionError::Failed(format!("the {} {how}", role.as_str())));
                }
                Event::Keeper(word) => return Ok(word),
                Event::KeeperGone(keeper) => return Err(self.keeper_end(keeper)),
                Event::Deadline => {
                    return Err(SessionError::Failed(
                        "the session's keeper does not answer".into(),
                    ));
                }
                Event::Reply(..) | Event::Closed(_) => {}
            }
        }
    }

    /// Where the ends are, if they are on different hosts: of each follower, in their order.
    pub(crate) fn addresses(&self) -> Vec<HostAddresses> {
        self.addresses.clone()
    }

    /// Whether all processes are there, as far as is known.
    pub(crate) fn is_whole(&self) -> bool {
        self.workers.iter().all(|worker| !worker.closed)
    }

    /// Sends each worker its request and collects one final reply of each, the leader's first.
    pub(crate) fn ask(
        &mut self,
        phase: &str,
        request: impl Fn(Role) -> Request,
        expected: Duration,
    ) -> Result<Vec<Reply>, SessionError> {
        self.phase = phase.into();
        for worker in &mut self.workers {
            // A worker that is gone is found out below, with its reason.
            let _ = worker.control.send(&request(worker.role));
        }
        let mut deadline = Instant::now() + expected + self.timeout;
        let mut replies: Vec<Option<Reply>> = self.workers.iter().map(|_| None).collect();
        while replies.iter().any(Option::is_none) {
            match self.next_event(deadline)? {
                Event::Reply(_, Reply::Phase(_)) => {}
                Event::Reply(_, Reply::Measuring { expected_ns }) => {
                    // The estimate comes from the warm-up: half as much again is still in order.
                    deadline = Instant::now()
                        + self.timeout
                        + Duration::from_nanos(expected_ns).mul_f64(1.5);
                }
                Event::Reply(at, Reply::Failed { reason, peer_gone }) => {
                    return Err(self.explain(Symptom::failed(
                        self.workers[at].role,
                        reason,
                        peer_gone,
                    )));
                }
                Event::Reply(at, reply) => {
                    if matches!(reply, Reply::Led(_)) {
                        self.tell_followers(&Request::Enough);
                    }
                    replies[at] = Some(reply);
                }
                Event::Closed(at) => {
                    return Err(self.explain(Symptom::closed(self.workers[at].role)));
                }
                Event::Keeper(KeeperReport::Exited { role, how }) => {
                    return Err(self.explain(Symptom::exited(role, how)));
                }
                Event::Keeper(_) => {}
                Event::KeeperGone(keeper) => return Err(self.keeper_end(keeper)),
                Event::Deadline => return Err(self.overdue()),
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    fn tell_followers(&mut self, request: &Request) {
        for worker in self.workers.iter_mut().filter(|worker| !worker.role.is_leader()) {
            // One that is gone is found out by what it does not answer.
            let _ = worker.control.send(request);
        }
    }

    /// Waits for the cause behind a symptom and makes a reason of the nearest.
    fn explain(&mut self, first: Symptom) -> SessionError {
        let begun = Instant::now();
        let mut symptoms = vec![first];
        while symptoms.iter().all(|symptom| symptom.weight > 0) {
            match self.next_event(begun + self.patience(&symptoms)) {
                Err(SessionError::Interrupted) => return SessionError::Interrupted,
                Err(_) | Ok(Event::Deadline) => break,
                Ok(Event::Reply(at, Reply::Failed { reason, peer_gone })) => {
                    symptoms.push(Symptom::failed(self.workers[at].role, reason, peer_gone));
                }
                Ok(Event::Keeper(KeeperReport::Exited { role, how })) => {
                    symptoms.push(Symptom::exited(role, how))
                }
                Ok(Event::KeeperGone(keeper)) => return self.keeper_end(keeper),
                Ok(_) => {}
            }
        }
        let nearest = symptoms.into_iter().min_by_key(|symptom| symptom.weight);
        let nearest = nearest.unwrap_or_else(|| Symptom::closed(Role::Leader));
        let mut reason = format!("{} while {}", nearest.text, self.phase);
        if let Some(text) = nearest.role.and_then(|role| self.stderr_text(role)) {
            reason.push_str(&format!("; its standard error ends with: {text}"));
        }
        SessionError::Failed(reason)
    }

    /// How long to wait for the cause. "Peer gone" and a closed channel only follow from a process that is
    /// ending: its keeper will report the exit status, however busy the machine is.
    fn patience(&self, symptoms: &[Symptom]) -> Duration {
        let has_cause = symptoms.iter().any(|symptom| !symptom.follows());
        let is_ending = self.workers.iter().any(|worker| worker.closed);
        if has_cause && !is_ending { GRACE } else { self.timeout }
    }

    /// The reason of a case whose deadline has passed.
    fn overdue(&mut self) -> SessionError {
        let _ = send(&self.keeper.frames, &Order::Inspect, &[]);
        let deadline = Instant::now() + self.timeout;
        let states = loop {
            match self.next_event(deadline) {
                Err(SessionError::Interrupted) => return SessionError::Interrupted,
                Ok(Event::Keeper(KeeperReport::States(states))) => break states,
                Err(_) | Ok(Event::Deadline | Event::KeeperGone(_)) => {
                    break vec!["the session's keeper does not answer".into()];
                }
                Ok(_) => {}
            }
        };
        let why = match states.is_empty() {
            false => states.join(" and "),
            true => "a message was lost, or a process hangs".into(),
        };
        let timeout = self.timeout.as_secs_f64();
        SessionError::Failed(format!(
            "no end within {timeout} s beyond the expected time while {}: {why}",
            self.phase
        ))
    }

    /// Why there is no keeper any more.
    fn keeper_end(&mut self, keeper: usize) -> SessionError {
        let (how, text) = match keeper {
            0 => self.keeper.exit(self.timeout),
            _ => ("the follower's command is gone".into(), None),
        };
        SessionError::Failed(match text {
            Some(text) => format!("{how} while {}: {text}", self.phase),
            None => format!("{how} while {}", self.phase),
        })
    }

    fn stderr_text(&mut self, role: Role) -> Option<String> {
        let worker = self.workers.iter_mut().find(|worker| worker.role == role)?;
        worker.stderr.fill();
        worker.stderr.text()
    }

    /// Waits for the next thing that happens.
    fn next_event(&mut self, deadline: Instant) -> Result<Event, SessionError> {
        loop {
            if let Some(event) = self.buffered()? {
                return Ok(event);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Event::Deadline);
            }
            if let Some(event) = self.poll(left)? {
                return Ok(event);
            }
        }
    }

    fn buffered(&mut self) -> Result<Option<Event>, SessionError> {
        for (at, worker) in self.workers.iter_mut().enumerate() {
            if let Some(reply) = worker.control.buffered()? {
                match &reply {
                    Reply::Phase(phase) => self.phase.clone_from(phase),
                    Reply::Measuring { .. } => self.phase = "measuring".into(),
                    _ => {}
                }
                return Ok(Some(Event::Reply(at, reply)));
            }
        }
        Ok(None)
    }

    fn poll(&mut self, left: Duration) -> Result<Option<Event>, SessionError> {
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

    /// Reads what is ready: control and standard error of each worker, then the keepers.
    fn take_in(
        &mut self,
        interrupted: bool,
        workers: &[bool],
        keepers: &[bool],
    ) -> Result<Option<Event>, SessionError> {
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
                    return Ok(Some(Event::Closed(at)));
                }
                filled = true;
            }
        }
        // What a worker said before it ended comes before its end.
        let speaking = keepers.iter().position(|ready| *ready).filter(|_| !filled);
        speaking.map(|keeper| self.hear(keeper)).transpose()
    }

    fn hear(&self, keeper: usize) -> Result<Event, SessionError> {
        let Ok((bytes, _)) = self.frames(keeper).receive() else {
            return Ok(Event::KeeperGone(keeper));
        };
        let word = serde_json::from_slice(&bytes)
            .map_err(|e| Error::new("understand", "the session's keeper", e))?;
        Ok(Event::Keeper(word))
    }
}

impl Session<'_> {
    /// Ends all its processes and waits until they are gone.
    pub(crate) fn end(&mut self) {
        for keeper in 0..=self.followers.len() {
            let _ = send(self.frames(keeper), &Order::End, &[]);
        }
        self.keeper.end();
        for follower in std::mem::take(&mut self.followers) {
            await_end(&follower);
        }
        // Wait until the workers are really gone, so that nothing of theirs runs beside the next
        // session or survives the clean-up of names.
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

fn send(to: &FrameSocket, order: &Order, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let bytes = serde_json::to_vec(order).map_err(|e| Error::new("write", "an order", e))?;
    to.send(&bytes, fds)
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
