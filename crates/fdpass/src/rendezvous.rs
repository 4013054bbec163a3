//! The rendezvous of endpoints on one machine: a frame socket to each peer.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    time::Duration,
};

use ipcmark_transport::{Error, Rendezvous};

use crate::FrameSocket;

/// A [`Rendezvous`] over one [`FrameSocket`] per peer.
#[derive(Debug)]
pub struct SocketRendezvous(Vec<FrameSocket>);

impl SocketRendezvous {
    /// A rendezvous over these sockets, in the order of the peers.
    pub fn new(peers: Vec<FrameSocket>) -> Self {
        Self(peers)
    }

    /// Two rendezvous with one peer each, connected to each other.
    ///
    /// # Errors
    /// The system is out of descriptors or memory.
    pub fn pair() -> Result<(Self, Self), Error> {
        let (one, other) = FrameSocket::pair()?;
        Ok((Self(vec![one]), Self(vec![other])))
    }

    /// Duplicates the sockets: each frame goes to the first duplicate that receives.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub fn try_clone(&self) -> Result<Self, Error> {
        self.0.iter().map(FrameSocket::try_clone).collect::<Result<_, _>>().map(Self)
    }

    /// Makes a peer that stays silent for `limit` an error; zero lifts the limit.
    ///
    /// # Errors
    /// A descriptor is not a socket.
    pub fn set_timeout(&self, limit: Duration) -> Result<(), Error> {
        self.0.iter().try_for_each(|socket| socket.set_timeout(limit))
    }

    /// The socket of a peer, to wait for its next frame together with other events.
    pub fn socket(&self, peer: usize) -> &FrameSocket {
        &self.0[peer]
    }
}

impl Rendezvous for SocketRendezvous {
    fn peers(&self) -> usize {
        self.0.len()
    }

    fn send(&mut self, peer: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.0[peer].send(bytes, fds)
    }

    fn receive(&mut self, peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        self.0[peer].receive()
    }
}
