//! `memfd`: the ring in an anonymous memory file, with a futex to sleep on.
//!
//! - Mechanism: as `shm-futex` and `shm-ring`; but the memory comes from `memfd_create` and is
//!   sealed against size changes, so that neither end can truncate the other's mapping.
//! - Kernel objects: one memory file that never has a name; a futex while an end sleeps.
//! - Copies per message: none.
//! - Blocks: on a futex, as `shm-futex`.
//! - Limits: memory alone; `/dev/shm` and its size do not matter.

use ipcmark_transport::{Definition, Error, Rendezvous, Settings, Transport, Wait};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    region::{Region, sealed},
};

/// The transport.
pub struct Memfd;

impl Transport for Memfd {
    type Endpoint = Duplex<Futex>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Futex>, Error> {
        let len = duplex::size(settings)?;
        let region = Region::share(settings.role, peers, len, || sealed("ipcmark", len))?;
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }
}

static DEFINITION: Definition = shared::definition(
    "memfd",
    "ring of messages in a sealed memory file, a futex to sleep on, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::POLLED_OPTIONS,
);

/// The entry of `memfd` in the list of transports.
pub const TRANSPORT: Memfd = Memfd;
