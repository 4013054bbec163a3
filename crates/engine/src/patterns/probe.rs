//! The probe: a short burst of floor round trips between the leader and its first follower, the least that a hop
//! between their two processors costs at this moment. One runs before and after every block, and so gives the
//! distance at which the block was measured.
//!
//! A floor round trip passes one cache line to and fro, without contract, engine or transport, on eight lines side by
//! side ([`floor`]).
//!
//! Each line holds one word: the number of the probe in its upper bits, the step in its lower. The leader writes
//! odd steps, the follower even ones. One more line holds the number of the last probe that is over: when the
//! leader gives up, the follower may be about to overwrite its line with its step. A follower that comes late finds
//! its probe over and returns; so neither waits for the other forever.
//!
//! After the round trips each endpoint finds out whether another thread of its core works, and the follower tells the
//! leader, beside its first word.

mod clocks;

use std::{
    hint::spin_loop,
    num::NonZero,
    os::fd::{AsFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ipcmark_machine::{
    clock::{now_ns, reading_cost_ns},
    floor::{self, LINES, STRIDE, await_step},
    shared_core::CoreWatch,
};
use ipcmark_transport::{Error, Rendezvous, Role};
use nix::{
    fcntl::{FcntlArg, SealFlag, fcntl},
    sys::{
        memfd::{MFdFlags, memfd_create},
        mman::{MapFlags, ProtFlags, mmap, munmap},
        stat::fstat,
    },
    unistd::ftruncate,
};

/// The round trips before the first that count, in which both endpoints arrive.
const ARRIVAL: u32 = 8;

/// The bytes of the memory: the lines of the floor, the one with the number of the last probe that is over, and what the
/// follower tells.
const LENGTH: NonZero<usize> = NonZero::new(4096).expect("it is not 0");

/// The name of the memory in error messages.
const PAGES: &str = "the pages of the probes";

/// A probe or comparison that takes longer is given up: the two processors do not run at the same time.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_micros(200);

/// After this long the follower stops waiting for the leader: the message that called it announced a probe that was
/// over before the message arrived, and another probe may never come.
const NOBODY_COMES: Duration = Duration::from_millis(20);

/// The number of polls that the leader makes between two looks at the clock: a few microseconds, so that a
/// successful probe never looks.
const POLLS_A_LOOK: u32 = 1 << 10;

/// The number of polls that the follower makes between two looks at the line that the leader seldom writes.
const POLLS_A_LOOK_FOR_THE_END: u32 = 1 << 5;

/// The bits of the step within a word.
const STEP_BITS: u32 = 16;

/// The result of one probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distance {
    /// The duration of a floor round trip, in nanoseconds.
    RoundTrip(f64),
    /// The same, while another thread used the core of one of the endpoints.
    OnSharedCore(f64),
    /// The processors did not run at the same time.
    Apart,
}

impl Distance {
    /// The floor round trip in nanoseconds; [`PROBE_TIMEOUT`] if the processors were apart.
    pub(crate) fn ns(self) -> f64 {
        match self {
            Distance::RoundTrip(ns) | Distance::OnSharedCore(ns) => ns,
            Distance::Apart => PROBE_TIMEOUT.as_nanos() as f64,
        }
    }
}

/// The pages that both endpoints map.
#[derive(Debug)]
pub(crate) struct ProbePages {
    pages: NonNull<u8>,
    /// The number of the last probe.
    probe: u64,
    /// The leader's cost of a clock reading, which the time of every line includes once.
    reading_ns: f64,
    core: CoreWatch,
}

impl ProbePages {
    /// Creates the pages in the leader and maps them in follower 0; other followers get none.
    pub(crate) fn open(role: Role, peers: &mut dyn Rendezvous) -> Result<Option<Self>, Error> {
        let fd = match role {
            Role::Leader => {
                let fd = memory()?;
                peers.send(0, b"probe", &[fd.as_fd()])?;
                fd
            }
            Role::Follower(0) => {
                let (_, mut fds) = peers.receive(0)?;
                let fd = fds.pop().ok_or_else(|| Error::new("open", PAGES, "none came"))?;
                check(&fd)?;
                fd
            }
            Role::Follower(_) => return Ok(None),
        };
        Self::map(&fd).map(Some)
    }

    fn map(fd: &OwnedFd) -> Result<Self, Error> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let pages = unsafe { mmap(None, LENGTH, access, flags, fd, 0) };
        let pages = pages.map_err(|e| Error::scarce("map", PAGES, e))?;
        let (reading_ns, core) = (reading_cost_ns(), CoreWatch::start());
        Ok(Self { pages: pages.cast(), probe: 0, reading_ns, core })
    }

    /// The word of a line.
    fn word(&self, line: usize) -> &AtomicU64 {
        self.word_at(line * (STRIDE / size_of::<AtomicU64>()))
    }

    fn word_at(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at < LENGTH.get() / size_of::<AtomicU64>());
        // SAFETY: the word lies within the mapping, which lives as long as `self`, is aligned and zeroed, and is only
        // used through atomics.
        unsafe { self.pages.cast::<AtomicU64>().add(at).as_ref() }
    }

    /// The number of the last probe that is over.
    fn over(&self) -> &AtomicU64 {
        self.word(LINES)
    }

    /// The leader's part, after it has called the follower.
    pub(crate) fn measure(&mut self) -> Distance {
        self.probe += 1;
        let deadline = now_ns() + PROBE_TIMEOUT.as_nanos() as u64;
        let measured = self.distance(deadline).unwrap_or(Distance::Apart);
        self.over().store(self.probe, Ordering::Release);
        measured
    }

    /// None if the probe is given up.
    fn distance(&mut self, deadline: u64) -> Option<Distance> {
        let ns = self.floor(deadline)?;
        let is_shared = self.core.is_shared();
        let is_their_core_shared = self.their_core(deadline)?;
        Some(match is_shared || is_their_core_shared {
            true => Distance::OnSharedCore(ns),
            false => Distance::RoundTrip(ns),
        })
    }

    /// True if the follower's core is shared; none if it did not tell in time.
    fn their_core(&self, deadline: u64) -> Option<bool> {
        loop {
            let told = self.their_word().load(Ordering::Acquire);
            if told >> 1 == self.probe {
                return Some(told & 1 == 1);
            }
            if now_ns() > deadline {
                return None;
            }
            spin_loop();
        }
    }

    /// A floor round trip in nanoseconds; none if the probe is given up.
    fn floor(&self, deadline: u64) -> Option<f64> {
        let mut step = (self.probe << STEP_BITS) + 1;
        self.round_trips(0, &mut step, ARRIVAL, deadline)?;
        floor::measure(self.reading_ns, |line, count| {
            self.round_trips(line, &mut step, count, deadline)
        })
    }

    /// Runs `count` round trips on a line, starting with this step; none if the deadline has passed.
    fn round_trips(&self, line: usize, step: &mut u64, count: u32, deadline: u64) -> Option<()> {
        let word = self.word(line);
        for _ in 0..count {
            word.store(*step, Ordering::Release);
            await_step(word, *step + 1, POLLS_A_LOOK, || now_ns() > deadline)?;
            *step += 2;
        }
        Some(())
    }

    /// What the follower tells, beside the first word: the number of the probe and, in the lowest bit, whether the
    /// follower's core is shared.
    fn their_word(&self) -> &AtomicU64 {
        self.word_at(1)
    }

    /// The follower's part of a probe: answers until the leader ends it.
    pub(crate) fn reflect(&mut self) {
        let mut expected = ((self.probe + 1) << STEP_BITS) + 1;
        let mut answer = |line| {
            expected = self.answer(line, expected)? + 2;
            Some(())
        };
        let arrived = (0..ARRIVAL).try_for_each(|_| answer(0));
        if arrived.and_then(|()| floor::answer(answer)).is_none() {
            return;
        }
        let is_shared = self.core.is_shared();
        self.tell(expected, is_shared);
        self.await_end(expected);
    }

    /// Tells the leader that the follower has done its part of the probe of this step, and whether its core is shared.
    fn tell(&self, step: u64, is_shared: bool) {
        let told = (step >> STEP_BITS) << 1 | u64::from(is_shared);
        self.their_word().store(told, Ordering::Release);
    }

    fn await_end(&mut self, step: u64) {
        while !self.is_over(step) {
            spin_loop();
        }
    }

    /// Answers one step on a line: `expected`, or a step of a later probe if the message that announced an earlier
    /// one was lost. None if the probe is over.
    #[inline(always)]
    fn answer(&mut self, line: usize, expected: u64) -> Option<u64> {
        let (mut polls, mut since_ns): (u32, Option<u64>) = (0, None);
        loop {
            let seen = self.word(line).load(Ordering::Acquire);
            if seen >= expected && seen % 2 == 1 {
                self.word(line).store(seen + 1, Ordering::Release);
                return Some(seen);
            }
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_A_LOOK_FOR_THE_END) && self.is_over(expected) {
                return None;
            }
            if polls.is_multiple_of(POLLS_A_LOOK) {
                let now = now_ns();
                if now - *since_ns.get_or_insert(now) > NOBODY_COMES.as_nanos() as u64 {
                    self.probe = self.over().load(Ordering::Acquire);
                    return None;
                }
                // A thread of the library on this processor may still have to deliver the answer that the leader
                // waits for before it comes.
                std::thread::yield_now();
            }
            spin_loop();
        }
    }

    /// True if the probe of this step is over; the next probe is then the leader's next.
    fn is_over(&mut self, step: u64) -> bool {
        let over = self.over().load(Ordering::Acquire);
        let is_over = over >= step >> STEP_BITS;
        if is_over {
            self.probe = over;
        }
        is_over
    }
}

