//! The exchange between the ends of a transport while they open.

use std::os::fd::{BorrowedFd, OwnedFd};

use crate::Error;

/// The longest frame in bytes.
pub const MAX_FRAME_BYTES: usize = 4096;

/// The most descriptors in one frame. The engine needs 66 for a leader: a socket for each of 64 followers, and two more.
pub const MAX_FRAME_FDS: usize = 80;

/// A channel to the other ends that exists before the transport does.
///
/// The leader has one peer for each follower, numbered from 0; a follower has one, the leader, with
/// the number 0. Frames arrive in order. Receiving sleeps until a frame arrives; a peer that is
/// gone, or that does not answer within the case's deadline, is an error.
pub trait Rendezvous {
    /// The number of peers.
    fn peers(&self) -> usize;

    /// Sends a frame of at most [`MAX_FRAME_BYTES`] and [`MAX_FRAME_FDS`] descriptors to a peer. Fails where
    /// descriptors are sent and the peer is on another host.
    fn send(&mut self, peer: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error>;

    /// Receives the next frame of a peer.
    fn receive(&mut self, peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error>;
}

impl dyn Rendezvous + '_ {
    /// Waits until every peer has reached the same point: sends an empty frame to each and receives
    /// one from each.
    pub fn meet(&mut self) -> Result<(), Error> {
        for peer in 0..self.peers() {
            self.send(peer, b"", &[])?;
        }
        for peer in 0..self.peers() {
            self.receive(peer)?;
        }
        Ok(())
    }
}
