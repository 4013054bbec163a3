//! The distance between the two processors.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ipcmark_transport::Error;

use super::{PATIENCE_NS, POLLS_A_LOOK, SharedLine, first_step, in_each_period, on_both};
use crate::{
    clock::{now_ns, reading_cost_ns},
    floor::{self, LINES, await_step},
};

/// The number of polls between two looks of the follower whether the probe is given up.
const POLLS_A_LOOK_FOR_THE_END: u32 = 1 << 5;

/// Nanoseconds of a floor round trip between two processors, each measured by a short burst, one in each
/// [`PERIOD_NS`](super::PERIOD_NS). [`PATIENCE_NS`] if the processors did not run at the same time.
///
/// # Errors
/// A thread cannot be started, or cannot be pinned to its processor.
pub fn probes(cpus: (u32, u32), duration: Duration) -> Result<Vec<f64>, Error> {
    let lines = &FloorLines::default();
    let reading_ns = reading_cost_ns();
    let lead = |line: &SharedLine| {
        let probe = || lines.probe(line, reading_ns).unwrap_or(PATIENCE_NS as f64);
        in_each_period(duration, probe)
    };
    on_both(cpus, lead, |line| lines.reflect(line))
}

/// A line of the floor, with the next one a [`STRIDE`](floor::STRIDE) away.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

const _: () = assert!(size_of::<Line>() == floor::STRIDE);

/// The lines of the floor, side by side.
#[derive(Default)]
struct FloorLines([Line; LINES]);

impl FloorLines {
    /// The leader's part; none if the other end does not run at the same time.
    fn probe(&self, line: &SharedLine, reading_ns: f64) -> Option<f64> {
        let deadline = now_ns() + PATIENCE_NS;
        let mut step = first_step(line.round_trip(deadline)?);
        floor::measure(reading_ns, |line, count| {
            let Line(word) = &self.0[line];
            for _ in 0..count {
                word.store(step, Ordering::Release);
                step += 1;
                await_step(word, step, POLLS_A_LOOK, || now_ns() > deadline)?;
                step += 1;
            }
            Some(())
        })
    }

    /// The follower's part, until the leader ends.
    fn reflect(&self, line: &SharedLine) {
        while let Some(asked) = line.answer() {
            let mut step = first_step(asked);
            // One that is given up is followed by the next.
            let _ = floor::answer(|at| {
                let Line(word) = &self.0[at];
                await_step(word, step, POLLS_A_LOOK_FOR_THE_END, || line.has_moved_on(asked))?;
                word.store(step + 1, Ordering::Release);
                step += 2;
                Some(())
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{cpus, until_they_meet},
        *,
    };

    #[test]
    fn probes_come_in_equal_intervals() {
        let probes = probes(cpus(), Duration::from_millis(20)).unwrap();
        assert_eq!(probes.len(), 80);
        assert!(probes.iter().all(|ns| *ns > 0.0 && *ns <= PATIENCE_NS as f64), "{probes:?}");
    }

    #[test]
    fn processors_that_run_at_the_same_time_are_not_apart() {
        let (first, last) = cpus();
        if first == last {
            return;
        }
        let is_near = |ns: &f64| *ns < PATIENCE_NS as f64;
        until_they_meet(|| {
            let probes = probes((first, last), Duration::from_millis(20)).unwrap();
            probes.iter().any(is_near).then_some(())
        });
    }

    #[test]
    fn probes_between_threads_on_one_processor_are_apart_and_end() {
        let cpu = cpus().0;
        let probes = probes((cpu, cpu), Duration::from_millis(20)).unwrap();
        assert!(probes.contains(&(PATIENCE_NS as f64)), "{probes:?}");
    }

    #[test]
    fn a_follower_of_an_abandoned_probe_joins_the_next() {
        let (line, lines) = (SharedLine::default(), FloorLines::default());
        std::thread::scope(|scope| {
            scope.spawn(|| lines.reflect(&line));
            let _end = super::super::EndOnDrop(&line);
            // The leader asks and does not begin.
            while line.round_trip(now_ns() + PATIENCE_NS).is_none() {}
            while lines.probe(&line, 0.0).is_none() {}
        });
    }
}
