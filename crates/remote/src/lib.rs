//! Followers started by hand: the leader's command here, each follower's command in another terminal,
//! in a container, as another user or on another host.
//!
//! The leader listens at a Unix socket or a TCP address, and followers connect to it. From then on the
//! follower's command acts as the keeper of its worker: it receives the same
//! [orders](ipcmark_engine::Order), with the descriptors of the worker's channels. Over a Unix socket these
//! are the real descriptors, so a session consists of the same processes with the same channels as any
//! other. Over TCP a `tunnel` carries the channels' data, encrypted with keys derived from a shared secret.
//!
//! Neither side trusts the other more than necessary: see `docs/security.md`.

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

/// The interval at which a command that waits for the other checks if the user interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// The address at which a leader listens, and the way in which peers are authenticated.
#[derive(Clone)]
pub enum LeaderAddress {
    /// A Unix socket on this machine, for these users.
    Socket(PathBuf, AllowedUsers),
    /// An address, for every peer that knows the secret.
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

/// True if the user interrupted.
fn is_interrupted(interrupt: &UnixStream) -> bool {
    let mut wanted = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
