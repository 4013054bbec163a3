//! Two threads of this process on two processors, to measure the distance between the processors, how far the clock of
//! one is ahead, and the time of a hand-over between sleeping threads.

mod clocks;
mod floor;

use std::{
    hint::spin_loop,
    ptr,
    sync::{
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::Duration,
};

use ipcmark_transport::Error;

pub use self::{clocks::clock_offsets, floor::probes};
use crate::{clock::now_ns, pin::Pin};

/// The bits of the steps of one probe or comparison.
const STEP_BITS: u32 = 16;

/// A probe that takes longer is given up: the processors do not run at the same time.
pub const PATIENCE_NS: u64 = 200_000;

/// The time from one probe to the next. It is longer than [`PATIENCE_NS`], so that every probe represents the same
/// share of the time. The states of virtual processors last for milliseconds.
pub const PERIOD_NS: u64 = 250_000;

/// The number of polls between two clock readings of the leader: a successful probe hardly ever reads it.
const POLLS_A_LOOK: u32 = 1 << 10;

/// Measures once in each [`PERIOD_NS`] of this duration, spinning in between.
fn in_each_period<R>(duration: Duration, mut measure: impl FnMut() -> R) -> Vec<R> {
    let count = (duration.as_nanos() as u64).div_ceil(PERIOD_NS);
    let start = now_ns();
    let mut measured = |n| {
        while now_ns() < start + n * PERIOD_NS {
            spin_loop();
        }
        measure()
    };
    (0..count).map(&mut measured).collect()
}

/// The first step of what the leader asked for with this number, on lines of its own.
fn first_step(asked: u32) -> u64 {
    u64::from(asked) << STEP_BITS
}

/// Nanoseconds of round trips between two threads that sleep until they are woken, `most` at most.
///
/// # Errors
/// As [`probes`].
pub fn hand_overs(cpus: (u32, u32), duration: Duration, most: usize) -> Result<Vec<u64>, Error> {
    let lead = |line: &SharedLine| {
        let mut last = now_ns();
        let end = last + duration.as_nanos() as u64;
        let mut times = Vec::new();
        while last < end && times.len() < most {
            line.hand_over();
            let now = now_ns();
            times.push(now - last);
            last = now;
        }
        times
    };
    on_both(cpus, lead, SharedLine::reflect_asleep)
}

/// Runs `lead` on the first processor and `follow` on the second, until `lead` returns.
fn on_both<R: Send>(
    cpus: (u32, u32),
    lead: impl FnOnce(&SharedLine) -> R + Send,
    follow: impl FnOnce(&SharedLine) + Send,
) -> Result<R, Error> {
    let line = &SharedLine::default();
    // The leader starts once the follower is on its processor.
    let (arrived, follower) = sync_channel(1);
    thread::scope(|scope| {
        let following =
            thread::Builder::new().name("follower".into()).spawn_scoped(scope, move || {
                let pin = Pin::to(cpus.1);
                let is_there = pin.is_ok();
                // There is no receiver if the leader could not be started.
                let _ = arrived.send(pin.map(drop));
                if is_there {
                    follow(line);
                }
            });
        let leading = thread::Builder::new().name("leader".into()).spawn_scoped(scope, move || {
            let _end = EndOnDrop(line);
            Pin::to(cpus.0)?;
            follower.recv().unwrap_or_else(|_| Err(died()))?;
            Ok(lead(line))
        });
        // Without a leader nothing else would end the follower.
        let _end = leading.is_err().then(|| EndOnDrop(line));
        following.map_err(|e| Error::scarce("start", "a thread", e))?;
        let leading = leading.map_err(|e| Error::scarce("start", "a thread", e))?;
        leading.join().unwrap_or_else(|_| Err(died()))
    })
}

fn died() -> Error {
    Error::new("measure between", "two processors", "a thread panicked")
}

/// A number and the follower's end flag, on a separate cache line; 128 bytes, for processors that fetch lines in pairs.
/// The leader writes odd numbers, the follower answers each with the next even one. If an abandoned probe left an
/// overwritten number, the next odd number is still answered.
#[repr(align(128))]
#[derive(Default)]
struct SharedLine {
    number: AtomicU32,
    is_over: AtomicBool,
}

/// Ends the follower when it is dropped, also if the leader panics.
struct EndOnDrop<'a>(&'a SharedLine);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.ask();
    }
}

