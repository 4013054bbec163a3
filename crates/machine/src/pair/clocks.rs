//! How far the clock of the second processor is ahead.

use std::{
    hint::spin_loop,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ipcmark_transport::Error;

use super::{PATIENCE_NS, SharedLine, first_step, in_each_period, on_both};
use crate::{
    clock::now_ns,
    clock_offset::{Offset, Readings, exchange},
};

/// How far the clock of the second processor is ahead, compared once in each [`PERIOD_NS`](super::PERIOD_NS). There are
/// fewer comparisons if the processors do not always run at the same time.
///
/// # Errors
/// As [`probes`](super::probes).
pub fn clock_offsets(cpus: (u32, u32), duration: Duration) -> Result<Vec<Offset>, Error> {
    let clocks = &ClockLine::default();
    let lead = |line: &SharedLine| {
        in_each_period(duration, || clocks.compare(line)).into_iter().flatten().collect()
    };
    on_both(cpus, lead, |line| clocks.tell(line))
}

/// The line that is passed to and fro, and the second end's readings with the number of their comparison.
#[repr(align(128))]
#[derive(Default)]
struct ClockLine {
    step: AtomicU64,
    told: Mutex<Option<(u32, Readings)>>,
}

impl ClockLine {
    /// The leader's part; none if the other end does not run at the same time.
    fn compare(&self, line: &SharedLine) -> Option<Offset> {
        let deadline = now_ns() + PATIENCE_NS;
        let asked = line.round_trip(deadline)?;
        let first = first_step(asked);
        self.step.store(first, Ordering::Release);
        let ours = exchange(&self.step, first + 1, &|| now_ns() > deadline)?;
        while now_ns() < deadline {
            match self.told().take() {
                Some((number, theirs)) if number == asked => {
                    return Some(Offset::of(&ours, &theirs));
                }
                _ => spin_loop(),
            }
        }
        None
    }

    /// The follower's part, until the leader ends.
    fn tell(&self, line: &SharedLine) {
        while let Some(asked) = line.answer() {
            let gives_up = || line.has_moved_on(asked);
            if let Some(readings) = exchange(&self.step, first_step(asked), &gives_up) {
                *self.told() = Some((asked, readings));
            }
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<(u32, Readings)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{cpus, until_they_meet},
        *,
    };

    #[test]
    fn clocks_of_one_processor_are_never_compared_and_the_attempt_ends() {
        let cpu = cpus().0;
        let offsets = clock_offsets((cpu, cpu), Duration::from_millis(20)).unwrap();
        assert!(offsets.is_empty(), "{offsets:?}");
    }

    #[test]
    fn an_offset_lies_between_its_bounds() {
        let (first, last) = cpus();
        if first == last {
            return;
        }
        let compared = || clock_offsets((first, last), Duration::from_millis(20)).unwrap();
        let offsets = until_they_meet(|| Some(compared()).filter(|offsets| !offsets.is_empty()));
        for offset in offsets {
            let Offset { least_ns, estimate_ns, most_ns } = offset;
            assert!(least_ns <= estimate_ns && estimate_ns <= most_ns, "{offset:?}");
        }
    }

    /// The follower took the number with which the leader ends for that of a comparison, and waited forever.
    #[test]
    fn a_comparison_asked_for_at_the_end_is_given_up() {
        let (line, clocks) = (SharedLine::default(), ClockLine::default());
        line.ask();
        let asked = line.answer().unwrap();
        line.is_over.store(true, Ordering::Release);
        let gives_up = || line.has_moved_on(asked);
        assert_eq!(exchange(&clocks.step, first_step(asked), &gives_up), None);
    }

    #[test]
    fn a_follower_of_an_abandoned_comparison_joins_the_next() {
        let (line, clocks) = (SharedLine::default(), ClockLine::default());
        std::thread::scope(|scope| {
            scope.spawn(|| clocks.tell(&line));
            let _end = super::super::EndOnDrop(&line);
            // The leader asks and does not begin.
            while line.round_trip(now_ns() + PATIENCE_NS).is_none() {}
            while clocks.compare(&line).is_none() {}
        });
    }
}
