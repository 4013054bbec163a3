//! `memfd`: the ring in an anonymous file of memory, with a futex to sleep on.
//!
//! - Mechanism: as `shm-futex` and `shm-ring`; only the memory is made by `memfd_create`, sealed
//!   against any change of its size, so that neither end can take the ground from under the other.
//! - Kernel objects: one memory file that never has a name; a futex while an end sleeps. Copies a
//!   message: none.
//! - Blocks: on a futex, as `shm-futex`.
//! - Limits: memory alone; `/dev/shm` and its size do not matter.

use std::os::fd::OwnedFd;

use ipcmark_transport::{Definition, Error, Rendezvous, Settings, Transport, Wait};
use nix::{
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::memfd::{MFdFlags, memfd_create},
};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    region::{Region, allocate},
};

const OBJECT: &str = "the memory file";

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
        let region = Region::share(settings.role, peers, len, || create(len))?;
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }
}

fn create(len: usize) -> Result<OwnedFd, Error> {
    let fd = memfd_create("ipcmark", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)
        .map_err(|errno| Error::os("create", OBJECT, errno))?;
    allocate(&fd, len, OBJECT, "free memory, or raise the memory limit of the control group")?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&fd, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| Error::os("seal", OBJECT, errno))?;
    Ok(fd)
}

static DEFINITION: Definition = shared::definition(
    "memfd",
    "ring of messages in a sealed memory file, a futex to sleep on, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::OPTIONS,
);

/// `memfd`, as it stands in the list.
pub const TRANSPORT: Memfd = Memfd;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn nobody_can_change_the_size() {
        let file = File::from(create(4096).unwrap());
        assert!(file.set_len(0).is_err());
        assert!(file.set_len(8192).is_err());
        assert_eq!(file.metadata().unwrap().len(), 4096);
    }
}
