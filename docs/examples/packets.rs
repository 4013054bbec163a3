//! `packets`: a transport to learn from, the same in Rust as `packets.c` is in C.
//!
//! - Mechanism: a pair of Unix domain sockets that keep packets apart, one packet a message.
//! - Kernel objects: the pair; the leader makes it and hands the follower one socket.
//! - Copies a message: two, into the kernel and out of it.
//! - Spin: the calls do not wait, an empty or full queue answers EAGAIN. Block: they sleep.
//! - Limits: 64 KiB a message, for larger packets need kernel memory in one large piece.

use std::{
    borrow::Cow,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, Rendezvous, Settings,
    Step, Transport, Wait,
};
use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair},
};

const LARGEST: usize = 64 << 10;
const OBJECT: &str = "the socket";

/// The transport.
pub struct Packets;

/// One end.
pub struct PacketsEnd {
    socket: OwnedFd,
    /// `MSG_DONTWAIT` where the end polls.
    flags: MsgFlags,
    /// Room for the message on loan.
    room: Vec<u8>,
    room_len: usize,
    /// The message taken.
    message: Vec<u8>,
    message_len: usize,
}

impl Transport for Packets {
    type Endpoint = PacketsEnd;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<PacketsEnd, Error> {
        let socket = if settings.role.is_leader() { lead(peers)? } else { follow(peers)? };
        let polls = settings.wait == Wait::Spin;
        Ok(PacketsEnd {
            socket,
            flags: if polls { MsgFlags::MSG_DONTWAIT } else { MsgFlags::empty() },
            room: touched(settings.payload),
            room_len: 0,
            message: touched(LARGEST),
            message_len: 0,
        })
    }
}

/// The leader makes the pair and keeps one socket; descriptors travel through the rendezvous.
fn lead(peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let kind = (AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
    let (own, theirs) = socketpair(kind.0, kind.1, None, kind.2)
        .map_err(|errno| Error::os("create", OBJECT, errno).remedy("ulimit -n 1024"))?;
    peers.send(0, b"socket", &[theirs.as_fd()])?;
    Ok(own)
}

fn follow(peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let (_, mut fds) = peers.receive(0)?;
    fds.pop().ok_or_else(|| Error::new("receive", OBJECT, "no descriptor came"))
}

/// Memory whose pages are there before the measurement begins.
fn touched(len: usize) -> Vec<u8> {
    let mut bytes = vec![1; len];
    bytes.fill(0);
    bytes
}

impl Endpoint for PacketsEnd {
    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.room_len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.room[..self.room_len]
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        let flags = self.flags | MsgFlags::MSG_NOSIGNAL;
        match send(self.socket.as_raw_fd(), &self.room[..self.room_len], flags) {
            Ok(_) => Ok(Step::Done),
            Err(errno) => explain(errno, "write to"),
        }
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        match recv(self.socket.as_raw_fd(), &mut self.message, self.flags) {
            Ok(0) => Err(Error::peer_gone("read from", OBJECT)),
            Ok(len) => {
                self.message_len = len;
                Ok(Step::Done)
            }
            Err(errno) => explain(errno, "read from"),
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        &self.message[..self.message_len]
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// What a failed call means: nothing yet, the other process gone, or an error.
fn explain(errno: Errno, operation: &str) -> Result<Step, Error> {
    match errno {
        Errno::EAGAIN | Errno::EINTR => Ok(Step::WouldBlock),
        Errno::EPIPE | Errno::ECONNRESET => Err(Error::peer_gone(operation, OBJECT)),
        errno => Err(Error::os(operation, OBJECT, errno)),
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("packets"),
    family: Cow::Borrowed("example"),
    summary: Cow::Borrowed("packet sockets in Rust, to learn from; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&[]),
    capabilities: {
        let mut capabilities = Capabilities::usual();
        capabilities.max_payload = LARGEST;
        capabilities
    },
};

/// `packets`, as it stands in the list.
pub const TRANSPORT: Packets = Packets;
