//! The floor: two bare processes passing one cache line to and fro, the least that a hop between
//! these two processors can cost. No contract, no engine, no transport.

use std::{
    hint::spin_loop,
    num::NonZero,
    os::fd::{AsFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_transport::{Error, Rendezvous, Role};
use nix::{
    sys::{
        memfd::{MFdFlags, memfd_create},
        mman::{MapFlags, ProtFlags, mmap, munmap},
    },
    unistd::ftruncate,
};

use ipcmark_machine::clock::{self, now_ns};

use crate::wire::FloorReport;

const PAGE: NonZero<usize> = NonZero::new(4096).expect("4096 is not 0");

/// How long a round lasts at least, so that the clock's two readings do not count.
const ROUND_NS: u64 = 500_000;

/// The fastest of so many rounds is the floor: whatever disturbs one only makes it longer.
const ROUNDS: usize = 15;

/// The number that ends the follower's loop.
const OVER: u64 = u64::MAX;

/// Measures the floor; the follower's part returns nothing.
pub(crate) fn measure(
    role: Role,
    peers: &mut dyn Rendezvous,
) -> Result<Option<FloorReport>, Error> {
    if matches!(role, Role::Follower(number) if number > 0) {
        // The floor is that of the leader and the first of its followers.
        return Ok(None);
    }
    let line = Line::open(role, peers)?;
    if !role.is_leader() {
        line.reflect();
        return Ok(None);
    }
    let count = line.calibrate();
    let rounds = (0..ROUNDS).map(|_| line.round(count) as f64 / count as f64);
    let round_trip_ns = rounds.fold(f64::INFINITY, f64::min);
    line.value().store(OVER, Ordering::Release);
    Ok(Some(FloorReport { round_trip_ns, ..clock_alone() }))
}

/// What the leader tells where no cache line can be shared.
pub(crate) fn clock_alone() -> FloorReport {
    let (clock_read_ns, clock_step_ns) = (clock::reading_cost_ns(), clock::step_ns());
    FloorReport { round_trip_ns: 0.0, clock_read_ns, clock_step_ns }
}

/// One cache line that both processes map.
struct Line(NonNull<AtomicU64>);

impl Line {
    fn open(role: Role, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        if role.is_leader() {
            let fd = memfd_create("ipcmark-floor", MFdFlags::MFD_CLOEXEC)
                .map_err(|e| Error::os("create", "the floor's memory", e))?;
            ftruncate(&fd, PAGE.get() as i64)
                .map_err(|e| Error::os("size", "the floor's memory", e))?;
            peers.send(0, b"floor", &[fd.as_fd()])?;
            return Self::map(&fd);
        }
        let (_, fds) = peers.receive(0)?;
        let fd =
            fds.first().ok_or_else(|| Error::new("open", "the floor's memory", "none came"))?;
        Self::map(fd)
    }

    fn map(fd: &OwnedFd) -> Result<Self, Error> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let page = unsafe { mmap(None, PAGE, access, flags, fd, 0) };
        Ok(Self(page.map_err(|e| Error::os("map", "the floor's memory", e))?.cast()))
    }

    fn value(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped while `self` lives, aligned, zeroed and only used atomically.
        unsafe { self.0.as_ref() }
    }

    /// The follower: answers every odd number with the next even one.
    fn reflect(&self) {
        let mut expected = 1;
        loop {
            // Acquire and release pair as in a transport that hands a payload over with the number.
            let seen = self.value().load(Ordering::Acquire);
            if seen == OVER {
                return;
            }
            if seen == expected {
                self.value().store(expected + 1, Ordering::Release);
                expected += 2;
            } else {
                spin_loop();
            }
        }
    }

    /// The leader: `count` round trips; their length.
    fn round(&self, count: u64) -> u64 {
        let first = self.value().load(Ordering::Acquire);
        let start = now_ns();
        for n in 0..count {
            let sent = first + 2 * n + 1;
            self.value().store(sent, Ordering::Release);
            while self.value().load(Ordering::Acquire) != sent + 1 {
                spin_loop();
            }
        }
        now_ns() - start
    }

    /// How many round trips make a round; few where both processes share one processor.
    fn calibrate(&self) -> u64 {
        let mut count = 1;
        loop {
            let elapsed = self.round(count);
            if elapsed >= ROUND_NS {
                return count;
            }
            count *= 2;
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and nobody refers to it any more.
        let _ = unsafe { munmap(self.0.cast(), PAGE.get()) };
    }
}
