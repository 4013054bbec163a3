//! One socket for both directions: what the transports over sockets share.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use ipcmark_transport::{OptionSpec, Settings};
use nix::{
    errno::Errno,
    sys::socket::{GetSockOpt, MsgFlags, SetSockOpt, getsockopt, recv, send, setsockopt, sockopt},
};

use crate::frame::Link;

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

    fn configuration(&self) -> BTreeMap<String, String> {
        buffers(&self.fd)
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

/// What a socket's buffers hold, as the system counts it: with its own bookkeeping, so twice as much
/// as was asked for.
pub fn buffers(socket: &impl AsFd) -> BTreeMap<String, String> {
    let bytes = |size: Result<usize, Errno>| size.ok().map(|size| format!("{size} bytes"));
    let sizes = [
        ("send buffer", bytes(getsockopt(socket, sockopt::SndBuf))),
        ("receive buffer", bytes(getsockopt(socket, sockopt::RcvBuf))),
    ];
    sizes.into_iter().filter_map(|(key, size)| Some((key.to_owned(), size?))).collect()
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
    let enough = getsockopt(socket, normal).is_ok_and(|now| now / 2 >= bytes);
    if !enough {
        set(socket, bytes, normal, force);
    }
}

fn set<N, F>(socket: &impl AsFd, bytes: usize, normal: N, force: F)
where
    N: SetSockOpt<Val = usize>,
    F: SetSockOpt<Val = usize>,
{
    if setsockopt(socket, force, &bytes).is_err() {
        let _ = setsockopt(socket, normal, &bytes);
    }
}

/// Sets both buffers to what the user wants of them.
pub fn set_buffers(socket: impl AsFd, settings: &Settings) {
    if let Some(bytes) = settings.number(SEND_BUFFER.key.as_ref()) {
        set(&socket, bytes as usize, sockopt::SndBuf, sockopt::SndBufForce);
    }
    if let Some(bytes) = settings.number(RECEIVE_BUFFER.key.as_ref()) {
        set(&socket, bytes as usize, sockopt::RcvBuf, sockopt::RcvBufForce);
    }
}

/// What a socket holds on its way out.
pub const SEND_BUFFER: OptionSpec = OptionSpec::new(
    "send-buffer",
    "4k..64M",
    "a whole message, or what the kernel chooses",
    "bytes on their way out that the socket holds (SO_SNDBUF)",
);

/// What a socket holds that has come in. A window smaller than a segment of the loopback interface,
/// of 64 KiB, would make TCP wait for its timer with every message.
pub const RECEIVE_BUFFER: OptionSpec = OptionSpec::new(
    "receive-buffer",
    "64k..64M",
    "a whole message, or what the kernel chooses",
    "bytes come in that the socket holds (SO_RCVBUF)",
);
