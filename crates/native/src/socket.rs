//! One socket for both directions, shared by the transports over sockets.

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
    /// The most bytes that one call sends.
    pub part: usize,
    /// True if closing the socket does not notify the other end, so that an empty packet must.
    pub sends_close_packet: bool,
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
        if self.sends_close_packet {
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            let _ = send(self.fd.as_raw_fd(), &[], flags);
        }
    }
}

/// The sizes of a socket's buffers, as the system reports them: including its own bookkeeping, so twice
/// the requested size.
pub fn buffers(socket: &impl AsFd) -> BTreeMap<String, String> {
    let bytes = |size: Result<usize, Errno>| size.ok().map(|size| format!("{size} bytes"));
    let sizes = [
        ("send buffer", bytes(getsockopt(socket, sockopt::SndBuf))),
        ("receive buffer", bytes(getsockopt(socket, sockopt::RcvBuf))),
    ];
    sizes.into_iter().filter_map(|(key, size)| Some((key.to_owned(), size?))).collect()
}

/// Lets the socket hold `bytes` of outgoing data, if the system allows this user so much.
pub fn fit_send_buffer(socket: impl AsFd, bytes: usize) {
    fit(&socket, bytes, sockopt::SndBuf, sockopt::SndBufForce);
}

/// Lets the socket hold `bytes` of incoming data, if the system allows this user so much.
pub fn fit_receive_buffer(socket: impl AsFd, bytes: usize) {
    fit(&socket, bytes, sockopt::RcvBuf, sockopt::RcvBufForce);
}

/// Enlarges a buffer. The system doubles the requested size for its own bookkeeping, and reports the double.
/// It silently reduces a size above its limit; a user who may exceed the limit tries that first.
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

/// Sets both buffers to the sizes in the options.
pub fn set_buffers(socket: impl AsFd, settings: &Settings) {
    if let Some(bytes) = settings.number(SEND_BUFFER.key.as_ref()) {
        set(&socket, bytes as usize, sockopt::SndBuf, sockopt::SndBufForce);
    }
    if let Some(bytes) = settings.number(RECEIVE_BUFFER.key.as_ref()) {
        set(&socket, bytes as usize, sockopt::RcvBuf, sockopt::RcvBufForce);
    }
}

/// The size of a socket's send buffer.
pub const SEND_BUFFER: OptionSpec = OptionSpec::new(
    "send-buffer",
    "4k..64M",
    "a whole message, or what the kernel chooses",
    "bytes on their way out that the socket holds (SO_SNDBUF)",
);

/// The size of a socket's receive buffer. A window smaller than a segment of the loopback interface
/// (64 KiB) would make TCP wait for its timer with every message.
pub const RECEIVE_BUFFER: OptionSpec = OptionSpec::new(
    "receive-buffer",
    "64k..64M",
    "a whole message, or what the kernel chooses",
    "bytes come in that the socket holds (SO_RCVBUF)",
);
