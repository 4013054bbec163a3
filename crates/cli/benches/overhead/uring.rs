//! Bare loops of requests to io_uring: one to send or to receive at a time, each waited for.

use std::cell::RefCell;

use io_uring::{Builder, IoUring, opcode, squeue::Entry, types::Fixed};
use ipcmark_transport::Wait;

use crate::bare::{self, PAYLOAD, Ways, check};

/// A bare loop: the median round trip in ns.
type Loop = fn(Wait) -> f64;

/// The transports with a bare loop of their requests.
pub(crate) const LOOPS: [(&str, Loop); 1] = [("uring-uds", uds)];

/// The places of what a process reads and writes.
const READ: Fixed = Fixed(0);
const WRITE: Fixed = Fixed(1);

/// A process's ring, made when it is first used: after the fork.
struct Lazy {
    ring: RefCell<Option<Ring>>,
    wait: Wait,
}

struct Ring {
    ring: IoUring,
    /// A request to receive is on its way.
    receives: bool,
}

impl Lazy {
    fn new(wait: Wait) -> Self {
        Self { ring: RefCell::new(None), wait }
    }

    fn with<R>(&self, files: [i32; 2], call: impl FnOnce(&mut Ring, bool) -> R) -> R {
        let mut ring = self.ring.borrow_mut();
        let ring = ring.get_or_insert_with(|| Ring::new(self.wait, files));
        call(ring, self.wait == Wait::Block)
    }
}

impl Ring {
    /// The ring that the transports make on kernels of today.
    fn new(wait: Wait, files: [i32; 2]) -> Self {
        let mut builder: Builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun();
        if wait == Wait::Spin {
            builder.setup_taskrun_flag();
        }
        let ring = builder.build(4).expect("a ring");
        ring.submitter().register_files(&files).expect("registered descriptors");
        Self { ring, receives: false }
    }

    /// What is complete of either request.
    fn reap(&mut self) -> Option<bool> {
        let entry = self.ring.completion().next()?;
        Some(entry.result() > 0)
    }

    fn submit(&mut self, request: &Entry, sleeps: bool) {
        // SAFETY: the loops have their buffers until the last request is complete; the follower is killed.
        unsafe { self.ring.submission().push(request).expect("room for a request") };
        self.ring.submit_and_wait(usize::from(sleeps)).expect("a submission");
    }

    /// Requests of this size are done at once.
    fn send(&mut self, request: &Entry, sleeps: bool) -> bool {
        self.submit(request, sleeps);
        loop {
            match self.reap() {
                Some(sent) => return sent,
                None => self.ring.submit_and_wait(1).map(drop).expect("a completion"),
            }
        }
    }

    fn receive(&mut self, request: impl FnOnce() -> Entry, sleeps: bool) -> bool {
        if !self.receives {
            self.submit(&request(), sleeps);
            self.receives = true;
        } else if sleeps || self.ring.submission().taskrun() {
            self.ring.submit_and_wait(usize::from(sleeps)).expect("a completion");
        }
        let received = self.reap();
        self.receives = received.is_none();
        received == Some(true)
    }
}

/// Requests to send and to receive on a stream socket.
fn uds(wait: Wait) -> f64 {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: a valid place for two descriptors.
    unsafe { check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr())) };
    let ways = Ways { leader: (ends[0], ends[0]), follower: (ends[1], ends[1]) };
    let ring = Lazy::new(wait);
    bare::run(
        ways,
        |socket, bytes| {
            let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            let request = opcode::Send::new(WRITE, bytes.as_ptr(), PAYLOAD as u32).flags(flags);
            ring.with([socket; 2], |ring, sleeps| ring.send(&request.build(), sleeps))
        },
        |socket, bytes| {
            let (at, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
            let request = || opcode::Recv::new(READ, at, len).build();
            ring.with([socket; 2], |ring, sleeps| ring.receive(request, sleeps))
        },
    )
}
