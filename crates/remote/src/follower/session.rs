//! One session of a follower: forwards admitted orders of the leader to a keeper, and the keeper's reports to the
//! leader.

use std::{
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use ipcmark_engine::{KeeperProcess, KeeperReport, Order};
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::{Error, Role, RunId};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{
    order_check::OrderCheck,
    orders::{order, out_of_turn, report},
    spec::Follower,
};
use crate::connect::LeaderOrigin;

/// A keeper whose frames have ended has an exit status by then.
const EXITS_WITHIN: Duration = Duration::from_secs(1);

/// Serves a session until the leader ends it, its keeper has ended, or the user interrupts.
pub(super) fn serve(
    follower: &Follower<'_>,
    leader: &FrameSocket,
    order_check: &mut OrderCheck<'_>,
    run: RunId,
) -> Result<(), Error> {
    let start = order_check.start(run)?;
    let mut session = FollowerSession {
        leader,
        order_check,
        keeper: KeeperProcess::start()?,
        served: follower.served,
        spawned: None,
    };
    send(&session.keeper.frames, &start, &[])?;
    loop {
        let mut wanted = [
            PollFd::new(leader.as_fd(), PollFlags::POLLIN),
            PollFd::new(session.keeper.frames.as_fd(), PollFlags::POLLIN),
            PollFd::new(follower.interrupt.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut wanted, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            other => other.map_err(|e| Error::os("wait for", "a session", e))?,
        };
        let [ordered, reported, interrupted] = wanted.map(|fd| fd.any().unwrap_or(false));
        if interrupted || (reported && !session.pass_report()?) || (ordered && session.execute()?) {
            return Ok(());
        }
    }
}

/// The order that a keeper would get for these bytes, with the descriptors of a worker.
pub(crate) fn admitted(
    follower: &Follower<'_>,
    origin: LeaderOrigin,
    bytes: &[u8],
) -> Result<Order, Error> {
    match order(bytes)? {
        Order::Spawn { worker, transport, .. } => {
            let fds = worker_descriptors()?;
            OrderCheck::new(follower, origin).spawn(worker, transport, &fds)
        }
        _ => Err(out_of_turn()),
    }
}

fn worker_descriptors() -> Result<[OwnedFd; 3], Error> {
    let failed = |e| Error::scarce("make", "the descriptors of a worker", e);
    let control = UnixStream::pair().map_err(failed)?.0;
    let (_, stderr) = std::io::pipe().map_err(failed)?;
    Ok([control.into(), stderr.into(), FrameSocket::pair()?.0.into()])
}

struct FollowerSession<'a, 'f> {
    leader: &'a FrameSocket,
    order_check: &'a OrderCheck<'f>,
    keeper: KeeperProcess,
    served: &'a dyn Fn(&str),
    /// The role of the worker, once the leader ordered it.
    spawned: Option<Role>,
}

impl FollowerSession<'_, '_> {
    /// Forwards a report of the keeper; false if the keeper has ended, and its worker with it, which the leader is told.
    fn pass_report(&mut self) -> Result<bool, Error> {
        if let Ok((report, _)) = self.keeper.frames.receive() {
            return self.leader.send(&report, &[]).map(|()| true);
        }
        if let Some(role) = self.spawned {
            let (why, _) = self.keeper.exit(EXITS_WITHIN);
            let how = format!("was ended: {why}").into();
            report(self.leader, &KeeperReport::Exited { role, how })?;
        }
        Ok(false)
    }

    /// Executes an order; true after the last one, when no part of the session is left.
    fn execute(&mut self) -> Result<bool, Error> {
        let Ok((bytes, fds)) = self.leader.receive() else { return Ok(true) };
        match order(&bytes)? {
            Order::Spawn { worker, transport, .. } if self.spawned.is_none() => {
                self.spawned = Some(worker.role);
                let spawn = self.order_check.spawn(worker, transport, &fds)?;
                if let Order::Spawn { transport: Some(name), .. } = &spawn {
                    (self.served)(name);
                }
                let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
                send(&self.keeper.frames, &spawn, &fds).map(|()| false)
            }
            Order::Inspect => send(&self.keeper.frames, &Order::Inspect, &[]).map(|()| false),
            Order::End => {
                send(&self.keeper.frames, &Order::End, &[])?;
                self.keeper.end();
                report(self.leader, &KeeperReport::Ended).map(|()| true)
            }
            Order::Start { .. } | Order::Gather { .. } | Order::Spawn { .. } => Err(out_of_turn()),
        }
    }
}

fn send(
    keeper: &FrameSocket,
    order: &Order,
    fds: &[std::os::fd::BorrowedFd<'_>],
) -> Result<(), Error> {
    let bytes = serde_json::to_vec(order).map_err(|e| Error::new("write", "an order", e))?;
    keeper.send(&bytes, fds)
}
