//! `uds-seqpacket`: a pair of Unix domain sockets with packet boundaries.
//!
//! - Mechanism: `send` and `recv` of whole packets on one end of a socket pair; each direction has
//!   its own queue, connected and in order.
//! - Kernel objects: a socket pair; the leader creates it and sends the follower one end.
//! - Copies per message: two, into the kernel's buffers and out of them.
//! - Spin: the descriptor does not block; an empty or full queue returns EAGAIN. Block: `recv` and
//!   `send` sleep.
//! - Limits: a packet must fit the sender's buffer and, from 84 KiB on, needs kernel memory in one
//!   large piece. So messages are split into packets of 64 KiB. The buffer is enlarged to one message
//!   if the system allows it (net.core.wmem_max, or more with CAP_NET_ADMIN).

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Error, Rendezvous, Settings, Transport,
};
use nix::sys::socket::SockType;

use crate::{frame::Framed, socket::Socket, uds};

const OBJECT: &str = "the Unix packet socket";

/// The transport.
pub struct UdsSeqpacket;

impl Transport for UdsSeqpacket {
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
        let fd = uds::pair(SockType::SeqPacket, settings, peers, OBJECT)?;
        let link = Socket { part: uds::packet(&fd), fd, sends_close_packet: false };
        Framed::new(link, OBJECT, settings)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("uds-seqpacket"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("Unix domain sockets with packet boundaries; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&uds::OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `uds-seqpacket` in the list of transports.
pub const TRANSPORT: UdsSeqpacket = UdsSeqpacket;

#[cfg(test)]
mod tests {
    crate::testing::queue::reliable_queue!(super::TRANSPORT);
}
