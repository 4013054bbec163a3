//! How the two processes of a check find each other: one socket a peer, frames with descriptors.

use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    time::Duration,
};

use ipcmark_transport::{Error, Rendezvous};
use nix::{
    cmsg_space,
    errno::Errno,
    sys::{
        socket::{
            AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
            recvmsg, sendmsg, setsockopt, socketpair, sockopt,
        },
        time::TimeVal,
    },
};

/// The longest frame in bytes.
const MAX_FRAME: usize = 4096;
/// The most descriptors in one frame.
const MAX_FDS: usize = 16;
/// Bytes before each frame that say how long it is: without them the record of an empty frame
/// could not be told from the end of the connection.
const PREFIX: usize = 4;

/// A [`Rendezvous`] over connected sockets that keep records apart (`SOCK_SEQPACKET`), one a peer.
///
/// Descriptors that arrive are closed on exec.
pub struct SocketRendezvous {
    sockets: Vec<OwnedFd>,
    timeout: Duration,
}

impl SocketRendezvous {
    /// Over `sockets`, one a peer. A peer that does not answer within `timeout` is an error.
    pub fn new(sockets: Vec<OwnedFd>, timeout: Duration) -> Result<Self, Error> {
        let limit = TimeVal::new(timeout.as_secs() as _, timeout.subsec_micros() as _);
        for socket in &sockets {
            setsockopt(socket, sockopt::ReceiveTimeout, &limit)
                .and_then(|()| setsockopt(socket, sockopt::SendTimeout, &limit))
                .map_err(|errno| Error::os("set the timeout of", "the rendezvous", errno))?;
        }
        Ok(Self { sockets, timeout })
    }

    /// Two connected sockets that fit: one for each end, both closed on exec.
    pub fn sockets() -> Result<(OwnedFd, OwnedFd), Error> {
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
            .map_err(|errno| Error::os("create", "the sockets of the rendezvous", errno))
    }

    /// The socket of a peer, to wait for its next frame beside other things.
    pub fn socket(&self, peer: usize) -> &OwnedFd {
        &self.sockets[peer]
    }

    fn failed(&self, operation: &str, peer: usize, errno: Errno) -> Error {
        let object = format!("peer {peer}");
        match errno {
            Errno::EPIPE | Errno::ECONNRESET => Error::peer_gone(operation, object),
            Errno::EAGAIN => {
                Error::new(operation, object, format!("no answer within {:?}", self.timeout))
            }
            _ => Error::os(operation, object, errno),
        }
    }
}

impl Rendezvous for SocketRendezvous {
    fn peers(&self) -> usize {
        self.sockets.len()
    }

    fn send(&mut self, peer: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        const OPERATION: &str = "send a frame to";
        if bytes.len() > MAX_FRAME || fds.len() > MAX_FDS {
            let cause = format!(
                "{} bytes and {} descriptors, at most {MAX_FRAME} and {MAX_FDS} go into one",
                bytes.len(),
                fds.len()
            );
            return Err(Error::new(OPERATION, format!("peer {peer}"), cause));
        }
        let socket = self.sockets[peer].as_raw_fd();
        send_record(socket, bytes, fds).map_err(|errno| self.failed(OPERATION, peer, errno))
    }

    fn receive(&mut self, peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        const OPERATION: &str = "receive a frame of";
        let socket = self.sockets[peer].as_raw_fd();
        let (record, fds) =
            receive_record(socket).map_err(|errno| self.failed(OPERATION, peer, errno))?;
        match record.split_first_chunk::<PREFIX>() {
            None => Err(Error::peer_gone(OPERATION, format!("peer {peer}"))),
            Some((prefix, bytes)) if u32::from_ne_bytes(*prefix) as usize == bytes.len() => {
                Ok((bytes.to_vec(), fds))
            }
            Some(_) => Err(Error::new(OPERATION, format!("peer {peer}"), "it came cut off")),
        }
    }
}

fn send_record(socket: RawFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let prefix = (bytes.len() as u32).to_ne_bytes();
    let parts = [IoSlice::new(&prefix), IoSlice::new(bytes)];
    let fds: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let rights = if fds.is_empty() { &rights[..0] } else { &rights[..] };
    // A record is sent whole or not at all.
    retry(|| sendmsg::<()>(socket, &parts, rights, MsgFlags::MSG_NOSIGNAL, None)).map(drop)
}

fn receive_record(socket: RawFd) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    let mut record = vec![0; PREFIX + MAX_FRAME];
    let mut space = cmsg_space!([RawFd; MAX_FDS]);
    let mut fds = Vec::new();
    let len = retry(|| {
        let mut parts = [IoSliceMut::new(&mut record)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(socket, &mut parts, Some(&mut space), flags)?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: the kernel has just made these descriptors for this process, and nothing
                // else knows them.
                fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        Ok(message.bytes)
    })?;
    record.truncate(len);
    Ok((record, fds))
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read, os::fd::AsFd};

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;

    fn pair(timeout: Duration) -> (SocketRendezvous, SocketRendezvous) {
        let (one, other) = SocketRendezvous::sockets().unwrap();
        let end = |socket| SocketRendezvous::new(vec![socket], timeout).unwrap();
        (end(one), end(other))
    }

    #[test]
    fn frames_arrive_in_order_and_an_empty_one_is_not_the_end() {
        let (mut one, mut other) = pair(Duration::from_secs(5));
        for frame in [&b""[..], b"second", &[7; MAX_FRAME]] {
            one.send(0, frame, &[]).unwrap();
        }
        assert_eq!(other.receive(0).unwrap().0, b"");
        assert_eq!(other.receive(0).unwrap().0, b"second");
        assert_eq!(other.receive(0).unwrap().0, [7; MAX_FRAME]);
        drop(one);
        let error = other.receive(0).unwrap_err();
        assert!(error.to_string().contains("closed its end"), "{error}");
    }

    #[test]
    fn descriptors_arrive_and_are_closed_on_exec() {
        let (mut one, mut other) = pair(Duration::from_secs(5));
        let zero = File::open("/dev/zero").unwrap();
        one.send(0, b"zero", &[zero.as_fd(); MAX_FDS]).unwrap();
        let (_, fds) = other.receive(0).unwrap();
        assert_eq!(fds.len(), MAX_FDS);
        for fd in fds {
            let flags = FdFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFD).unwrap());
            assert!(flags.contains(FdFlag::FD_CLOEXEC));
            let mut byte = [1];
            File::from(fd).read_exact(&mut byte).unwrap();
            assert_eq!(byte, [0]);
        }
    }

    #[test]
    fn what_is_too_much_for_a_frame_is_refused() {
        let (mut one, _other) = pair(Duration::from_secs(5));
        assert!(one.send(0, &[0; MAX_FRAME + 1], &[]).is_err());
        let zero = File::open("/dev/zero").unwrap();
        assert!(one.send(0, b"", &[zero.as_fd(); MAX_FDS + 1]).is_err());
    }

    #[test]
    fn a_peer_that_says_nothing_is_an_error() {
        let (_one, mut other) = pair(Duration::from_millis(20));
        let error = other.receive(0).unwrap_err();
        assert!(error.to_string().contains("no answer within 20ms"), "{error}");
    }
}
