//! The references: two bare processes that do the minimum that a row of a group must do, with neither contract nor
//! transport. If endpoints sleep, that is one futex a hop; if every byte of a payload is touched, it is the write
//! and the read of as many bytes of shared memory, handed over by one word. They take turns with the rows and are
//! probed like them, so that a row's multiple of its reference divides like by like.

use std::{
    hint::spin_loop,
    num::NonZero,
    os::fd::{AsFd, OwnedFd},
    ptr::{self, NonNull},
    slice,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use ipcmark_transport::{Error, Rendezvous, Role, Settings, Wait};
use nix::{
    sys::{
        memfd::{MFdFlags, memfd_create},
        mman::{MapFlags, ProtFlags, mmap, munmap},
    },
    unistd::ftruncate,
};

use super::{
    blocks::BlockLoop,
    context::LoopContext,
    cost_meter::CostMeter,
    losses::Losses,
    message::{Head, PROBE, SLEEP, TouchPolicy, WholeMessage},
    steps::{self, ClockFree, Sampled},
    turns::{self, LeaderChannel},
};
use crate::wire::{FollowerReport, LeaderReport, Pass, Traffic};

/// A cache line.
const LINE: usize = 64;

/// The bytes of the control words.
const WORDS: usize = 8;

/// The distance of a payload that does not fit beside the control words: processors fetch lines in pairs.
const APART: usize = 128;

/// A sleep ends by itself after this long, so that a worker can be told that its peer was killed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The offset of the payload. It shares the line of the control words if it fits there, so that a hop moves one line. A
/// longer one has lines of its own: the receiver polls the line of the words, and takes it away from a sender that still
/// writes there.
fn offset(payload: usize) -> usize {
    if WORDS + payload <= LINE { WORDS } else { APART }
}

/// The memory of a reference: one word that alternates between the two, and a payload that changes its owner with
/// it.
pub(crate) struct Bare {
    memory: NonNull<u8>,
    length: NonZero<usize>,
    payload: usize,
    sleeps: bool,
}

impl Bare {
    /// Makes the memory in the leader and maps it in the follower.
    pub(crate) fn open(settings: &Settings, peers: &mut dyn Rendezvous) -> Result<Self, Error> {
        let sleeps = settings.wait != Wait::Spin;
        // A futex reference has no payload.
        let payload = if sleeps { 0 } else { settings.payload };
        let length =
            NonZero::new((offset(payload) + payload).next_multiple_of(4096)).expect("not 0");
        let fd = match settings.role {
            Role::Leader => {
                let fd = memory(length.get())?;
                peers.send(0, b"bare", &[fd.as_fd()])?;
                fd
            }
            Role::Follower(_) => {
                let (_, mut fds) = peers.receive(0)?;
                fds.pop()
                    .ok_or_else(|| Error::new("open", "the reference's memory", "none came"))?
            }
        };
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { mmap(None, length, access, flags, &fd, 0) };
        let memory = memory.map_err(|e| Error::os("map", "the reference's memory", e))?.cast();
        Ok(Self { memory, length, payload, sleeps })
    }

    /// The control word: the message's sequence number, odd from the leader and even from the follower.
    fn word(&self) -> &AtomicU32 {
        // SAFETY: it lies at the start of the mapping, which lives as long as `self`, is zeroed and only used
        // atomically.
        unsafe { self.memory.cast::<AtomicU32>().as_ref() }
    }

    /// The message's flags, on the same cache line as the word.
    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above; four bytes behind it.
        unsafe { self.memory.add(4).cast::<AtomicU32>().as_ref() }
    }

    /// The address of the payload.
    #[inline(always)]
    fn at(&self) -> *mut u8 {
        // SAFETY: the mapping is longer than the offset.
        unsafe { self.memory.add(offset(self.payload)) }.as_ptr()
    }

    /// Writes the payload and publishes it.
    #[inline(always)]
    fn send(&self, number: u32, flags: u32) {
        if self.payload > 0 {
            // SAFETY: the payload lies within the mapping, after the words; the other endpoint reads it only once
            // the word below has this number.
            let payload = unsafe { slice::from_raw_parts_mut(self.at(), self.payload) };
            WholeMessage::write(Head { seq: u64::from(number), flags }, payload);
        }
        self.flags().store(flags, Ordering::Relaxed);
        self.word().store(number, Ordering::Release);
        if self.sleeps {
            futex(self.word(), libc::FUTEX_WAKE, 1, ptr::null());
        }
    }

    /// Waits for the payload with this number and reads it; returns its flags.
    #[inline(always)]
    fn receive(&self, number: u32) -> Result<u32, Error> {
        while self.word().load(Ordering::Acquire) != number {
            if self.sleeps {
                let limit = libc::timespec { tv_sec: LONGEST_SLEEP.as_secs() as i64, tv_nsec: 0 };
                futex(self.word(), libc::FUTEX_WAIT, number.wrapping_sub(1), &limit);
            } else {
                spin_loop();
            }
        }
        let flags = self.flags().load(Ordering::Relaxed);
        if self.payload > 0 {
            // SAFETY: as above; the other endpoint writes it only once this one has answered.
            let payload = unsafe { slice::from_raw_parts(self.at(), self.payload) };
            if !WholeMessage::read(Head { seq: u64::from(number), flags }, payload) {
                return Err(Error::new("read", "the reference's memory", "it holds other bytes"));
            }
        }
        Ok(flags)
    }

    /// The leader's part of a case.
    pub(crate) fn lead(
        &mut self,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let mut ends =
            ReferenceLeader { bare: self, number: 0, sent: 0, losses: Losses::default() };
        turns::lead(&mut ends, pass, context)
    }

    /// The follower's part of a case.
    pub(crate) fn follow(&mut self, context: LoopContext<'_>) -> Result<FollowerReport, Error> {
        let LoopContext { peers, mut probe, .. } = context;
        let (mut leader, mut meter) = (LeaderChannel(peers), CostMeter::new());
        let (mut number, mut before, mut traffic) = (0_u32, 0_u32, Traffic::default());
        loop {
            number = number.wrapping_add(2);
            let flags = self.receive(number.wrapping_sub(1))?;
            self.send(number, 0);
            if flags & PROBE != 0
                && let Some(pages) = &mut probe
            {
                meter.around_probe(|| pages.reflect());
            }
            if flags & SLEEP != 0 {
                if meter.stop() {
                    let count = u64::from(number.wrapping_sub(before) / 2);
                    traffic =
                        Traffic { sent: traffic.sent + count, received: traffic.received + count };
                }
                if !leader.sleep()? {
                    let (costs, thread) = meter.total();
                    return Ok(FollowerReport { traffic, costs: Some(costs), thread });
                }
                before = number;
                meter.start();
            }
        }
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32, limit: *const libc::timespec) {
    // SAFETY: the word is valid; the caller repeats a wait that ends early.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, limit) };
}

/// The leader's endpoint of a reference.
struct ReferenceLeader<'a> {
    bare: &'a mut Bare,
    number: u32,
    sent: u64,
    losses: Losses,
}

