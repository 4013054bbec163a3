//! `uds-stream`: a pair of Unix domain stream sockets.
//!
//! - Mechanism: `send` and `recv` on one end of a socket pair; each direction has its own queue.
//! - Kernel objects: a socket pair; the leader creates it and sends the follower one end.
//! - Copies per message: two, into the kernel's buffers and out of them.
//! - Spin: the descriptor does not block; an empty or full queue returns EAGAIN. Block: `recv` and
//!   `send` sleep.
//! - Limits: bytes in flight count against the sender's buffer (about 208 KiB). It is enlarged to one
//!   message if the system allows it (net.core.wmem_max, or more with CAP_NET_ADMIN), so that a writer
//!   waits seldom; a message that does not fit passes in several parts.

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Error, Rendezvous, Settings, Transport,
};
use nix::sys::socket::SockType;

use crate::{frame::Framed, socket::Socket, uds};

const OBJECT: &str = "the Unix stream socket";

/// The transport.
pub struct UdsStream;

impl Transport for UdsStream {
    const CYCLES: bool = true;
    type Endpoint = Framed<Socket>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let fd = uds::pair(SockType::Stream, settings, peers, OBJECT)?;
        let link = Socket { part: usize::MAX, fd, sends_close_packet: false };
        Framed::new(link, OBJECT, settings)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("uds-stream"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("Unix domain stream sockets; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&uds::OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `uds-stream` in the list of transports.
pub const TRANSPORT: UdsStream = UdsStream;

#[cfg(test)]
mod tests {
    crate::testing::queue::reliable_queue!(super::TRANSPORT);
}
