//! `udp`: datagrams over the loopback interface; a lost message stays lost.
//!
//! - Mechanism: `send` and `recv` on connected UDP sockets.
//! - Kernel objects: two sockets at each end: one for messages, one for credits.
//! - Copies per message: two, into the kernel's buffers and out of them.
//! - Spin: the descriptors do not block. Block: `recv` sleeps at most 5 ms, or twice that with a
//!   coarse kernel clock, so that no end waits forever for a lost message.
//! - Limits: a datagram has at most 65507 bytes: messages are split into parts, and a message with a
//!   missing part is never delivered. The receive buffer is enlarged to hold a whole message if the
//!   system allows it (net.core.rmem_max, or more with CAP_NET_ADMIN). Of a message larger than the
//!   granted buffer, the sender sends one window and continues as the receiver reports its progress;
//!   it drops the message after about 200 ms without a report.

mod part;
mod receiver;
mod sender;
mod sockets;

use std::borrow::Cow;

use ipcmark_transport::{
    BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Endpoint, Error, OptionSpec,
    Rendezvous, Settings, Step, Transport,
};
use nix::sys::socket::{getsockopt, sockopt::RcvBuf};
use receiver::Receiver;
use sender::Sender;
use sockets::{OBJECT, Sockets};

use crate::socket::{RECEIVE_BUFFER, SEND_BUFFER, fit_receive_buffer, set_buffers};

/// The options.
static OPTIONS: [OptionSpec; 3] = [SEND_BUFFER, RECEIVE_BUFFER, BUFFERS];

/// The transport.
pub struct Udp {
    /// The largest receive buffer that is requested.
    buffer: usize,
}

impl Transport for Udp {
    const CYCLES: bool = true;
    const CAN_LOSE: bool = true;
    type Endpoint = UdpEndpoint;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<UdpEndpoint, Error> {
        let sockets = Sockets::bind(settings.own_address())
            .map_err(|error| Error::os("bind", OBJECT, error))?;
        set_buffers(&sockets.data, settings);
        if settings.number("receive-buffer").is_none() {
            fit_receive_buffer(&sockets.data, part::buffer(settings.payload).min(self.buffer));
        }
        let granted = getsockopt(&sockets.data, RcvBuf)
            .map_err(|errno| Error::os("measure", OBJECT, errno))?;
        let window = part::window(granted);
        let other = sockets.exchange(window, peers)?;
        sockets
            .connect(&other, settings.wait)
            .map_err(|error| Error::os("connect", OBJECT, error))?;
        peers.meet()?;
        Ok(UdpEndpoint {
            sender: Sender::new(settings, other.window)?,
            receiver: Receiver::new(settings, window)?,
            sockets,
        })
    }
}

/// One end.
pub struct UdpEndpoint {
    sockets: Sockets,
    sender: Sender,
    receiver: Receiver,
}

impl Endpoint for UdpEndpoint {
    #[inline(always)]
    fn pause(&self) {}

    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.sender.len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        self.sender.room()
    }

    #[inline]
    fn publish(&mut self) -> Result<Step, Error> {
        self.sender.publish(&self.sockets)
    }

    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        self.receiver.take(&self.sockets)
    }

    #[inline]
    fn message(&self) -> &[u8] {
        self.receiver.message()
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.receiver.release();
        Ok(())
    }

    fn next_source(&mut self) {
        self.sender.next();
    }

    fn next_target(&mut self) {
        self.receiver.next();
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("udp"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("UDP datagrams, losses counted; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Network),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: {
        let mut capabilities = Capabilities::usual();
        capabilities.crosses_hosts = true;
        capabilities.reliable = false;
        capabilities
    },
};

/// The entry of `udp` in the list of transports.
pub const TRANSPORT: Udp = Udp { buffer: usize::MAX };

#[cfg(test)]
mod tests;
