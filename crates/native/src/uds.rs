//! Pairs of Unix domain sockets, shared by `uds-stream`, `uds-seqpacket` and `uds-dgram`.

use std::os::fd::{AsFd, OwnedFd};

use ipcmark_transport::{BUFFERS, Error, OptionSpec, Rendezvous, Settings};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, getsockopt, socketpair, sockopt::SndBuf,
};

use crate::{
    descriptors::{self, set_wait},
    frame::HEAD,
    socket::{SEND_BUFFER, fit_send_buffer, set_buffers},
};

/// The largest packet that is sent. The kernel holds 16 KiB of a packet in one contiguous piece and 17
/// more pages; a larger packet needs a larger contiguous piece, which may be unavailable on a machine
/// that has run for long (ENOBUFS).
const MAX_PACKET: usize = 64 << 10;

/// The kernel's overhead in the send buffer for a packet.
const PACKET_OVERHEAD: usize = 64;

/// The options.
pub static OPTIONS: [OptionSpec; 2] = [SEND_BUFFER, BUFFERS];

/// Creates the pair in the leader and sends one socket to the follower.
pub fn pair(
    kind: SockType,
    settings: &Settings,
    peers: &mut dyn Rendezvous,
    object: &str,
) -> Result<OwnedFd, Error> {
    let own = if settings.role.is_leader() {
        let (own, theirs) =
            make(kind, settings).map_err(|errno| Error::os("create", object, errno))?;
        peers.send(0, b"socket", &[theirs.as_fd()])?;
        own
    } else {
        let [own] = descriptors::receive(peers, object)?;
        own
    };
    set_wait(own.as_fd(), settings.wait, object)?;
    Ok(own)
}

/// Creates the pair. Between Unix sockets, only the sender's buffer counts.
fn make(kind: SockType, settings: &Settings) -> nix::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)?;
    for socket in [&pair.0, &pair.1] {
        fit_send_buffer(socket, settings.payload + HEAD);
        set_buffers(socket, settings);
    }
    Ok(pair)
}

/// The largest packet that passes through this socket.
pub fn packet(socket: impl AsFd) -> usize {
    let room = getsockopt(&socket, SndBuf).unwrap_or(MAX_PACKET);
    room.saturating_sub(PACKET_OVERHEAD).clamp(HEAD, MAX_PACKET)
}
