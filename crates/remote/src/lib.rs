//! Followers started by hand: the leader's command here, each follower's in another terminal, container,
//! for another user or on another host.
//!
//! The leader listens at a Unix socket or a TCP address, and followers connect to it. From then on the
//! follower's command does for its worker what a keeper does: it takes the same
//! [orders](ipcmark_engine::Order), with the descriptors of the worker's channels. Over a Unix socket these
//! are the real ones, so that a session consists of the same processes with the same channels between them
//! as any other. Over TCP a `tunnel` carries what is sent on them, encrypted with keys that follow from a
//! secret which both know.
//!
//! Neither side trusts the other further than it must: see `docs/security.md`.

mod connect;
mod follower;
mod followers;
#[doc(hidden)]
pub mod fuzzing;
mod greeter;
mod greeting;
mod listener;
mod noise;
mod pending;
mod secret;
mod socket_file;
mod tunnel;
mod users;

use std::{
    fmt,
    net::SocketAddr,
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    time::Duration,
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub use follower::{Follower, Served};
pub use followers::RemoteFollowers;
pub use secret::Secret;
pub use users::AllowedUsers;

/// How often somebody who waits for the other command looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Where a leader listens, and what proves who is at the other end.
#[derive(Clone)]
pub enum LeaderAddress {
    /// A Unix socket on this machine, for these users.
    Socket(PathBuf, AllowedUsers),
    /// An address, for whoever knows the secret.
    Tcp(SocketAddr, Secret),
}

impl fmt::Display for LeaderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaderAddress::Socket(path, _) => write!(f, "{}", path.display()),
            LeaderAddress::Tcp(address, _) => write!(f, "{address}"),
        }
    }
}

/// True if the user wants to stop.
fn is_interrupted(interrupt: &UnixStream) -> bool {
    let mut wanted = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