// SAFETY: the pages are only used through atomics, and any thread may unmap them.
unsafe impl Send for ProbePages {}

impl Drop for ProbePages {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length and nothing refers to it any more.
        let _ = unsafe { munmap(self.pages.cast(), LENGTH.get()) };
    }
}

fn memory() -> Result<OwnedFd, Error> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let fd = memfd_create("ipcmark-probe", flags).map_err(|e| Error::scarce("create", PAGES, e))?;
    ftruncate(&fd, LENGTH.get() as i64).map_err(|e| Error::scarce("size", PAGES, e))?;
    fcntl(&fd, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK))
        .map_err(|e| Error::os("seal", PAGES, e))?;
    Ok(fd)
}

/// The leader can be another user's: an access beyond the end of the memory would kill this process.
fn check(fd: &OwnedFd) -> Result<(), Error> {
    let seals = fcntl(fd, FcntlArg::F_GET_SEALS).map_err(|e| Error::os("check", PAGES, e))?;
    let can_shrink = !SealFlag::from_bits_truncate(seals).contains(SealFlag::F_SEAL_SHRINK);
    let length = fstat(fd).map_err(|e| Error::os("check", PAGES, e))?.st_size;
    match can_shrink || length < LENGTH.get() as i64 {
        true => Err(Error::new("map", PAGES, "they are too few, or can become fewer")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicBool, thread};

    use ipcmark_fdpass::SocketRendezvous;

    use super::*;

    pub(super) fn pages() -> (ProbePages, ProbePages) {
        let fd = memory().unwrap();
        (ProbePages::map(&fd).unwrap(), ProbePages::map(&fd).unwrap())
    }

    #[test]
    fn a_follower_that_does_not_come_makes_the_probe_apart() {
        let (mut leader, mut follower) = pages();
        assert_eq!(leader.measure(), Distance::Apart);
        // It comes late, and returns.
        follower.reflect();
        assert_eq!(leader.measure(), Distance::Apart);
    }

    #[test]
    fn a_follower_that_stops_within_a_probe_does_not_hold_the_leader() {
        let (mut leader, mut follower) = pages();
        // It answers the first step only.
        let first = (1 << STEP_BITS) + 1;
        let met = thread::scope(|scope| {
            let answering = scope.spawn(|| follower.answer(0, first).is_some());
            assert_eq!(leader.measure(), Distance::Apart);
            answering.join().unwrap()
        });
        if met {
            // It continues the same probe, and finds that it is over.
            follower.reflect();
        }
        assert_eq!(follower.probe, 1);
    }

    /// The messages of two probes came late, when both were over: the second was taken for the call of a third, and
    /// the follower waited for that probe while the leader waited for the follower to fall asleep.
    #[test]
    fn a_follower_called_too_often_does_not_wait_forever() {
        let (mut leader, mut follower) = pages();
        for _ in 0..2 {
            assert_eq!(leader.measure(), Distance::Apart);
        }
        for _ in 0..2 {
            follower.reflect();
            assert_eq!(follower.probe, 2);
        }
    }

    #[test]
    fn apart_takes_the_longest_wait_for_a_probe() {
        assert_eq!(Distance::RoundTrip(72.5).ns(), 72.5);
        assert_eq!(Distance::Apart.ns(), 200_000.0);
    }

    #[test]
    fn the_first_follower_alone_gets_the_pages() {
        let (mut ours, mut theirs) = SocketRendezvous::pair().unwrap();
        let leader = ProbePages::open(Role::Leader, &mut ours).unwrap();
        let first = ProbePages::open(Role::Follower(0), &mut theirs).unwrap();
        let second = ProbePages::open(Role::Follower(1), &mut theirs).unwrap();
        assert!(leader.is_some() && first.is_some() && second.is_none());
        leader.unwrap().over().store(5, Ordering::Release);
        assert_eq!(first.unwrap().over().load(Ordering::Acquire), 5, "they are the same");
        ours.send(0, b"nothing", &[]).unwrap();
        let error = ProbePages::open(Role::Follower(0), &mut theirs).unwrap_err().to_string();
        assert!(error.contains("none came"), "{error}");
    }

    #[test]
    fn the_follower_tells_whether_its_core_is_shared() {
        let (mut leader, follower) = pages();
        leader.probe = 7;
        let deadline = now_ns() + 1_000_000;
        follower.their_word().store(6 << 1 | 1, Ordering::Release);
        assert_eq!(leader.their_core(deadline), None, "that was the probe before");
        for is_shared in [false, true] {
            follower.their_word().store(7 << 1 | u64::from(is_shared), Ordering::Release);
            assert_eq!(leader.their_core(deadline), Some(is_shared));
        }
    }

    #[test]
    fn a_follower_that_missed_probes_meets_the_next() {
        let (mut leader, mut follower) = pages();
        for _ in 0..3 {
            leader.measure();
        }
        // As many as needed: on a busy machine a probe can be given up.
        let (over, mut met) = (AtomicBool::new(false), 0);
        thread::scope(|scope| {
            let reflecting = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    follower.reflect();
                }
            });
            while !reflecting.is_finished() {
                met += u32::from(leader.measure() != Distance::Apart);
                over.store(met > 0, Ordering::Relaxed);
            }
        });
        assert!(met > 0);
    }
}
