//! `uring-pipe`: two unnamed pipes, through io_uring.
//!
//! - Mechanism: `IORING_OP_WRITE_FIXED` into one pipe, `IORING_OP_READ_FIXED` from the other; pipes and buffers are
//!   registered with the ring.
//! - Kernel objects: two pipes; a ring for each end.
//! - Copies per message: two, into the pipe and out of it.
//! - Spin: polls the completion queue in user memory. Block: sleeps in `io_uring_enter` until there is a completion.
//! - Limits: those of `pipe`; the system must allow io_uring. Without enough locked memory, buffers are not
//!   registered.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsFd, AsRawFd},
};

use io_uring::{opcode, squeue::Entry, types::Fixed};
use ipcmark_transport::{
    Availability, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec,
    Rendezvous, Settings, Transport, Wait,
};
use nix::errno::Errno;

use crate::{
    buffer::Buffer,
    descriptors::{self, Descriptors},
    frame::{Framed, Link},
    pipe,
    uring::{
        OBJECT as RING, SQPOLL,
        requests::{Kind, Requests, register_files},
        support::{self, CANCEL, Operation},
    },
};

const OBJECT: &str = "the pipe";

/// The options.
static OPTIONS: [OptionSpec; 2] = [SQPOLL, descriptors::CAPACITY];

/// The required io_uring operations.
const OPERATIONS: [Operation; 5] = [
    Operation { code: opcode::ReadFixed::CODE, name: "IORING_OP_READ_FIXED", since: "5.1" },
    Operation { code: opcode::WriteFixed::CODE, name: "IORING_OP_WRITE_FIXED", since: "5.1" },
    Operation { code: opcode::Read::CODE, name: "IORING_OP_READ", since: "5.6" },
    Operation { code: opcode::Write::CODE, name: "IORING_OP_WRITE", since: "5.6" },
    CANCEL,
];

/// The indices of the pipes and the buffers in the ring.
const READ: Fixed = Fixed(0);
const WRITE: Fixed = Fixed(1);
const OUTGOING: u16 = 0;
const INCOMING: u16 = 1;

/// The offset for a pipe, which has no position.
const NOWHERE: u64 = u64::MAX;

/// The transport.
pub struct UringPipe;

/// Two pipes and the ring of their requests.
pub struct UringPipes {
    // Fields drop in this order.
    requests: Requests,
    pipes: Descriptors,
    /// True if the buffers are registered.
    fixed: bool,
}

impl UringPipes {
    #[inline]
    fn write_request(&self, bytes: &[u8]) -> Entry {
        let (at, len) = (bytes.as_ptr(), bytes.len() as u32);
        if self.fixed {
            opcode::WriteFixed::new(WRITE, at, len, OUTGOING).offset(NOWHERE).build()
        } else {
            opcode::Write::new(WRITE, at, len).offset(NOWHERE).build()
        }
    }

    #[inline]
    fn read_request(&self, bytes: &mut [u8]) -> Entry {
        let (at, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
        if self.fixed {
            opcode::ReadFixed::new(READ, at, len, INCOMING).offset(NOWHERE).build()
        } else {
            opcode::Read::new(READ, at, len).offset(NOWHERE).build()
        }
    }

    /// Registers the buffers, so that the kernel does not look up their pages at each request. If the system allows
    /// too little locked memory for that, requests use unregistered buffers.
    fn register_buffers(&mut self, buffers: [&Buffer; 2]) -> Result<(), Error> {
        let parts = buffers.map(|buffer| libc::iovec {
            iov_base: buffer.as_ptr().cast_mut().cast(),
            iov_len: buffer.len(),
        });
        // SAFETY: the end's buffers, which are dropped after the ring.
        match unsafe { self.requests.ring().submitter().register_buffers(&parts) } {
            Ok(()) => self.fixed = true,
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) => {}
            Err(e) => return Err(Error::os("register buffers with", RING, e)),
        }
        Ok(())
    }
}

impl Link for UringPipes {
    #[inline]
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let request = || self.write_request(&frame[from..]);
        // SAFETY: the end's own buffer, which is not written until the message is sent, and is dropped after the ring.
        unsafe { self.requests.attempt(Kind::Send, request) }
    }

    #[inline]
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno> {
        let request = || self.read_request(&mut frame[from..]);
        // SAFETY: the end's own buffer, whose unreceived part has no other user; it is dropped after the ring.
        unsafe { self.requests.attempt(Kind::Receive, request) }
    }

    fn capacity(&self) -> Option<usize> {
        self.pipes.capacity()
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let mut configuration = self.pipes.configuration();
        configuration.insert("ring".into(), self.requests.flags().into());
        let buffers = if self.fixed {
            "registered"
        } else {
            "not registered: there is too little locked memory (ulimit -l)"
        };
        configuration.insert("buffers".into(), buffers.into());
        configuration
    }
}

impl Transport for UringPipe {
    type Endpoint = Framed<UringPipes>;

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
        let pipes = pipe::pipes(settings, peers)?;
        for fd in [&pipes.read, &pipes.write] {
            // On a non-blocking descriptor, a request would fail instead of waiting.
            descriptors::set_wait(fd.as_fd(), Wait::Block, OBJECT)?;
        }
        let requests = Requests::new(settings)?;
        register_files(requests.ring(), &[pipes.read.as_raw_fd(), pipes.write.as_raw_fd()])?;
        let mut end = Framed::new(UringPipes { requests, pipes, fixed: false }, OBJECT, settings)?;
        end.with_buffers(UringPipes::register_buffers)?;
        Ok(end)
    }
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("uring-pipe"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed(
        "two unnamed pipes through io_uring, buffers registered; two copies a message",
    ),
    carrier: DeclaredCarrier::Always(Carrier::Kernel),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: Capabilities::usual(),
};

/// The entry of `uring-pipe` in the list of transports.
pub const TRANSPORT: UringPipe = UringPipe;

#[cfg(test)]
mod tests {
    use ipcmark_transport::Endpoint;

    use super::*;
    use crate::testing::{lacks, queue::ends_of_this_thread, settings};

    crate::testing::queue::one_thread_queue!(super::TRANSPORT);

    #[test]
    fn buffers_are_registered_and_the_result_says_so() {
        if lacks(TRANSPORT.probe()) {
            return;
        }
        let (leader, _follower) = ends_of_this_thread(&TRANSPORT, &settings(Wait::Spin, 64));
        assert_eq!(leader.configuration()["buffers"], "registered");
    }
}
