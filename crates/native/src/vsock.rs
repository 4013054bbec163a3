//! `vsock`: a connection of sockets for virtual machines and their hosts, within this machine.
//!
//! - Mechanism: `send` and `recv` on one connection to VMADDR_CID_LOCAL, through the kernel's loopback transport.
//! - Kernel objects: a connection. The leader listens on a free port until the follower has connected.
//! - Copies per message: two, into the kernel's packets of at most 64 KiB and out of them. A thread of the kernel moves
//!   each packet from one end to the other.
//! - Spin: the descriptor does not block, an empty or full queue answers EAGAIN. Block: `recv` and `send` sleep.
//! - Limits: what is on its way counts against the receiver's buffer (256 KiB). It is enlarged to one message, which
//!   needs no privileges, so that a writer waits seldom; what does not fit goes through in several turns.

mod buffer;
mod support;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsFd, AsRawFd},
};

use ipcmark_transport::{
    Availability, BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec,
    Rendezvous, Settings, Transport,
};
use nix::{errno::Errno, sys::socket::VsockAddr};

use crate::{
    connection::{self, Address},
    descriptors::set_wait,
    frame::{Framed, Link},
    socket::Socket,
};

const OBJECT: &str = "the vsock connection";

/// The options.
static OPTIONS: [OptionSpec; 2] = [buffer::BUFFER, BUFFERS];

/// The transport.
pub struct Vsock;

/// A connected socket, whose buffer is of another kind than that of others.
pub struct VsockStream(Socket);

impl Link for VsockStream {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        self.0.write(frame, from)
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        self.0.read(frame, from)
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        buffer::configuration(self.0.fd.as_raw_fd())
    }
}

impl Address for VsockAddr {
    fn text(&self) -> String {
        format!("{}:{}", self.cid(), self.port())
    }

    fn parse(text: &str) -> Option<Self> {
        let (cid, port) = text.split_once(':')?;
        Some(VsockAddr::new(cid.parse().ok()?, port.parse().ok()?))
    }
}

impl Transport for Vsock {
    const CYCLES: bool = true;
    type Endpoint = Framed<VsockStream>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        support::probe()
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let fd = if settings.role.is_leader() {
            connection::lead(support::own_address(), peers, OBJECT)?
        } else {
            connection::follow::<VsockAddr>(settings.deadline(), peers, OBJECT)?
        };
        buffer::set(fd.as_raw_fd(), settings)?;
        set_wait(fd.as_fd(), settings.wait, OBJECT)?;
        let link = VsockStream(Socket { fd, part: usize::MAX, sends_close_packet: false });
        Framed::new(link, OBJECT, settings)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("vsock"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("a vsock connection within this machine; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// `vsock`, as it stands in the list.
pub const TRANSPORT: Vsock = Vsock;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lacks, queue};

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        let address = VsockAddr::new(libc::VMADDR_CID_LOCAL, 1024);
        assert_eq!(
            (address.text().as_str(), VsockAddr::parse("1:1024")),
            ("1:1024", Some(address))
        );
        for text in ["", "1", "1:", ":1", "-1:7", "1:x"] {
            assert_eq!(VsockAddr::parse(text), None, "{text}");
        }
    }

    #[test]
    fn it_is_a_reliable_queue_if_the_kernel_supports_it() {
        if lacks(TRANSPORT.probe()) {
            return;
        }
        for wait in [ipcmark_transport::Wait::Spin, ipcmark_transport::Wait::Block] {
            queue::exchange(&TRANSPORT, wait);
            queue::close_one_end(&TRANSPORT, wait);
        }
        for payload in [16, 64, 5000, 100_000] {
            queue::fill_and_drain(&TRANSPORT, payload);
        }
    }
}
