// Counters in memory that the leader shares with its followers.

use std::{
    ops::Deref,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

use ipcmark_transport::{Error, Rendezvous};

const OBJECT: &str = "the counters of a queue";

/// ipcmark knows this name, and does not mistake the counters for the carrier of the messages.
const NAME: &std::ffi::CStr = c"ipcmark-pair";

/// The size is fixed: access beyond the end of a file that was truncated raises SIGBUS in the other process.
const FIXED_SIZE: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// Memory that processes share.
///
/// # Safety
/// It holds atomics only, and nothing is to be dropped: every bit pattern is valid, and begins as zeros.
pub unsafe trait Shareable: Sync {}

/// Counters of all endpoints, mapped.
pub struct Counters<T: Shareable>(NonNull<T>);

// SAFETY: the memory is shared between processes anyway, and holds atomics only.
unsafe impl<T: Shareable> Send for Counters<T> {}

impl<T: Shareable> Counters<T> {
    /// Connects the leader with all followers.
    pub fn open(leads: bool, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        if leads { Self::lead(peers) } else { Self::follow(peers) }
    }

    fn lead(peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        // SAFETY: a NUL-terminated name.
        let fd = unsafe {
            libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
        };
        if fd < 0 {
            return Err(Error::last_os("make", OBJECT));
        }
        // SAFETY: it is new, and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the call accesses no memory.
        let sized = unsafe { libc::ftruncate(fd.as_raw_fd(), size_of::<T>() as libc::off_t) };
        // SAFETY: as above.
        let sealed = || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, FIXED_SIZE) };
        if sized != 0 || sealed() != 0 {
            return Err(Error::last_os("make", OBJECT));
        }
        let counters = Self::map(&fd)?;
        (0..peers.peers()).try_for_each(|peer| peers.send(peer, b"flow", &[fd.as_fd()]))?;
        Ok(counters)
    }

    fn follow(peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let (_, fds) = peers.receive(0)?;
        let fd = fds.into_iter().next();
        Self::map(&fd.ok_or_else(|| Error::new("open", OBJECT, "the leader sent none"))?)
    }

    fn map(fd: &OwnedFd) -> Result<Self, Error> {
        // SAFETY: all zeros is a valid stat, and the call fills it in.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `status` has room for the answer.
        let result = unsafe { libc::fstat(fd.as_raw_fd(), &mut status) };
        // SAFETY: the call accesses no memory.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & FIXED_SIZE != FIXED_SIZE {
            return Err(Error::new("map", OBJECT, "the other process can still change their size"));
        }
        if result != 0 || (status.st_size as usize) < size_of::<T>() {
            return Err(Error::new("map", OBJECT, "they are too short"));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let (none, bytes) = (std::ptr::null_mut(), size_of::<T>());
        // SAFETY: a new mapping at an address that the system chooses.
        let address = unsafe { libc::mmap(none, bytes, access, flags, fd.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(Error::last_os("map", OBJECT));
        }
        let address = NonNull::new(address.cast());
        address.map(Self).ok_or_else(|| Error::new("map", OBJECT, "the system gave no address"))
    }
}

impl<T: Shareable> Deref for Counters<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: it is mapped as long as this lives, at the start of a page; every bit pattern is valid.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Shareable> Drop for Counters<T> {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing else refers to it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<T>()) };
    }
}
