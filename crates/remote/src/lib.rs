//! Followers started by hand: the leader's command here, each follower's in another terminal, container,
//! for another user or on another host.
//!
//! The leader listens at a Unix socket or a TCP address, and followers connect to it. From then on the
//! follower's command does for its worker what a keeper does: it takes the same
//! [orders](ipcmark_engine::Order), with the descriptors of the worker's channels. Over a Unix socket these
//! are the real ones, so that a session consists of the same processes with the same channels between them
//! as any other. Over TCP a [tunnel] carries what is sent on them, encrypted with keys that follow from a
//! secret which both know.

mod follower;
mod greeting;
mod listener;
mod records;
mod secret;
mod tunnel;

use std::{
    cell::RefCell,
    fmt,
    net::SocketAddr,
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    time::{Duration, Instant},
};

use ipcmark_engine::{FollowerKeeper, FollowerSource, HostAddresses};
use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub use follower::{Follower, Served};
pub use secret::Secret;

use listener::Listener;

/// How often somebody who waits for the other command looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Where a leader listens.
#[derive(Clone)]
pub enum LeaderAddress {
    /// On this machine: a Unix socket, whose permissions decide who may connect.
    Socket(PathBuf),
    /// On any host, for whoever knows the secret.
    Tcp(SocketAddr, Secret),
}

impl fmt::Display for LeaderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaderAddress::Socket(path) => write!(f, "{}", path.display()),
            LeaderAddress::Tcp(address, _) => write!(f, "{address}"),
        }
    }
}

/// A follower's command that is connected.
struct FollowerConnection {
    frames: FrameSocket,
    /// True if it answers nothing that is measured.
    is_silent: bool,
    /// The addresses of both ends, if they are on different hosts.
    addresses: Option<HostAddresses>,
}

impl FollowerConnection {
    /// The connection, for one session.
    fn keeper(&self) -> Result<FollowerKeeper, Error> {
        Ok(FollowerKeeper { frames: self.frames.try_clone()?, addresses: self.addresses })
    }

    /// True unless the other end is known to be closed.
    fn is_open(&self) -> bool {
        let mut wanted = [PollFd::new(self.frames.as_fd(), PollFlags::empty())];
        let _ = poll(&mut wanted, PollTimeout::ZERO);
        !wanted[0].any().unwrap_or(true)
    }
}

/// The followers of a run: those that are connected, and the listener where more can connect.
pub struct RemoteFollowers {
    listener: Listener,
    connected: RefCell<Vec<FollowerConnection>>,
    count: usize,
}

impl RemoteFollowers {
    /// Listens, and waits for `count` followers; `None` if the user interrupts.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub fn gather(
        address: &LeaderAddress,
        count: u32,
        interrupt: &UnixStream,
    ) -> Result<Option<Self>, Error> {
        let followers = Self {
            listener: Listener::open(address)?,
            connected: RefCell::default(),
            count: count as usize,
        };
        let forever = Duration::from_secs(u64::from(u32::MAX));
        let complete = followers.complete(interrupt, forever);
        Ok(complete.is_some().then_some(followers))
    }

    /// The number of connected followers that answer nothing: the last of them.
    pub fn silent(&self) -> u32 {
        self.connected.borrow().iter().filter(|follower| follower.is_silent).count() as u32
    }

    /// Waits until nobody is missing; `None` if the time is up or the user interrupts.
    fn complete(&self, interrupt: &UnixStream, patience: Duration) -> Option<()> {
        let deadline = Instant::now() + patience;
        let mut connected = self.connected.borrow_mut();
        connected.retain(FollowerConnection::is_open);
        while connected.len() < self.count {
            connected.extend(self.listener.next(LOOK));
            if is_interrupted(interrupt) || Instant::now() >= deadline {
                return None;
            }
        }
        // Silent followers are the last, whenever they connected.
        connected.sort_by_key(|follower| follower.is_silent);
        Some(())
    }
}

impl FollowerSource for RemoteFollowers {
    fn is_remote(&self) -> bool {
        self.listener.is_remote()
    }

    fn keepers(
        &self,
        interrupt: &UnixStream,
        patience: Duration,
    ) -> Result<Option<Vec<FollowerKeeper>>, Error> {
        if self.complete(interrupt, patience).is_none() {
            if is_interrupted(interrupt) {
                return Ok(None);
            }
            let cause =
                format!("it has disconnected, and none came within {} s", patience.as_secs_f64());
            return Err(Error::new("reach", "the follower's command", cause));
        }
        self.connected
            .borrow()
            .iter()
            .map(FollowerConnection::keeper)
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// Whether the user wants to stop.
fn is_interrupted(interrupt: &UnixStream) -> bool {
    let mut wanted = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
