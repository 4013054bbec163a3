//! Followers that this command does not start itself: the source of the connections to their keepers.

use std::{net::IpAddr, os::unix::net::UnixStream, time::Duration};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;

/// Provides a session with followers that are other commands.
pub trait FollowerSource {
    /// True if the followers can be on other hosts, which share neither memory nor a clock with the leader.
    fn is_remote(&self) -> bool;

    /// One connection to the keeper of each follower, in the order of their numbers. Waits up to `time_limit` for
    /// missing ones; `None` if the user interrupts meanwhile.
    ///
    /// # Errors
    /// A follower is missing and none came in time.
    fn keepers(
        &self,
        interrupt: &UnixStream,
        time_limit: Duration,
    ) -> Result<Option<Vec<FollowerKeeper>>, Error>;
}

/// A connection to the keeper of a follower.
pub struct FollowerKeeper {
    /// The socket for [orders](crate::Order) and [reports](crate::KeeperReport).
    pub frames: FrameSocket,
    /// The address at which the follower reaches the leader, if they can be on different hosts. The follower itself
    /// knows its own address.
    pub leader_address: Option<IpAddr>,
}
