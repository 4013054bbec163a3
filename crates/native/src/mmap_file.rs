//! `mmap-file`: the ring in a mapped file of a real file system, with a futex to sleep on.
//!
//! - Mechanism: as `shm-futex` and `shm-ring`; but the memory is the page cache of a file under
//!   `/var/tmp`, the directory for temporary files on disk. The kernel writes its pages back from
//!   time to time, and the next write to such a page takes a page fault.
//! - Kernel objects: one file without a name (`O_TMPFILE`; if the file system lacks it, a file
//!   unlinked as soon as it is created); a futex while an end sleeps.
//! - Copies per message: none.
//! - Blocks: on a futex, as `shm-futex`.
//! - Limits: free space on the file system of `/var/tmp`. If that is in memory, so is the file.

use std::{
    fs::{File, OpenOptions},
    io::Error as IoError,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use ipcmark_transport::{Availability, Definition, Error, Rendezvous, Settings, Transport, Wait};

use crate::shared::{
    self,
    duplex::{self, Duplex, Futex},
    region::{Region, allocate},
};

const DIRECTORY: &str = "/var/tmp";

/// The transport.
pub struct MmapFile;

impl Transport for MmapFile {
    type Endpoint = Duplex<Futex>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn probe(&self) -> Availability {
        if Path::new(DIRECTORY).is_dir() {
            return Availability::Available { version: None };
        }
        Availability::Unavailable {
            reason: format!("there is no {DIRECTORY}"),
            install: Some(format!("mkdir -m 1777 {DIRECTORY}")),
        }
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Duplex<Futex>, Error> {
        let len = duplex::size(settings)?;
        let region = Region::share(settings.role, peers, len, || create(&settings.name, len))?;
        Duplex::open(settings, peers, region, Futex::new(settings.wait))
    }
}

fn create(name: &str, len: usize) -> Result<OwnedFd, Error> {
    let object = || format!("a file in {DIRECTORY}");
    let file = match nameless() {
        Err(error) if has_no_nameless(&error) => unlinked(&path(name)),
        file => file,
    };
    let fd = file.map_err(|error| Error::os("create", object(), error))?.into();
    allocate(&fd, len, &object(), "free space where it lies")?;
    Ok(fd)
}

fn nameless() -> Result<File, IoError> {
    options().custom_flags(libc::O_TMPFILE).open(DIRECTORY)
}

/// True for the errors of file systems and kernels without `O_TMPFILE`.
fn has_no_nameless(error: &IoError) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT))
}

fn unlinked(path: &Path) -> Result<File, IoError> {
    let file = options().create_new(true).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{name}-file"))
}

static DEFINITION: Definition = shared::definition(
    "mmap-file",
    "ring of messages in a mapped file under /var/tmp, a futex to sleep on, no copy",
    &[Wait::Spin, Wait::Block, Wait::Hybrid],
    &duplex::POLLED_OPTIONS,
);

/// The entry of `mmap-file` in the list of transports.
pub const TRANSPORT: MmapFile = MmapFile;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::RemovedOnDrop;

    #[test]
    fn an_unlinked_file_has_no_name() {
        let name = format!("ipcmark-test-{}-file", std::process::id());
        let _left = RemovedOnDrop(path(&name));
        let file = unlinked(&path(&name)).unwrap();
        assert!(file.metadata().is_ok() && !path(&name).exists());
    }
}
