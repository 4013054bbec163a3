//! `shm-futex`: the ring of `shm-ring`, with a futex to sleep on.
//!
//! - Mechanism: the receiver looks into the ring; where that is empty it says so in a word of shared
//!   memory, looks again and sleeps on that word. The sender reads the word after each message and
//!   calls the kernel only where somebody sleeps.
//! - Kernel objects: one POSIX shared memory, unlinked as soon as it is made; a futex (no object of
//!   its own, a queue in the kernel while somebody sleeps). Copies a message: none.
//! - Blocks: in `FUTEX_WAIT`, 100 ms at most in one go. Polled only, it is `shm-ring`.
//! - Limits: 64 KiB or four of the largest messages a direction, whichever is more.

use ipcmark_transport::{Availability, Definition, Error, Rendezvous, Settings, Transport, Wait};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    posix,
};

/// The transport.
pub struct ShmFutex;

impl Transport for ShmFutex {
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
    "shm-futex",
    "ring of messages in shared memory, a futex to sleep on, no copy",
    &[Wait::Block, Wait::Hybrid],
    &duplex::OPTIONS,
);

/// `shm-futex`, as it stands in the list.
pub const TRANSPORT: ShmFutex = ShmFutex;
