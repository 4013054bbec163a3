//! `uring-msg-ring`: the ring in shared memory, with messages from one io_uring to the other as the notice.
//!
//! - Mechanism: the sender puts the message into the ring in shared memory; a request (`IORING_OP_MSG_RING`) posts a
//!   completion with the sequence number of the message into the receiver's completion queue.
//! - Kernel objects: two io_urings per end, one to receive and one to submit; a sealed memory file without a name.
//! - Copies per message: none; a completion of 16 bytes per notice.
//! - Blocks: in `io_uring_enter` until there is a completion; `spin` polls the completion queue in user memory. A
//!   sender whose ring is full sleeps on a futex.
//! - Limits: the kernel must let the processes trace each other, because each takes the descriptor of the other's ring
//!   (`pidfd_getfd`): io_uring's descriptors do not pass through sockets.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{EnterFlags, IoUring, opcode, squeue::Flags, types::Fd};
use ipcmark_transport::{
    Availability, Definition, Error, OptionSpec, Rendezvous, Settings, Step, Transport, Wait,
};
use nix::errno::Errno;

use crate::{
    frame::refused,
    shared::{
        self,
        duplex::{self, Duplex, Notifier},
        region::{Region, sealed},
        ring::{Consumer, PAIR, Producer},
    },
    traceable::{self, Traceable},
    uring::{
        OBJECT, SQPOLL, handover, setup,
        support::{self, Operation},
    },
};

/// The options.
static OPTIONS: [OptionSpec; 2] = [SQPOLL, duplex::CAPACITY];

/// The required io_uring operations.
const OPERATIONS: [Operation; 1] =
    [Operation { code: opcode::MsgRingData::CODE, name: "IORING_OP_MSG_RING", since: "5.18" }];

/// The most entries that a completion queue can have.
const MOST_NOTICES: usize = 1 << 16;

/// The transport.
pub struct UringMsgRing;

/// The rings of an end.
pub struct Rings {
    /// The ring that submits requests. No other process has it.
    submits: IoUring,
    /// The ring that receives notices. The other process has it, so this end never submits to it.
    receives: IoUring,
    /// The other end's receiving ring.
    peer: OwnedFd,
    /// True if the kernel has the last request.
    posted: bool,
    sent: u64,
    received: u64,
    _traceable: Traceable,
}

impl Transport for UringMsgRing {
    type Endpoint = Duplex<Rings>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        match support::probe(&OPERATIONS) {
            Availability::Available { .. } => traceable::probe(handover::refused),
            unavailable => unavailable,
        }
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Rings>, Error> {
        let len = duplex::size(settings)?;
        let region = Region::share(settings.role, peers, len, || sealed("ipcmark-msg-ring", len))?;
        // Every message takes at least a pair of lines.
        let notices = (len / 2 / PAIR).next_power_of_two().min(MOST_NOTICES);
        let rings = Rings::open(settings, notices as u32, peers)?;
        Duplex::open(settings, peers, region, rings)
    }
}

impl Rings {
    /// Opens rings with room for `room` notices, and takes the other end's.
    fn open(settings: &Settings, room: u32, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let traceable = Traceable::allow();
        let receives = setup::ring_of_notices(room)?;
        Ok(Self {
            submits: setup::ring(settings)?.0,
            peer: handover::exchange(&receives, peers)?,
            receives,
            posted: true,
            sent: 0,
            received: 0,
            _traceable: traceable,
        })
    }

    /// Takes the next notice, which must be that of the next message: the other process could post any.
    #[inline]
    fn take(&mut self) -> Result<Step, Error> {
        let Some(entry) = self.receives.completion().next() else { return Ok(Step::WouldBlock) };
        if entry.user_data() != self.received {
            return Err(shared::corrupt("number of the message"));
        }
        self.received += 1;
        Ok(Step::Done)
    }

    /// Enters the kernel for completions only: entries in the submission queue, which the other process can map, are
    /// not submitted.
    fn enter(&self, wanted: u32) -> Result<(), Error> {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: nothing is submitted, and there are no other arguments.
        match unsafe { self.receives.submitter().enter::<libc::sigset_t>(0, wanted, flags, None) } {
            Ok(_) => Ok(()),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) => Ok(()),
            Err(e) => Err(Error::os("wait for", OBJECT, e)),
        }
    }

    /// Posts the next notice. A request that the kernel currently has no memory for is submitted again.
    #[inline]
    fn post(&mut self) -> Result<Step, Error> {
        if self.posted && !self.push() {
            // The kernel's thread has not yet taken the earlier requests.
            return self.submit().map(|_| Step::WouldBlock);
        }
        self.posted = self.submit()? == Step::Done;
        if !self.posted {
            return Ok(Step::WouldBlock);
        }
        // Only failures post a completion.
        let failure = self.submits.completion().next();
        match failure {
            None => Ok(Step::Done),
            Some(entry) => self.not_posted(entry.result()),
        }
    }

    /// Queues the request for the next notice; false if the queue is full.
    #[inline]
    fn push(&mut self) -> bool {
        let request = opcode::MsgRingData::new(Fd(self.peer.as_raw_fd()), 0, self.sent, None);
        let request = request.build().flags(Flags::SKIP_SUCCESS);
        // SAFETY: the request refers to no memory.
        let pushed = unsafe { self.submits.submission().push(&request) }.is_ok();
        self.sent += u64::from(pushed);
        pushed
    }

    #[inline]
    fn submit(&self) -> Result<Step, Error> {
        match self.submits.submit() {
            Ok(_) => Ok(Step::Done),
            Err(e) => refused(Errno::from_raw(e.raw_os_error().unwrap_or(0)), "submit to", OBJECT),
        }
    }

    /// The step or error for a notice that was not posted. The kernel keeps notices that do not fit into the queue, as
    /// long as it has memory. The kernel's thread may have posted later ones meanwhile, so with it there is no retry.
    #[cold]
    fn not_posted(&mut self, result: i32) -> Result<Step, Error> {
        let errno = Errno::from_raw(-result);
        let in_order = !self.submits.params().is_setup_sqpoll();
        match errno {
            Errno::EOVERFLOW | Errno::ENOMEM | Errno::EAGAIN if in_order => {
                self.sent -= 1;
                Ok(Step::WouldBlock)
            }
            errno => Err(Error::os("post to", OBJECT, errno)),
        }
    }
}

impl Notifier for Rings {
    #[inline]
    fn send(&mut self, _: &Producer) -> Result<Step, Error> {
        self.post()
    }

    #[inline]
    fn poll(&mut self) -> Result<Step, Error> {
        if self.take()? == Step::Done {
            return Ok(Step::Done);
        }
        if self.receives.submission().cq_overflow() {
            self.enter(0)?;
        }
        Ok(Step::WouldBlock)
    }

    #[inline]
    fn sleep(&mut self, _: &mut Consumer) -> Result<Step, Error> {
        if self.take()? == Step::Done {
            return Ok(Step::Done);
        }
        self.enter(1)?;
        self.take()
    }
}

static DEFINITION: Definition = shared::definition(
    "uring-msg-ring",
    "ring of messages in shared memory, a message between io_urings as the notice, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &OPTIONS,
);

/// The entry of `uring-msg-ring` in the list of transports.
pub const TRANSPORT: UringMsgRing = UringMsgRing;

#[cfg(all(test, not(loom)))]
mod tests;
