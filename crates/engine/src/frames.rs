//! Frames with descriptors between two processes of one machine.

use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use ipcmark_transport::{Error, Rendezvous};
use nix::{
    cmsg_space,
    errno::Errno,
    sys::socket::{
        AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, Shutdown, SockFlag, SockType,
        recvmsg, sendmsg, shutdown, socketpair,
    },
};

use crate::control::scarce;

const MAX_BYTES: usize = 4096;
/// Enough for the workers of one process: sixteen followers with three each, and their leader.
const MAX_FDS: usize = 80;

/// One end of a pair that carries frames of bytes and descriptors.
pub(crate) struct FrameSocket(OwnedFd);

impl FrameSocket {
    /// Two ends, closed on exec.
    pub(crate) fn pair() -> Result<(Self, Self), Error> {
        let kind = (AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
        let (a, b) = socketpair(kind.0, kind.1, None, kind.2)
            .map_err(|e| scarce("make", "a socket pair", e.into()))?;
        Ok((Self(a), Self(b)))
    }

    /// The end behind a descriptor that was inherited or received.
    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Another way to the same end.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        self.0.try_clone().map(Self).map_err(|e| scarce("copy", "a socket", e))
    }

    /// Sends one frame.
    pub(crate) fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        if bytes.len() > MAX_BYTES || fds.len() > MAX_FDS {
            return Err(Error::new("send", "a frame", "it is too long"));
        }
        // A byte in front, for an empty packet looks like the end of the connection.
        let parts = [IoSlice::new(&[0]), IoSlice::new(bytes)];
        let fds: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&fds)];
        let rights = if fds.is_empty() { &[][..] } else { &rights[..] };
        let flags = MsgFlags::MSG_NOSIGNAL;
        match retry(|| sendmsg::<()>(self.0.as_raw_fd(), &parts, rights, flags, None)) {
            Ok(_) => Ok(()),
            Err(Errno::EPIPE | Errno::ECONNRESET) => Err(Error::peer_gone("send", "a frame")),
            Err(e) => Err(Error::os("send", "a frame", e)),
        }
    }

    /// Ends the connection, for whoever has a copy of this end as well.
    pub(crate) fn close(&self) {
        // One that has ended already is as it should be.
        let _ = shutdown(self.0.as_raw_fd(), Shutdown::Both);
    }

    /// Receives one frame, sleeping until it is there.
    pub(crate) fn receive(&self) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        let mut bytes = vec![0; MAX_BYTES + 1];
        let mut space = cmsg_space!([i32; MAX_FDS]);
        let (read, fds) = {
            let mut parts = [IoSliceMut::new(&mut bytes)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let fd = self.0.as_raw_fd();
            let message = loop {
                match recvmsg::<()>(fd, &mut parts, Some(&mut space), flags) {
                    Err(Errno::EINTR) => continue,
                    other => break other,
                }
            };
            let message = match message {
                Err(Errno::ECONNRESET) => return Err(Error::peer_gone("receive", "a frame")),
                message => message.map_err(|e| Error::os("receive", "a frame", e))?,
            };
            let received = message.cmsgs().map_err(|e| Error::os("receive", "descriptors", e))?;
            (message.bytes, received.flat_map(own).collect())
        };
        if read == 0 {
            return Err(Error::peer_gone("receive", "a frame"));
        }
        bytes.truncate(read);
        bytes.remove(0);
        Ok((bytes, fds))
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn own(message: ControlMessageOwned) -> Vec<OwnedFd> {
    let ControlMessageOwned::ScmRights(fds) = message else { return Vec::new() };
    // SAFETY: the kernel has just made these descriptors for this process; nobody else has them.
    fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect()
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => continue,
            other => return other,
        }
    }
}

/// The rendezvous of workers on one machine: a socket to every peer.
pub(crate) struct SocketRendezvous(Vec<FrameSocket>);

impl SocketRendezvous {
    pub(crate) fn new(peers: Vec<FrameSocket>) -> Self {
        Self(peers)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn frames_carry_bytes_and_descriptors_and_an_empty_one_is_no_end() {
        let (a, b) = FrameSocket::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        a.send(b"", &[]).unwrap();
        a.send(b"pipe", &[writer.as_fd()]).unwrap();
        drop((a, writer));
        assert_eq!(b.receive().unwrap().0, b"");
        let (bytes, mut fds) = b.receive().unwrap();
        assert_eq!((bytes.as_slice(), fds.len()), (&b"pipe"[..], 1));
        std::fs::File::from(fds.remove(0)).write_all(b"x").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        assert!(b.receive().is_err(), "the other end is closed");
    }
}
