//! Memory that two processes share: mapping, touching, unmapping.

use std::{
    io,
    num::NonZero,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU8, Ordering},
};

use ipcmark_transport::{Error, Rendezvous, Role};
use nix::{
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::{
        memfd::{MFdFlags, memfd_create},
        mman::{MapFlags, ProtFlags, mmap},
    },
};

/// The smallest page size of all supported processors.
const PAGE: usize = 4096;

/// The name of the region in errors.
const OBJECT: &str = "the shared memory";

/// Shared memory, mapped for the lifetime of this value.
pub struct Region {
    base: NonNull<u8>,
    len: usize,
    unmap: unsafe fn(NonNull<u8>, usize),
}

impl Region {
    /// Shares `len` zeroed bytes: the leader creates a descriptor and sends it to the follower; both
    /// map it. This needs no name, so none can be left behind.
    pub fn share(
        role: Role,
        peers: &mut dyn Rendezvous,
        len: usize,
        make: impl FnOnce() -> Result<OwnedFd, Error>,
    ) -> Result<Self, Error> {
        if role.is_leader() {
            let fd = make()?;
            peers.send(0, b"memory", &[fd.as_fd()])?;
            return Self::map(&fd, len);
        }
        Self::map(&receive_fd(peers)?, len)
    }

    fn map(fd: &OwnedFd, len: usize) -> Result<Self, Error> {
        check_size(fd, len)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let size = NonZero::new(len).expect("a region is never empty");
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, fd, 0) }
            .map_err(|errno| Error::os("map", OBJECT, errno))?;
        // SAFETY: just mapped, and the file is as long as the mapping: `check_size`.
        Ok(unsafe { Self::adopt(base.cast(), len, unmap) })
    }

    /// Takes ownership of mapped memory, and touches every page of it, so that the measured loop
    /// takes no page fault.
    ///
    /// # Safety
    /// `len` bytes at `base` are mapped for reading and writing, used by nothing else in this process,
    /// and `unmap` releases them.
    pub unsafe fn adopt(
        base: NonNull<u8>,
        len: usize,
        unmap: unsafe fn(NonNull<u8>, usize),
    ) -> Self {
        for at in (0..len).step_by(PAGE) {
            // An exchange takes the write fault too, but changes nothing: the other end may have
            // begun already. `fetch_or(0)` would not work: the optimiser removes it.
            // SAFETY: within the mapping, which lives as long as the caller guarantees.
            let byte = unsafe { AtomicU8::from_ptr(base.add(at).as_ptr()) };
            let _ = byte.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        Self { base, len, unmap }
    }

    /// The address at the offset `at`, which must be less than the length.
    pub fn at(&self, at: usize) -> NonNull<u8> {
        assert!(at < self.len, "{at} is not within {} bytes", self.len);
        // SAFETY: within the mapping.
        unsafe { self.base.add(at) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the contract of `adopt`; no pointer into the region lives longer.
        unsafe { (self.unmap)(self.base, self.len) };
    }
}

unsafe fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: mapped by `Region::map` with this length.
    unsafe { libc::munmap(base.as_ptr().cast(), len) };
}

/// Receives the leader's only descriptor.
fn receive_fd(peers: &mut dyn Rendezvous) -> Result<OwnedFd, Error> {
    let (_, mut fds) = peers.receive(0)?;
    fds.pop().ok_or_else(|| Error::new("receive", OBJECT, "the leader sent no descriptor"))
}

/// Checks the file size: touching memory beyond the end of its file would kill the process (SIGBUS).
fn check_size(fd: &OwnedFd, len: usize) -> Result<(), Error> {
    let stat = nix::sys::stat::fstat(fd).map_err(|errno| Error::os("look at", OBJECT, errno))?;
    if stat.st_size != len as i64 {
        let cause = format!("it has {} bytes instead of {len}", stat.st_size);
        return Err(Error::new("map", OBJECT, cause));
    }
    Ok(())
}

/// Actually reserves `len` zeroed bytes for a file: touching a page that is not reserved would kill the
/// process (SIGBUS) once no room is left. The error in that case has this `remedy`.
pub fn allocate(fd: &OwnedFd, len: usize, object: &str, remedy: &str) -> Result<(), Error> {
    let code = loop {
        // The result is the error itself, not -1.
        // SAFETY: no memory is involved.
        let code = unsafe { libc::posix_fallocate(fd.as_raw_fd(), 0, len as libc::off_t) };
        if code != libc::EINTR {
            break code;
        }
    };
    if code == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(code);
    let error = Error::scarce(format!("reserve {len} bytes for"), object, error);
    Err(if code == libc::EFBIG { error } else { error.remedy(remedy) })
}

/// Creates `len` zeroed bytes of a memory file that never has a name, sealed against size changes, so that neither end
/// can truncate the other's mapping. `title` appears in the table of mappings.
pub fn sealed(title: &str, len: usize) -> Result<OwnedFd, Error> {
    const OBJECT: &str = "the memory file";
    let fd = memfd_create(title, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)
        .map_err(|errno| Error::os("create", OBJECT, errno))?;
    allocate(&fd, len, OBJECT, "free memory, or raise the memory limit of the control group")?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&fd, FcntlArg::F_ADD_SEALS(seals)).map_err(|errno| Error::os("seal", OBJECT, errno))?;
    Ok(fd)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::rendezvous;

    fn file(len: usize) -> Result<OwnedFd, Error> {
        let flags = nix::sys::memfd::MFdFlags::MFD_CLOEXEC;
        let file = nix::sys::memfd::memfd_create("ipcmark-test", flags).unwrap();
        allocate(&file, len, "a file", "")?;
        Ok(file)
    }

    #[test]
    fn the_size_of_a_sealed_file_cannot_change() {
        let file = std::fs::File::from(sealed("ipcmark-test", 4096).unwrap());
        assert!(file.set_len(0).is_err());
        assert!(file.set_len(8192).is_err());
        assert_eq!(file.metadata().unwrap().len(), 4096);
    }

    #[test]
    fn both_ends_see_the_same_bytes() {
        let (mut one, mut other) = rendezvous();
        let leader = Region::share(Role::Leader, &mut one, 10_000, || file(10_000)).unwrap();
        let follower =
            Region::share(Role::Follower(0), &mut other, 10_000, || unreachable!()).unwrap();
        // SAFETY: within the regions, which have no other user.
        unsafe {
            leader.at(9_999).write(7);
            assert_eq!(follower.at(9_999).read(), 7);
            assert_eq!(follower.at(0).read(), 0);
        }
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let (mut one, mut other) = rendezvous();
        let _leader = Region::share(Role::Leader, &mut one, 4096, || file(4096)).unwrap();
        let error = Region::share(Role::Follower(0), &mut other, 8192, || unreachable!());
        assert!(error.err().unwrap().to_string().contains("4096 bytes instead of 8192"));
    }

    #[test]
    fn room_that_cannot_be_reserved_is_an_error_with_a_remedy() {
        let read_only = std::fs::File::open("/dev/null").unwrap().into();
        let error = allocate(&read_only, 4096, "a file", "make room").unwrap_err().to_string();
        assert!(error.starts_with("cannot reserve 4096 bytes for a file: "), "{error}");
        assert!(error.ends_with("; make room"), "{error}");
    }
}
