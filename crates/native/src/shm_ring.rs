//! `shm-ring`: a lock-free ring of messages for each direction in POSIX shared memory, polled.
//!
//! - Mechanism: the sender writes the message into the ring in place and moves its index; the
//!   receiver polls that index and reads the message where it lies. Indices on cache lines of their
//!   own; each end reads the other one's only when its copy of it does not suffice.
//! - Kernel objects: one POSIX shared memory, unlinked as soon as it is made. Copies a message: none.
//! - Blocks: never; `shm-futex` is the same ring with a sleep.
//! - Limits: 64 KiB or four of the largest messages a direction, whichever is more.

use ipcmark_transport::{Availability, Definition, Error, Rendezvous, Settings, Transport, Wait};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    posix,
};

/// The transport.
pub struct ShmRing;

impl Transport for ShmRing {
    type Endpoint = Duplex<Futex>;

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
    ) -> Result<Duplex<Futex>, Error> {
        let region = posix::share(settings, peers, duplex::size(settings)?)?;
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }
}

static DEFINITION: Definition = shared::definition(
    "shm-ring",
    "lock-free ring of messages in shared memory, polled, no copy",
    &[Wait::Spin],
    &duplex::OPTIONS,
);

/// `shm-ring`, as it stands in the list.
pub const TRANSPORT: ShmRing = ShmRing;
