//! POSIX shared memory: a file in the in-memory file system on `/dev/shm`.

use std::{os::fd::OwnedFd, path::Path};

use ipcmark_transport::{Availability, Error, Rendezvous, Settings};
use nix::{
    fcntl::OFlag,
    sys::{
        mman::{shm_open, shm_unlink},
        stat::Mode,
    },
};

use super::region::{Region, allocate};

/// Shares `len` bytes of POSIX shared memory.
pub fn share(settings: &Settings, peers: &mut dyn Rendezvous, len: usize) -> Result<Region, Error> {
    Region::share(settings.role, peers, len, || create(&settings.name, len))
}

/// Creates the memory and unlinks its name at once, before anything can fail: the memory lives as long as its
/// descriptors and mappings.
fn create(name: &str, len: usize) -> Result<OwnedFd, Error> {
    let name = object(name);
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    let described = || format!("the shared memory {name}");
    let fd = shm_open(name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)
        .map_err(|errno| Error::os("create", described(), errno))?;
    shm_unlink(name.as_str()).map_err(|errno| Error::os("unlink", described(), errno))?;
    let remedy = "enlarge /dev/shm: mount -o remount,size=256M /dev/shm";
    allocate(&fd, len, &described(), remedy)?;
    Ok(fd)
}

/// Available if there is a `/dev/shm` directory.
pub fn probe() -> Availability {
    if Path::new("/dev/shm").is_dir() {
        return Availability::Available { version: None };
    }
    Availability::Unavailable {
        reason: "there is no /dev/shm".into(),
        install: Some("mkdir /dev/shm && mount -t tmpfs tmpfs /dev/shm".into()),
    }
}

fn object(name: &str) -> String {
    format!("/{name}-memory")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::RemovedOnDrop;

    #[test]
    fn the_name_is_removed_as_soon_as_the_memory_exists() {
        let name = format!("ipcmark-test-{}-posix", std::process::id());
        let path = Path::new("/dev/shm").join(format!("{name}-memory"));
        let _left = RemovedOnDrop(path.clone());
        let _fd = create(&name, 4096).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_name_in_use_is_refused() {
        let name = format!("ipcmark-test-{}-taken", std::process::id());
        let path = Path::new("/dev/shm").join(format!("{name}-memory"));
        let _left = RemovedOnDrop(path.clone());
        std::fs::write(&path, b"left").unwrap();
        assert_eq!(create(&name, 4096).unwrap_err().os_error(), Some(libc::EEXIST));
        std::fs::remove_file(&path).unwrap();
    }
}