impl ReferenceLeader<'_> {
    #[inline(always)]
    fn round_trip(&mut self, flags: u32) -> Result<(), Error> {
        self.number = self.number.wrapping_add(2);
        self.sent += 1;
        self.bare.send(self.number.wrapping_sub(1), flags);
        self.bare.receive(self.number).map(drop)
    }
}

impl BlockLoop for ReferenceLeader<'_> {
    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.round_trip(flags).map(|()| true)
    }

    #[inline(never)]
    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        steps::sampled(slots, wanted, length_ns, || self.round_trip(0))
    }

    #[inline(never)]
    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error> {
        steps::clock_free(count, || self.round_trip(0))
    }

    fn start_measuring(&mut self) {}

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn traffic(&self) -> Traffic {
        Traffic { sent: self.sent, received: self.sent }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open` with this length and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory.cast(), self.length.get()) };
    }
}

fn memory(length: usize) -> Result<OwnedFd, Error> {
    let fd = memfd_create("ipcmark-bare", MFdFlags::MFD_CLOEXEC)
        .map_err(|e| Error::os("create", "the reference's memory", e))?;
    ftruncate(&fd, length as i64).map_err(|e| Error::os("size", "the reference's memory", e))?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: 16 B had a line of their own, so that rows which move one line were 0.39 of the least possible.
    #[test]
    fn a_payload_shares_the_line_of_the_words_where_it_fits_and_else_has_none_of_theirs() {
        for payload in [1, 16, 48, LINE - WORDS] {
            assert_eq!((offset(payload), (offset(payload) + payload).div_ceil(LINE)), (WORDS, 1));
        }
        for payload in [LINE - WORDS + 1, LINE, 4096] {
            assert!(offset(payload).is_multiple_of(2 * LINE) && offset(payload) > 0, "{payload}");
        }
    }
}
