//! Flow control between two endpoints, in addition to the library: it bounds the unreleased messages in each direction.
//!
//! A `put` of the library sleeps if the receiver is behind, and closes the connection after five seconds. So each
//! endpoint counts the messages that it has released in a cache line of shared memory, and a sender with as many
//! unreleased messages as its receiver's channel holds would block: if it may sleep, it sleeps until there is room. It
//! reads the peer's count only when the last value that it read is used up, once every `depth` messages.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ipcmark_transport::{Error, Rendezvous};

use crate::{
    counters::{Counters, Shareable},
    room::Room,
};

/// The count of one endpoint, alone in a pair of cache lines because processors prefetch pairs, and the peer's sleep.
#[repr(C, align(128))]
struct Count {
    released: AtomicU64,
    room: Room,
}

// SAFETY: atomics only.
unsafe impl Shareable for [Count; 2] {}

/// The bound of the unreleased messages in each direction between two endpoints.
pub struct FlowControl {
    counts: Counters<[Count; 2]>,
    /// The index of this endpoint's count.
    own: usize,
    depth: u64,
    /// The longest sleep of an endpoint that finds no room; none if both spin.
    sleep: Option<Duration>,
    sent: u64,
    acknowledged: u64,
    released: u64,
}

impl FlowControl {
    /// Connects the leader with its follower. From then on at most `depth` messages are unreleased in each direction.
    /// Both must agree on whether they may sleep.
    pub fn open(
        leads: bool,
        depth: u64,
        sleep: Option<Duration>,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self, Error> {
        let counts = Counters::open(leads, peers)?;
        let own = usize::from(!leads);
        Ok(Self { counts, own, depth, sleep, sent: 0, acknowledged: 0, released: 0 })
    }

    /// True if one more message may be sent. If not, and this endpoint may sleep, it first sleeps until there is room,
    /// or as long as it may.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        if self.sent.wrapping_sub(self.acknowledged) < self.depth || self.is_released() {
            return true;
        }
        let Some(longest) = self.sleep else { return false };
        self.counts[1 - self.own].room.sleep(longest, || self.unreleased() < self.depth);
        self.is_released()
    }

    fn unreleased(&self) -> u64 {
        // Acquire: the peer's release of the messages happens before their room is used again.
        self.sent.wrapping_sub(self.counts[1 - self.own].released.load(Ordering::Acquire))
    }

    /// Reads the peer's count: true if it has released messages.
    #[inline]
    fn is_released(&mut self) -> bool {
        let unreleased = self.unreleased();
        self.acknowledged = self.sent.wrapping_sub(unreleased);
        unreleased < self.depth
    }

    #[inline]
    pub fn count_sent(&mut self) {
        self.sent += 1;
    }

    #[inline]
    pub fn count_released(&mut self) {
        self.released += 1;
        let count = &self.counts[self.own];
        count.released.store(self.released, Ordering::Release);
        if self.sleep.is_some() {
            count.room.count_released(self.depth as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::fd::{FromRawFd, OwnedFd},
        thread,
        time::Instant,
    };

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
        let mut leader = FlowControl::open(true, 2, None, &mut wire).unwrap();
        let mut follower = FlowControl::open(false, 2, None, &mut wire).unwrap();
        for _ in 0..2 {
            assert!(leader.has_room());
            leader.count_sent();
        }
        assert!(!leader.has_room());
        follower.count_released();
        assert!(leader.has_room() && follower.has_room());
    }

    #[test]
    fn a_sender_sleeps_until_a_quarter_of_the_depth_is_released() {
        let forever = Some(Duration::from_secs(600));
        let mut wire = Wire(None);
        let mut leader = FlowControl::open(true, 8, forever, &mut wire).unwrap();
        let mut follower = FlowControl::open(false, 8, forever, &mut wire).unwrap();
        for _ in 0..8 {
            assert!(leader.has_room());
            leader.count_sent();
        }
        let released = thread::spawn(move || (0..8).for_each(|_| follower.count_released()));
        assert!(leader.has_room());
        released.join().unwrap();
    }

    #[test]
    fn a_sleep_for_room_ends() {
        let (mut wire, short) = (Wire(None), Duration::from_millis(20));
        let mut leader = FlowControl::open(true, 1, Some(short), &mut wire).unwrap();
        leader.count_sent();
        let start = Instant::now();
        assert!(!leader.has_room());
        assert!(start.elapsed() >= short);
    }

    #[test]
    fn counters_that_are_missing_unsealed_or_too_short_are_refused() {
        let refused =
            |fd: Option<OwnedFd>| FlowControl::open(false, 2, None, &mut Wire(fd)).err().unwrap();
        refused(None);
        let memory = |bytes: libc::off_t, seals: libc::c_int| {
            // SAFETY: a NUL-terminated name; the descriptor is new.
            unsafe {
                let fd = libc::memfd_create(c"odd".as_ptr(), libc::MFD_ALLOW_SEALING);
                libc::ftruncate(fd, bytes);
                libc::fcntl(fd, libc::F_ADD_SEALS, seals);
                Some(OwnedFd::from_raw_fd(fd))
            }
        };
        let unsealed = refused(memory(1 << 20, 0)).to_string();
        assert!(unsealed.contains("can still change their size"), "{unsealed}");
        let short = refused(memory(8, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW)).to_string();
        assert!(short.contains("too short"), "{short}");
    }
}
