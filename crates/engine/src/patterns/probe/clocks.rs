//! The clock comparison: how far the clock is ahead that the first follower reads on its processor.

use std::sync::atomic::Ordering;

use ipcmark_machine::{
    clock::now_ns,
    clock_offset::{Offset, Readings, exchange},
};
use ipcmark_results::ClockOffset;

use super::{PROBE_TIMEOUT, ProbePages, STEP_BITS};

/// The first of the words in which the follower leaves its readings, behind the lines of the floor.
const FIRST_READING: usize = 256;

impl ProbePages {
    /// The leader's part, after it has called the follower; none if the comparison is given up.
    pub(crate) fn compare_clocks(&mut self) -> Option<ClockOffset> {
        self.probe += 1;
        let deadline = now_ns() + PROBE_TIMEOUT.as_nanos() as u64;
        let readings = self.readings(deadline);
        self.over().store(self.probe, Ordering::Release);
        readings.map(|[ours, theirs]| {
            let Offset { least_ns, estimate_ns, most_ns } = Offset::of(&ours, &theirs);
            ClockOffset { least_ns, estimate_ns, most_ns }
        })
    }

    /// The readings of both endpoints.
    fn readings(&self, deadline: u64) -> Option<[Readings; 2]> {
        let mut step = (self.probe << STEP_BITS) + 1;
        self.round_trips(0, &mut step, 1, deadline)?;
        self.word(0).store(step, Ordering::Release);
        let ours = exchange(self.word(0), step + 1, &|| now_ns() > deadline)?;
        self.their_core(deadline)?;
        let reading = |at| self.word_at(FIRST_READING + at).load(Ordering::Relaxed);
        Some([ours, std::array::from_fn(reading)])
    }

    /// The follower's part.
    pub(crate) fn tell_clock(&mut self) {
        let expected = ((self.probe + 1) << STEP_BITS) + 1;
        let Some(arrived) = self.answer(0, expected) else { return };
        let is_over = || self.over().load(Ordering::Acquire) >= arrived >> STEP_BITS;
        if let Some(readings) = exchange(self.word(0), arrived + 2, &is_over) {
            // Ordered by what is told then.
            for (at, ns) in readings.into_iter().enumerate() {
                self.word_at(FIRST_READING + at).store(ns, Ordering::Relaxed);
            }
            self.tell(arrived, false);
        }
        self.await_end(arrived);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{super::tests::pages, *};

    #[test]
    fn clocks_are_compared_between_two_readings() {
        let (mut leader, mut follower) = pages();
        assert_eq!(leader.compare_clocks(), None, "nobody came");
        // Both endpoints of one process have one clock; on a busy machine a comparison can be given up.
        let mut compared = None;
        while compared.is_none() {
            thread::scope(|scope| {
                scope.spawn(|| follower.tell_clock());
                compared = leader.compare_clocks();
            });
        }
        let ClockOffset { least_ns, estimate_ns, most_ns } = compared.unwrap();
        assert!(least_ns <= 0 && most_ns >= 0, "{least_ns} {most_ns}");
        assert!((least_ns..=most_ns).contains(&estimate_ns), "{estimate_ns}");
    }
}
