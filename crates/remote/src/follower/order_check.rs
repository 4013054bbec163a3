//! Checks a leader's orders. The leader can belong to another user or run on another host, so an order is not
//! forwarded: the follower builds a new one from its own settings and the few fields that it checked.

use std::{
    net::IpAddr,
    os::fd::{AsFd, OwnedFd},
};

use ipcmark_engine::{AnyTransport, Counting, Isolation, Order, PathOptions, WorkerSpec};
use ipcmark_machine::{placement, topology};
use ipcmark_transport::{Error, Role, RunId};
use nix::sys::{
    socket::{SockType, getsockopt, sockopt},
    stat::{SFlag, fstat},
};

use super::{directory::FollowerDirectory, spec::Follower};
use crate::connect::LeaderOrigin;

/// The most followers of one leader.
const MAX_FOLLOWERS: u32 = 64;

/// The state for checking the orders of one leader.
pub(super) struct OrderCheck<'a> {
    follower: &'a Follower<'a>,
    origin: LeaderOrigin,
    /// The leader's run and its directory on this side; set by the first session.
    run: Option<(RunId, FollowerDirectory)>,
}

impl<'a> OrderCheck<'a> {
    pub(super) fn new(follower: &'a Follower<'a>, origin: LeaderOrigin) -> Self {
        Self { follower, origin, run: None }
    }

    /// The order that prepares a session of this run.
    ///
    /// # Errors
    /// The leader named another run before.
    pub(super) fn start(&mut self, run: RunId) -> Result<Order, Error> {
        if self.run.as_ref().is_some_and(|(known, _)| *known != run) {
            return Err(refused("it belongs to another run than the one before"));
        }
        let (_, directory) = match self.run.take() {
            Some(known) => self.run.insert(known),
            None => self.run.insert((run, FollowerDirectory::open(run, self.origin)?)),
        };
        let isolation = Isolation::Names { directory: directory.path().to_owned() };
        Ok(Order::Start { run, isolation: Some(isolation) })
    }

    /// The order that starts the worker.
    ///
    /// # Errors
    /// It does not describe one follower's worker, with that worker's descriptors, for a transport that can be served.
    pub(super) fn spawn(
        &self,
        worker: WorkerSpec,
        transport: Option<String>,
        fds: &[OwnedFd],
    ) -> Result<Order, Error> {
        let is_follower = matches!(worker.role, Role::Follower(number) if number < MAX_FOLLOWERS);
        if !is_follower || worker.peers != 1 {
            return Err(refused("its worker is no follower"));
        }
        check_descriptors(fds)?;
        let known = transport.as_deref().map(|name| self.transport(name)).transpose()?;
        let name = known.map(|transport| transport.definition().name.to_string());
        let paths = name.as_ref().and_then(|name| self.follower.paths.get(name));
        let paths = PathOptions::Local(paths.cloned().unwrap_or_default());
        let worker = WorkerSpec { cpu: self.cpu(worker.cpu)?, address: self.address(), ..worker };
        let counting = Counting::Nothing;
        Ok(Order::Spawn { worker, transport: name, paths, counting })
    }

    fn transport(&self, name: &str) -> Result<&dyn AnyTransport, Error> {
        let mut all = self.follower.registry.iter();
        let found = all.find(|transport| transport.definition().name == name);
        let transport = found.ok_or_else(|| refused("there is no transport of its name here"))?;
        let crosses_hosts = transport.definition().capabilities.crosses_hosts;
        if matches!(self.origin, LeaderOrigin::Remote(_)) && !crosses_hosts {
            return Err(refused("its transport joins processes of one host only"));
        }
        Ok(transport.as_ref())
    }

    /// A leader on this host chooses the processor, among those that this process may use.
    fn cpu(&self, wanted: Option<u32>) -> Result<Option<u32>, Error> {
        if let LeaderOrigin::Remote(_) = self.origin {
            return placement::choose_one(&self.follower.pinning, false);
        }
        let Some(wanted) = wanted else { return Ok(None) };
        match topology::usable()?.iter().any(|cpu| cpu.id == wanted) {
            true => Ok(Some(wanted)),
            false => Err(refused("its processor is not one that this process may run on")),
        }
    }

    fn address(&self) -> Option<IpAddr> {
        match self.origin {
            LeaderOrigin::Local(_) => None,
            LeaderOrigin::Remote(own) => Some(own),
        }
    }
}

fn refused(cause: &str) -> Error {
    Error::new("obey", "an order of the leader", cause)
}

/// A worker gets its control channel, the write end of a pipe, and a socket to the leader's worker.
fn check_descriptors(fds: &[OwnedFd]) -> Result<(), Error> {
    let [control, stderr, peer] = fds else {
        return Err(refused("it brings another number of descriptors than a worker needs"));
    };
    let is_socket = |fd: &OwnedFd, kind| getsockopt(fd, sockopt::SockType) == Ok(kind);
    let is_pipe = |fd: &OwnedFd| {
        fstat(fd.as_fd()).is_ok_and(|stat| {
            SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFIFO
        })
    };
    let are_right = is_socket(control, SockType::Stream)
        && is_pipe(stderr)
        && is_socket(peer, SockType::SeqPacket);
    if are_right { Ok(()) } else { Err(refused("it brings descriptors of another kind")) }
}
