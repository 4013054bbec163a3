//! Followers that this command does not start itself: where the connections to their keepers come from.

use std::{net::IpAddr, os::unix::net::UnixStream, time::Duration};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::{Error, Role};

/// Provides a session with its followers, where they are other commands.
pub trait FollowerSource {
    /// True if the followers can be on other hosts, which share neither memory nor a clock with the leader.
    fn is_remote(&self) -> bool;

    /// One connection to the keeper of each follower, in the order of their numbers. Waits up to `patience`
    /// for those that are missing; `None` if the user interrupts meanwhile.
    ///
    /// # Errors
    /// A follower is missing and none came in time.
    fn keepers(
        &self,
        interrupt: &UnixStream,
        patience: Duration,
    ) -> Result<Option<Vec<FollowerKeeper>>, Error>;
}

/// A connection to the keeper of a follower.
pub struct FollowerKeeper {
    /// Takes [orders](crate::Order), brings [reports](crate::KeeperReport).
    pub frames: FrameSocket,
    /// The addresses of both ends, if they can be on different hosts.
    pub addresses: Option<HostAddresses>,
}

/// Addresses by which the ends of a session reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddresses {
    /// The leader's, as the follower reaches it.
    pub leader: IpAddr,
    /// The follower's, as the leader reaches it.
    pub follower: IpAddr,
}

/// The address at which the end of this role is reached, if the ends are on different hosts: that of each
/// follower is in `addresses`, in the order of their numbers.
pub(crate) fn address(addresses: &[HostAddresses], role: Role) -> Option<IpAddr> {
    match role {
        Role::Leader => addresses.first().map(|addresses| addresses.leader),
        Role::Follower(number) => {
            addresses.get(number as usize).map(|addresses| addresses.follower)
        }
    }
}
