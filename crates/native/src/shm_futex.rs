//! `shm-futex`: the ring of `shm-ring`, with a futex to sleep on.
//!
//! - Mechanism: the receiver checks the ring; if it is empty, the receiver says so in a word of shared
//!   memory, checks again and sleeps on that word. The sender reads the word after each message and
//!   calls the kernel only if the receiver sleeps.
//! - Kernel objects: one POSIX shared memory object, unlinked as soon as it is created; a futex (not an
//!   object, but a queue in the kernel while an end sleeps).
//! - Copies per message: none.
//! - Blocks: in `FUTEX_WAIT`, at most 100 ms per call. With polling alone, it is `shm-ring`.
//! - Limits: 64 KiB or four of the largest messages per direction, whichever is more; as `shm-ring` if the ends spin.

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

/// The entry of `shm-futex` in the list of transports.
pub const TRANSPORT: ShmFutex = ShmFutex;
