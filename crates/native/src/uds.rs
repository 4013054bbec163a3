//! Pairs of Unix domain sockets: what `uds-stream`, `uds-seqpacket` and `uds-dgram` share.

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

/// The largest packet that is sent. The kernel holds 16 KiB of a packet in one piece and 17 pages
/// beside it; what is larger needs a larger piece in one, which it may not find on a machine that
/// has run for long (ENOBUFS).
const MAX_PACKET: usize = 64 << 10;

/// What the kernel counts of the send buffer for itself in a packet.
const PACKET_OVERHEAD: usize = 64;

/// What users can set.
pub static OPTIONS: [OptionSpec; 2] = [SEND_BUFFER, BUFFERS];

/// Makes the pair in the leader and hands one socket to the follower.
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

/// Between Unix sockets the sender's buffer alone counts.
fn make(kind: SockType, settings: &Settings) -> nix::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)?;
    for socket in [&pair.0, &pair.1] {
        fit_send_buffer(socket, settings.payload + HEAD);
        set_buffers(socket, settings);
    }
    Ok(pair)
}

/// The largest packet that goes through this socket.
pub fn packet(socket: impl AsFd) -> usize {
    let room = getsockopt(&socket, SndBuf).unwrap_or(MAX_PACKET);
    room.saturating_sub(PACKET_OVERHEAD).clamp(HEAD, MAX_PACKET)
}
