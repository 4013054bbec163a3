//! `eventfd`: the ring in POSIX shared memory, with an eventfd per direction as the notice.
//!
//! - Mechanism: the sender puts the message into the ring and writes 1 to the eventfd of its
//!   direction; the receiver reads 1 from it for each message (`EFD_SEMAPHORE`).
//! - Kernel objects: two eventfds; one POSIX shared memory object, unlinked as soon as it is created.
//! - Copies per message: none; eight bytes pass through the kernel in each direction.
//! - Blocks: in `read`; `spin` reads without blocking (`EFD_NONBLOCK`), so each poll is a system
//!   call; `hybrid` polls the same way and then sleeps in `poll`. A sender whose ring is full sleeps on a futex.
//! - Limits: those of the ring: 64 KiB or four of the largest messages per direction, whichever is more; as `shm-ring`
//!   if the ends spin.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use ipcmark_transport::{
    Availability, Definition, Error, Rendezvous, Settings, Step, Transport, Wait,
};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::shared::{
    self,
    duplex::{self, Duplex, Notifier},
    posix,
    ring::{Consumer, Producer},
};

const OBJECT: &str = "the eventfd";
/// The longest sleep of `hybrid` in one call.
const LONGEST_MS: i32 = 100;

/// The transport.
pub struct Eventfd;

/// The eventfds of both directions.
pub struct Eventfds {
    incoming: OwnedFd,
    outgoing: OwnedFd,
    /// True if a read blocks until there is a message.
    blocking: bool,
}

impl Transport for Eventfd {
    type Endpoint = Duplex<Eventfds>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        posix::probe()
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Eventfds>, Error> {
        let region = posix::share(settings, peers, duplex::size(settings)?)?;
        let eventfds = if settings.role.is_leader() {
            Eventfds::create(settings.wait, peers)?
        } else {
            Eventfds::receive(settings.wait, peers)?
        };
        Duplex::open(settings, peers, region, eventfds)
    }
}

impl Eventfds {
    fn create(wait: Wait, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let (incoming, outgoing) = (create(wait)?, create(wait)?);
        peers.send(0, b"eventfds", &[outgoing.as_fd(), incoming.as_fd()])?;
        Ok(Self { incoming, outgoing, blocking: wait == Wait::Block })
    }

    fn receive(wait: Wait, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let (_, fds) = peers.receive(0)?;
        let [incoming, outgoing] = fds.try_into().map_err(|_| {
            Error::new("receive", "the eventfds", "the leader did not send two descriptors")
        })?;
        Ok(Self { incoming, outgoing, blocking: wait == Wait::Block })
    }
}

fn create(wait: Wait) -> Result<OwnedFd, Error> {
    let mut flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_SEMAPHORE;
    // The flag belongs to the eventfd, so it holds for both ends' descriptors.
    flags.set(EfdFlags::EFD_NONBLOCK, wait != Wait::Block);
    let fd = EventFd::from_value_and_flags(0, flags);
    fd.map(OwnedFd::from).map_err(|errno| Error::os("create", "an eventfd", errno))
}

/// `Done`, or `WouldBlock` if the call would block or a signal interrupted it.
#[inline]
fn step(result: isize, operation: &str) -> Result<Step, Error> {
    if result > 0 {
        return Ok(Step::Done);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(Step::WouldBlock),
        _ => Err(Error::last_os(operation, OBJECT)),
    }
}

impl Notifier for Eventfds {
    #[inline]
    fn send(&mut self, _: &Producer) -> Result<Step, Error> {
        let one = 1_u64;
        let fd = self.outgoing.as_raw_fd();
        // SAFETY: a write to an eventfd takes eight bytes, the size of `one`.
        step(unsafe { libc::write(fd, (&raw const one).cast(), size_of_val(&one)) }, "write to")
    }

    #[inline]
    fn poll(&mut self) -> Result<Step, Error> {
        let mut count = 0_u64;
        let fd = self.incoming.as_raw_fd();
        // SAFETY: a read from an eventfd returns eight bytes, the size of `count`.
        let read = unsafe { libc::read(fd, (&raw mut count).cast(), size_of_val(&count)) };
        step(read, "read from")
    }

    #[inline]
    fn sleep(&mut self, _: &mut Consumer) -> Result<Step, Error> {
        if !self.blocking {
            let fd = self.incoming.as_raw_fd();
            let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // The result does not matter: the read below tells if a message is there.
            // SAFETY: one entry, which is valid.
            unsafe { libc::poll(&mut wanted, 1, LONGEST_MS) };
        }
        self.poll()
    }
}

static DEFINITION: Definition = shared::definition(
    "eventfd",
    "ring of messages in shared memory, an eventfd as the notice, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::OPTIONS,
);

/// The entry of `eventfd` in the list of transports.
pub const TRANSPORT: Eventfd = Eventfd;
