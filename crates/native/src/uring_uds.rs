//! `uring-uds`: a pair of Unix domain stream sockets, through io_uring.
//!
//! - Mechanism: `IORING_OP_SEND` and `IORING_OP_RECV` on one end of a socket pair that is registered with the ring.
//! - Kernel objects: a socket pair; a ring for each end.
//! - Copies per message: two, into the kernel's buffers and out of them.
//! - Spin: polls the completion queue in user memory. Block: sleeps in `io_uring_enter` until there is a completion.
//! - Limits: those of `uds-stream`; the system must allow io_uring.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsRawFd, OwnedFd},
};

use io_uring::{opcode, types::Fixed};
use ipcmark_transport::{
    Availability, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec,
    Rendezvous, Settings, Transport, Wait,
};
use nix::{errno::Errno, sys::socket::SockType};

use crate::{
    frame::{Framed, Link},
    socket, uds,
    uring::{
        SQPOLL,
        requests::{Kind, Requests, register_files},
        support::{self, CANCEL, Operation},
    },
};

const OBJECT: &str = "the Unix stream socket";

/// The options.
static OPTIONS: [OptionSpec; 2] = [SQPOLL, socket::SEND_BUFFER];

/// The required io_uring operations.
const OPERATIONS: [Operation; 3] = [
    Operation { code: opcode::Send::CODE, name: "IORING_OP_SEND", since: "5.6" },
    Operation { code: opcode::Recv::CODE, name: "IORING_OP_RECV", since: "5.6" },
    CANCEL,
];

/// The index of the socket in the ring.
const SOCKET: Fixed = Fixed(0);

/// The transport.
pub struct UringUds;

/// A socket and the ring of its requests.
pub struct UringSocket {
    // Fields drop in this order.
    requests: Requests,
    fd: OwnedFd,
}

impl Link for UringSocket {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let bytes = &frame[from..];
        // The kernel continues after a partial send.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let request =
            || opcode::Send::new(SOCKET, bytes.as_ptr(), bytes.len() as u32).flags(flags).build();
        // SAFETY: the end's own buffer, which is not written until the message is sent, and is dropped after the ring.
        unsafe { self.requests.attempt(Kind::Send, request) }
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let bytes = &mut frame[from..];
        let request = || opcode::Recv::new(SOCKET, bytes.as_mut_ptr(), bytes.len() as u32).build();
        // SAFETY: the end's own buffer, whose unreceived part has no other user; it is dropped after the ring.
        unsafe { self.requests.attempt(Kind::Receive, request) }
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let mut configuration = socket::buffers(&self.fd);
        configuration.insert("ring".into(), self.requests.flags().into());
        configuration
    }
}

impl Transport for UringUds {
    type Endpoint = Framed<UringSocket>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        support::probe(&OPERATIONS)
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        // On a non-blocking descriptor, a request would fail instead of waiting.
        let blocking = Settings { wait: Wait::Block, ..settings.clone() };
        let fd = uds::pair(SockType::Stream, &blocking, peers, OBJECT)?;
        let requests = Requests::new(settings)?;
        register_files(requests.ring(), &[fd.as_raw_fd()])?;
        Framed::new(UringSocket { requests, fd }, OBJECT, settings)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("uring-uds"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("Unix domain stream sockets through io_uring; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `uring-uds` in the list of transports.
pub const TRANSPORT: UringUds = UringUds;

#[cfg(test)]
mod tests {
    crate::testing::queue::one_thread_queue!(super::TRANSPORT);
}
