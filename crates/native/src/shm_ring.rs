//! `shm-ring`: a lock-free ring of messages per direction in POSIX shared memory, polled.
//!
//! - Mechanism: the sender writes the message into a slot of the ring in place, and then the slot's word; the receiver
//!   polls that word and reads the message in place. The count of the slots given back has its own cache lines; the
//!   sender reads it only if its copy does not suffice.
//! - Kernel objects: one POSIX shared memory object, unlinked as soon as it is created.
//! - Copies per message: none.
//! - Blocks: never; `shm-futex` is the same ring with a sleep.
//! - Limits: per direction 32 messages, but no more than fit into 8 KiB; four of the largest at least.

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
    &duplex::POLLED_OPTIONS,
);

/// The entry of `shm-ring` in the list of transports.
pub const TRANSPORT: ShmRing = ShmRing;
