//! One socket for both directions: what the transports over sockets share.

use std::{
    net::{IpAddr, Ipv4Addr},
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use nix::{
    errno::Errno,
    sys::socket::{GetSockOpt, MsgFlags, SetSockOpt, recv, send, setsockopt, sockopt},
};

use crate::frame::Link;

/// Where the leader listens, and from where both ends send: the one place where it is chosen.
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A connected socket.
pub struct Socket {
    /// The descriptor.
    pub fd: OwnedFd,
    /// The most bytes that go out with one call.
    pub part: usize,
    /// Whether closing the socket does not tell the other end, so that an empty packet must.
    pub farewell: bool,
}

impl Link for Socket {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let to = frame.len().min(from.saturating_add(self.part));
        send(self.fd.as_raw_fd(), &frame[from..to], MsgFlags::MSG_NOSIGNAL)
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        recv(self.fd.as_raw_fd(), &mut frame[from..], MsgFlags::empty())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.farewell {
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            let _ = send(self.fd.as_raw_fd(), &[], flags);
        }
    }
}

/// Lets the socket hold `bytes` on their way out, as far as the system allows it to this user.
pub fn fit_send_buffer(socket: impl AsFd, bytes: usize) {
    fit(&socket, bytes, sockopt::SndBuf, sockopt::SndBufForce);
}

/// Lets the socket hold `bytes` that have come in, as far as the system allows it to this user.
pub fn fit_receive_buffer(socket: impl AsFd, bytes: usize) {
    fit(&socket, bytes, sockopt::RcvBuf, sockopt::RcvBufForce);
}

/// The system doubles what is asked for, for its own bookkeeping, and reports the double. It cuts
/// what is too much without saying so; who may exceed its limit tries that first.
fn fit<N, F>(socket: &impl AsFd, bytes: usize, normal: N, force: F)
where
    N: SetSockOpt<Val = usize> + GetSockOpt<Val = usize> + Copy,
    F: SetSockOpt<Val = usize>,
{
    let enough = nix::sys::socket::getsockopt(socket, normal).is_ok_and(|now| now / 2 >= bytes);
    if !enough && setsockopt(socket, force, &bytes).is_err() {
        let _ = setsockopt(socket, normal, &bytes);
    }
}
