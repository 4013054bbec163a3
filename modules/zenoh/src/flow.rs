//! Flow control between two endpoints, in addition to the library: it bounds the unreleased messages in each direction.
//!
//! A `put` of the library sleeps if the receiver is behind, and closes the connection after five seconds. So each
//! endpoint counts the messages that it has released in a cache line of shared memory, and a sender with as many
//! unreleased messages as its receiver's channel holds would block. It reads the peer's count only when the last value
//! that it read is used up, once every `depth` messages.

use std::{
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_transport::{Error, Rendezvous};

const OBJECT: &str = "the counters of a queue";

/// ipcmark knows this name, and does not mistake the counts for the carrier of the messages.
const NAME: &std::ffi::CStr = c"ipcmark-pair";

/// The count of one endpoint, alone in a pair of cache lines because processors prefetch pairs.
#[repr(align(128))]
struct Count {
    released: AtomicU64,
}

const BYTES: usize = 2 * size_of::<Count>();

/// The counts of both endpoints, mapped.
struct Counts(NonNull<[Count; 2]>);

// SAFETY: the memory is shared between processes anyway, and holds atomics only.
unsafe impl Send for Counts {}

impl Drop for Counts {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing else refers to it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

/// The bound of the unreleased messages in each direction between two endpoints.
pub struct FlowControl {
    counts: Counts,
    /// The index of this endpoint's count.
    own: usize,
    depth: u64,
    sent: u64,
    acknowledged: u64,
    released: u64,
}

impl FlowControl {
    /// Connects the leader with its follower. From then on at most `depth` messages are unreleased in each direction.
    pub fn open(leads: bool, depth: u64, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let counts = if leads { lead(peers)? } else { follow(peers)? };
        let own = usize::from(!leads);
        Ok(Self { counts, own, depth, sent: 0, acknowledged: 0, released: 0 })
    }

    fn count(&self, index: usize) -> &AtomicU64 {
        // SAFETY: it is mapped as long as this lives; every bit pattern is a count.
        unsafe { &self.counts.0.as_ref()[index].released }
    }

    /// True if one more message may be sent.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        if self.sent.wrapping_sub(self.acknowledged) < self.depth {
            return true;
        }
        // Acquire: the peer's release of the messages happens before their room is used again.
        self.acknowledged = self.count(1 - self.own).load(Ordering::Acquire);
        self.sent.wrapping_sub(self.acknowledged) < self.depth
    }

    #[inline]
    pub fn count_sent(&mut self) {
        self.sent += 1;
    }

    #[inline]
    pub fn count_released(&mut self) {
        self.released += 1;
        self.count(self.own).store(self.released, Ordering::Release);
    }
}

fn lead(peers: &mut dyn Rendezvous) -> Result<Counts, Error> {
    // SAFETY: a NUL-terminated name.
    let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Error::last_os("make", OBJECT));
    }
    // SAFETY: it is new, and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the call accesses no memory.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), BYTES as libc::off_t) } != 0 {
        return Err(Error::last_os("make", OBJECT));
    }
    let counts = map(&fd)?;
    peers.send(0, b"flow", &[fd.as_fd()])?;
    Ok(counts)
}

fn follow(peers: &mut dyn Rendezvous) -> Result<Counts, Error> {
    let (_, fds) = peers.receive(0)?;
    let fd = fds.into_iter().next();
    map(&fd.ok_or_else(|| Error::new("open", OBJECT, "the leader sent none"))?)
}

fn map(fd: &OwnedFd) -> Result<Counts, Error> {
    // SAFETY: all zeros is a valid stat, and the call fills it in.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` has room for the answer.
    let result = unsafe { libc::fstat(fd.as_raw_fd(), &mut status) };
    // Reading beyond the end of a file raises SIGBUS.
    if result != 0 || (status.st_size as usize) < BYTES {
        return Err(Error::new("map", OBJECT, "they are too short"));
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address that the system chooses.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, flags, fd.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED {
        return Err(Error::last_os("map", OBJECT));
    }
    let address = NonNull::new(address.cast());
    address.map(Counts).ok_or_else(|| Error::new("map", OBJECT, "the system gave no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leader's frame, passed to the follower.
    struct Wire(Option<OwnedFd>);

    impl Rendezvous for Wire {
        fn peers(&self) -> usize {
            1
        }

        fn send(
            &mut self,
            _peer: usize,
            _bytes: &[u8],
            fds: &[std::os::fd::BorrowedFd<'_>],
        ) -> Result<(), Error> {
            self.0 = fds[0].try_clone_to_owned().ok();
            Ok(())
        }

        fn receive(&mut self, _peer: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
            Ok((b"flow".to_vec(), self.0.take().into_iter().collect()))
        }
    }

    #[test]
    fn the_depth_bounds_the_messages_in_transit() {
        let mut wire = Wire(None);
        let mut leader = FlowControl::open(true, 2, &mut wire).unwrap();
        let mut follower = FlowControl::open(false, 2, &mut wire).unwrap();
        for _ in 0..2 {
            assert!(leader.has_room());
            leader.count_sent();
        }
        assert!(!leader.has_room());
        follower.count_released();
        assert!(leader.has_room() && follower.has_room());
    }

    #[test]
    fn counters_that_are_missing_or_too_short_are_refused() {
        assert!(FlowControl::open(false, 2, &mut Wire(None)).is_err());
        // SAFETY: a NUL-terminated name; the descriptor is new.
        let short = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"short".as_ptr(), 0)) };
        assert!(FlowControl::open(false, 2, &mut Wire(Some(short))).is_err());
    }
}
