//! `scm-rights`: one sealed memory file per message, handed over by its descriptor.
//!
//! - Mechanism: the sender creates a memory file, writes the message into it, seals it and sends its descriptor over a
//!   Unix packet socket (`SCM_RIGHTS`); the receiver checks the seals and the size, reads or maps the file, and closes
//!   it.
//! - Kernel objects: a socket pair; a nameless memory file (`memfd_create`) for each message in flight.
//! - Copies per message: two, into the file and out of it; a receiver that maps the file saves the second.
//! - Spin: the descriptor does not block; an empty or full queue returns EAGAIN. Block: `recvmsg` and `sendmsg` sleep.
//! - Limits: descriptors in flight count against `ulimit -n` of the user; messages in flight against memory.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsRawFd, OwnedFd},
};

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, OptionSpec, Rendezvous,
    Settings, Step, Transport, Wait,
};
use nix::sys::socket::{SockType, setsockopt, sockopt::SndBuf};

use crate::{buffer::Buffer, frame::refused, shared, socket, uds};

mod file;
mod packet;

use file::MappedMessage;

const OBJECT: &str = "the Unix packet socket";

/// Above this size, the socket gets the smallest possible buffer: the memory of the messages does not count in it.
const LARGE: usize = 64 << 10;

/// The options.
static OPTIONS: [OptionSpec; 2] = [
    OptionSpec::new(
        "receive",
        "read|map",
        "read",
        "how a receiver gets at a message: it reads the file into a buffer of its own, or maps it",
    ),
    OptionSpec::new(
        "send-buffer",
        "4k..64M",
        "what the kernel chooses; for messages above 64 KiB the least, which is a few of them",
        "bytes of descriptors on their way that the socket holds (SO_SNDBUF)",
    ),
];

/// The transport.
pub struct ScmRights;

/// One end.
pub struct ScmRightsEndpoint {
    socket: OwnedFd,
    outgoing: Buffer,
    /// Length of the message on loan.
    len: usize,
    /// The file of that message, from its creation until the socket has accepted it.
    ready: Option<OwnedFd>,
    /// True if messages are mapped rather than read.
    maps: bool,
    incoming: Buffer,
    /// The taken message, if it is mapped.
    mapped: Option<MappedMessage>,
    taken: usize,
    payload: usize,
}

impl Transport for ScmRights {
    type Endpoint = ScmRightsEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<ScmRightsEndpoint, Error> {
        // Only a descriptor passes through the socket, independent of the message's length.
        let small = Settings { payload: packet::BYTES, ..settings.clone() };
        let socket = uds::pair(SockType::SeqPacket, &small, peers, OBJECT)?;
        let payload = settings.payload;
        if payload > LARGE && settings.number("send-buffer").is_none() {
            // The kernel raises it to the minimum that it allows.
            let _ = setsockopt(&socket, SndBuf, &1);
        }
        peers.meet()?;
        Ok(ScmRightsEndpoint {
            socket,
            outgoing: Buffer::new(payload),
            len: 0,
            ready: None,
            maps: settings.is_set_to("receive", "map"),
            incoming: Buffer::new(payload),
            mapped: None,
            taken: 0,
            payload,
        })
    }
}

impl Endpoint for ScmRightsEndpoint {
    #[inline(always)]
    fn pause(&self) {}

    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.outgoing[..self.len]
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        let file = match self.ready.take() {
            Some(file) => file,
            None => file::make(&self.outgoing[..self.len])?,
        };
        match packet::send(self.socket.as_raw_fd(), self.len, file.as_raw_fd()) {
            Ok(()) => Ok(Step::Done),
            Err(errno) => {
                self.ready = Some(file);
                packet::not_sent(errno, OBJECT)
            }
        }
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let (len, file) = match packet::receive(self.socket.as_raw_fd()) {
            Ok(Some(received)) => received,
            Ok(None) => return Err(Error::peer_gone("read from", OBJECT)),
            Err(errno) => return refused(errno, "read from", OBJECT),
        };
        let len = usize::try_from(len).ok().filter(|len| shared::is_length(*len, self.payload));
        let (Some(len), Some(file)) = (len, file) else { return Err(file::foreign("a length")) };
        file::check(&file, len)?;
        self.taken = len;
        if self.maps {
            self.mapped = Some(MappedMessage::new(&file, len)?);
        } else {
            file::read(&file, &mut self.incoming[..len])?;
        }
        Ok(Step::Done)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        self.mapped.as_deref().unwrap_or(&self.incoming[..self.taken])
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.mapped = None;
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        socket::buffers(&self.socket)
    }

    fn parts_per_message(&self) -> Option<f64> {
        Some(1.0)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("scm-rights"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed(
        "one sealed memory file a message, its descriptor over a Unix socket; two copies",
    ),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::waiting(&[Wait::Spin, Wait::Block]),
};

/// The entry of `scm-rights` in the list of transports.
pub const TRANSPORT: ScmRights = ScmRights;

#[cfg(test)]
mod tests;
