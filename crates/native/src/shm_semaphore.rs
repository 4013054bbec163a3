//! `shm-semaphore`: the ring in POSIX shared memory, with process-shared semaphores as the notice.
//!
//! - Mechanism: the sender puts the message into the ring and posts the semaphore of its direction;
//!   the receiver decrements it once per message.
//! - Kernel objects: one POSIX shared memory object, unlinked as soon as it is created; it contains
//!   both semaphores (`sem_init`), so no named semaphore is left behind.
//! - Copies per message: none.
//! - Blocks: in `sem_wait`, a futex in the C library. A sender whose ring is full sleeps on our own
//!   futex.
//! - Limits: those of the ring: 64 KiB or four of the largest messages per direction, whichever is more; as `shm-ring`
//!   if the ends spin.

use std::{io, ptr::NonNull};

use ipcmark_transport::{
    Availability, Definition, Error, Rendezvous, Settings, Step, Transport, Wait,
};

use crate::shared::{
    self,
    duplex::{self, Duplex, Notifier},
    posix,
    region::Region,
    ring::{Consumer, Producer},
};

const OBJECT: &str = "the semaphore in shared memory";
/// The distance between the semaphores: separate cache lines for each.
const DISTANCE: usize = 128;

/// The transport.
pub struct ShmSemaphore;

/// The semaphores of both directions.
pub struct Semaphores {
    incoming: NonNull<libc::sem_t>,
    outgoing: NonNull<libc::sem_t>,
}

impl Transport for ShmSemaphore {
    type Endpoint = Duplex<Semaphores>;

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
    ) -> Result<Duplex<Semaphores>, Error> {
        let rings = duplex::size(settings)?;
        let region = posix::share(settings, peers, rings + 2 * DISTANCE)?;
        let semaphores = Semaphores::new(&region, rings, settings.role.is_leader())?;
        Duplex::open(settings, peers, region, semaphores)
    }
}

impl Semaphores {
    /// The semaphores behind the rings; the leader initialises them, before the ends meet.
    fn new(region: &Region, at: usize, is_leader: bool) -> Result<Self, Error> {
        let (one, other) = (region.at(at).cast(), region.at(at + DISTANCE).cast());
        if !is_leader {
            return Ok(Self { incoming: one, outgoing: other });
        }
        for semaphore in [one, other] {
            // SAFETY: aligned, within the region, and unused until the ends have met. It is never
            // destroyed: it disappears with its memory.
            if unsafe { libc::sem_init(semaphore.as_ptr(), 1, 0) } < 0 {
                return Err(Error::last_os("make", OBJECT));
            }
        }
        Ok(Self { incoming: other, outgoing: one })
    }
}

/// `Done`, or `WouldBlock` if the call would block or a signal interrupted it.
#[inline]
fn step(result: i32, operation: &str) -> Result<Step, Error> {
    if result == 0 {
        return Ok(Step::Done);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN | libc::EINTR) => Ok(Step::WouldBlock),
        _ => Err(Error::last_os(operation, OBJECT)),
    }
}

impl Notifier for Semaphores {
    #[inline]
    fn send(&mut self, _: &Producer) -> Result<Step, Error> {
        // SAFETY: initialised at open, in memory that lives as long as the end.
        step(unsafe { libc::sem_post(self.outgoing.as_ptr()) }, "post")
    }

    #[inline]
    fn poll(&mut self) -> Result<Step, Error> {
        // SAFETY: as above.
        step(unsafe { libc::sem_trywait(self.incoming.as_ptr()) }, "try")
    }

    #[inline]
    fn sleep(&mut self, _: &mut Consumer) -> Result<Step, Error> {
        // SAFETY: as above.
        step(unsafe { libc::sem_wait(self.incoming.as_ptr()) }, "wait for")
    }
}

static DEFINITION: Definition = shared::definition(
    "shm-semaphore",
    "ring of messages in shared memory, a process-shared semaphore as the notice, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::OPTIONS,
);

/// The entry of `shm-semaphore` in the list of transports.
pub const TRANSPORT: ShmSemaphore = ShmSemaphore;