impl SharedLine {
    /// One round trip, with the returned number; none if the deadline has passed.
    fn round_trip(&self, deadline: u64) -> Option<u32> {
        let asked = self.next_odd();
        let answer = asked.wrapping_add(1);
        // Release and acquire pair as in a transport that hands a payload over with the number.
        self.number.store(asked, Ordering::Release);
        let mut polls: u32 = 0;
        while self.number.load(Ordering::Acquire) != answer {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_A_LOOK) && now_ns() > deadline {
                return None;
            }
            spin_loop();
        }
        Some(asked)
    }

    fn next_odd(&self) -> u32 {
        self.number.load(Ordering::Relaxed).wrapping_add(1) | 1
    }

    /// Answers the leader's next number, and returns it; none once the leader has ended.
    #[inline(always)]
    fn answer(&self) -> Option<u32> {
        while !self.is_over.load(Ordering::Acquire) {
            let seen = self.number.load(Ordering::Acquire);
            if seen % 2 == 1 {
                self.number.store(seen.wrapping_add(1), Ordering::Release);
                return Some(seen);
            }
            spin_loop();
        }
        None
    }

    /// True if the leader has ended, or has sent another number since this one was answered.
    fn has_moved_on(&self, answered: u32) -> bool {
        self.is_over.load(Ordering::Acquire)
            || self.number.load(Ordering::Acquire) != answered.wrapping_add(1)
    }

    /// One round trip to a follower that sleeps.
    fn hand_over(&self) {
        let sent = self.ask();
        while self.number.load(Ordering::Acquire) == sent {
            self.sleep_at(sent);
        }
    }

    /// The follower that sleeps.
    fn reflect_asleep(&self) {
        while !self.is_over.load(Ordering::Acquire) {
            let seen = self.number.load(Ordering::Acquire);
            if seen % 2 == 1 {
                self.number.store(seen.wrapping_add(1), Ordering::Release);
                self.wake();
            } else {
                self.sleep_at(seen);
            }
        }
    }

    /// Sends the leader's next number, and wakes the follower.
    fn ask(&self) -> u32 {
        let sent = self.next_odd();
        self.number.store(sent, Ordering::Release);
        self.wake();
        sent
    }

    /// Sleeps until it is woken; returns at once if the number has already changed.
    fn sleep_at(&self, number: u32) {
        let forever = ptr::null::<libc::timespec>();
        // SAFETY: the word is aligned and lives as long as the call. The caller checks again after any return value.
        unsafe {
            libc::syscall(libc::SYS_futex, self.number.as_ptr(), WAIT, number, forever);
        }
    }

    fn wake(&self) {
        // SAFETY: as in `sleep_at`.
        unsafe {
            libc::syscall(libc::SYS_futex, self.number.as_ptr(), WAKE, 1);
        }
    }
}

const WAIT: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: libc::c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;

    /// The first and the last processor; the same one if there is only one.
    pub(super) fn cpus() -> (u32, u32) {
        let cpus = topology::usable().unwrap();
        (cpus[0].id, cpus[cpus.len() - 1].id)
    }

    /// Repeats a measurement until both processors ran at the same time: a busy machine does that only now and then.
    pub(super) fn until_they_meet<R>(mut measure: impl FnMut() -> Option<R>) -> R {
        let watchdog = now_ns() + 120_000_000_000;
        loop {
            if let Some(measured) = measure() {
                return measured;
            }
            assert!(now_ns() < watchdog, "they were apart for two minutes");
        }
    }

    #[test]
    fn sleeping_threads_hand_over_the_requested_number_of_times() {
        let (first, last) = cpus();
        for pair in [(first, last), (first, first)] {
            let times = hand_overs(pair, Duration::from_secs(60), 100).unwrap();
            assert_eq!(times.len(), 100);
            assert!(times.iter().all(|ns| *ns > 0));
        }
        assert!(
            !hand_overs((first, last), Duration::from_millis(5), usize::MAX).unwrap().is_empty()
        );
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_on_either_side() {
        let there = cpus().0;
        for pair in [(there, 1_023), (1_023, there)] {
            let error = probes(pair, Duration::from_millis(1)).unwrap_err().to_string();
            assert!(error.contains("cpu 1023"), "{error}");
            assert!(hand_overs(pair, Duration::from_millis(1), 1).is_err());
        }
    }

    #[test]
    fn a_number_overwritten_by_a_late_follower_is_written_again() {
        let line = SharedLine::default();
        assert_eq!(line.next_odd(), 1);
        line.number.store(1, Ordering::Relaxed);
        assert_eq!(line.next_odd(), 3, "unanswered");
        line.number.store(2, Ordering::Relaxed);
        assert_eq!(line.next_odd(), 3);
        line.number.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(line.next_odd(), 1, "the numbers begin anew");
    }
}
