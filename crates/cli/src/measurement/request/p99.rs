//! Trials that are long enough for a 99th percentile, and how long they take.

use std::time::Duration;

use ipcmark_engine::{FEWEST_TRIALS, Length, Plan, Registry, Trials};
use ipcmark_results::stats::samples_needed;

use super::RunRequest;
use crate::arguments::run::RunArguments;

/// The shortest measurement of a row in each of [`FEWEST_TRIALS`].
const LEAST: Duration = Duration::from_millis(60);

/// The messages of a row in each trial, unless it has few trials.
const MESSAGES: f64 = 200.0;

/// More messages than a p99 needs, because those of random arrivals can be fewer than expected.
const SPARE: f64 = 1.2;

/// Messages this far apart are few in a trial if no p99 is needed.
const FAR_APART_NS: f64 = 5e7;

impl RunRequest {
    /// Sets three trials, each so long that all together give a p99 at the slowest load, unless the user has given
    /// their number or their length. That takes minutes if messages are far apart: then a trial is as short as possible
    /// unless the p99 `decides` something.
    pub(crate) fn measure_enough_for_p99(&mut self, arguments: &RunArguments, decides: bool) {
        let trials = arguments.trials.unwrap_or(FEWEST_TRIALS);
        let gap_ns = self.longest_gap_ns();
        let messages = match decides || gap_ns < FAR_APART_NS {
            true => MESSAGES.max(samples_needed(0.99) as f64 * SPARE / f64::from(trials)),
            // The engine sends a few all the same.
            false => 1.0,
        };
        let length = LEAST.max(Duration::from_nanos((messages * gap_ns) as u64));
        self.plan.trials = Trials::Fixed(trials);
        self.plan.length = Some(Length::Time(arguments.duration.unwrap_or(length)));
    }

    /// Refuses trials that are too short for a p99 at the slowest load.
    pub(crate) fn refuse_too_few_for_p99(&self) -> Result<(), String> {
        let (trials, length) = self.fixed();
        let (needed, gap_ns) = (samples_needed(0.99), self.longest_gap_ns());
        let messages = length.as_nanos() as f64 * f64::from(trials) / gap_ns.max(1.0);
        if messages >= needed as f64 {
            return Ok(());
        }
        let enough = gap_ns * needed as f64 / f64::from(trials) / 1e6;
        let enough = Duration::from_millis(enough.ceil() as u64);
        Err(format!(
            "a 99th percentile needs {needed} messages, and at {} the row has {} in {trials} trials of {}: leave \
             --duration out, or give {} or more",
            self.plan.loads[0],
            messages as u64,
            humantime::format_duration(length),
            humantime::format_duration(enough),
        ))
    }

    /// The time that its rows are measured for, if its trials and their length are fixed; else nothing.
    pub(crate) fn least_time(&self, registry: &Registry) -> Duration {
        let (trials, length) = self.fixed();
        length * trials * Plan::new(registry, &self.plan).measurable() as u32
    }

    /// The number of its trials and their length, if they are fixed; else nothing.
    fn fixed(&self) -> (u32, Duration) {
        match (self.plan.trials, self.plan.length) {
            (Trials::Fixed(trials), Some(Length::Time(length))) => (trials, length),
            _ => (0, Duration::ZERO),
        }
    }

    /// The longest time between two messages of a load; zero if none has one.
    fn longest_gap_ns(&self) -> f64 {
        let gaps = self.plan.loads.iter().filter_map(|load| load.gap_ns());
        gaps.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: with messages 50 ms apart or more there were 48 of them, and never a p99.
    #[test]
    fn where_a_p99_decides_it_gets_its_messages_at_any_rate() {
        let registry = ipcmark_registry::native();
        let messages = |flags: &str, decides: bool| {
            let words = format!("-t pipe -w block -s 64 {flags}");
            let words: Vec<&str> = words.split_whitespace().collect();
            let arguments = RunArguments::of_words(&words).unwrap();
            let mut request = RunRequest::new(&arguments, &registry).unwrap();
            request.measure_enough_for_p99(&arguments, decides);
            let (trials, length) = request.fixed();
            assert_eq!(request.least_time(&registry), length * trials);
            let refused = request.refuse_too_few_for_p99().err();
            (length.as_nanos() as f64 * f64::from(trials) / request.longest_gap_ns(), refused)
        };
        for flags in ["--rate 1/s", "--rate 20/s", "--rate 1k/s", "--rate 1/s --trials 1"] {
            let (count, refused) = messages(flags, true);
            assert!(count >= 368.0 * 1.19 && refused.is_none(), "{flags}: {count} {refused:?}");
        }
        assert_eq!(messages("--rate 10/s", false).0, 3.0, "no p99 is needed");
        let (_, refused) = messages("--rate 1/s -d 2s", true);
        let said =
            "at 1/s the row has 6 in 3 trials of 2s: leave --duration out, or give 2m 2s 667ms";
        assert!(refused.unwrap().contains(said));
    }
}
