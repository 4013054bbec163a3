//! The length of each trial's measurement of a row, chosen so that the run ends in its time.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use super::request::{FEWEST_TRIALS, Trials};
use crate::wire::Length;

/// The minimum that one trial measures of a row, unless a length is given.
const LEAST: Duration = Duration::from_millis(20);

/// The maximum that one trial measures of a row, unless a length is given: more trials tell more than longer ones.
const MOST: Duration = Duration::from_millis(250);

/// The time that one trial measures of a row if neither time nor amount is given.
const STANDARD: Duration = Duration::from_millis(200);

/// The assumed ratio of the time of turns to the time that they measure, until it is known.
const EXPECTED_FACTOR: f64 = 2.0;

/// The assumed set-up of a row in the first trial, which verifies at length, until it is known. In a run of everything
/// the set-up of a trial takes longer than its turns: without it, the first trial took the time of the others.
const EXPECTED_SETUP: Duration = Duration::from_millis(45);

/// The share of a budget kept for rows with too few blocks at the distance at which rows are compared.
const KEPT: f64 = 0.05;

/// The share of a run for its final, if it has one, and the number of its trials as a multiple of those before.
const FINAL: f64 = 0.25;
const FINAL_TRIALS: u32 = 2;

/// The time that a trial spent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Sessions started, endpoints opened, checked, warmed up and closed.
    pub setup: Duration,
    /// Turns: blocks, with the probes and the wake-ups around them.
    pub turns: Duration,
}

impl Spent {
    pub(crate) fn add(&mut self, other: Self) {
        self.setup += other.setup;
        self.turns += other.turns;
    }
}

/// Decides the number of trials and their length.
#[derive(Clone)]
pub(crate) struct Pace {
    /// The time of the whole run, if it is limited.
    budget: Option<Duration>,
    /// The number of trials, or the time for them.
    trials: Result<u32, Duration>,
    fixed: Option<Length>,
    /// The fewest trials within a time.
    fewest: u32,
    rows: u32,
    began: Instant,
    done: u32,
    /// The time that the last trial measured of a row.
    length: Duration,
    /// The time of the last trial outside its turns.
    setup: Duration,
    /// The ratio of the last trial's turns to the time that they measured.
    factor: f64,
    /// The part of the run that its trials are.
    part: Range<f64>,
}

impl Pace {
    /// The pace of a run that begins now and measures this many rows.
    pub(crate) fn new(trials: Trials, fixed: Option<Length>, rows: usize) -> Self {
        let budget = trials.budget(rows);
        let trials = match (trials, budget) {
            (_, Some(budget)) => Err(budget.mul_f64(1.0 - KEPT)),
            (Trials::Fixed(count), None) => Ok(count),
            (_, None) => Ok(FEWEST_TRIALS),
        };
        let rows = rows.max(1) as u32;
        Self {
            budget,
            trials,
            fixed,
            fewest: FEWEST_TRIALS,
            rows,
            began: Instant::now(),
            done: 0,
            length: Duration::ZERO,
            setup: EXPECTED_SETUP * rows,
            factor: EXPECTED_FACTOR,
            part: 0.0..1.0,
        }
    }

    /// The same for a run with a final, which keeps a share of the time for it.
    pub(crate) fn before_final(self) -> Self {
        let part = 0.0..1.0 - FINAL;
        Self { trials: self.trials.map_err(|budget| budget.mul_f64(part.end)), part, ..self }
    }

    /// The pace of the final that follows now, of this many rows: twice as many trials, or as much of the time as is
    /// left.
    pub(crate) fn of_final(&self, rows: usize) -> Self {
        let rows = rows.max(1) as u32;
        let trials = match self.budget {
            Some(budget) => Err(budget.mul_f64(1.0 - KEPT).saturating_sub(self.began.elapsed())),
            None => Ok(FINAL_TRIALS * self.done),
        };
        Self {
            trials,
            fewest: 0,
            rows,
            began: Instant::now(),
            done: 0,
            setup: self.setup * rows / self.rows,
            part: self.part.end..1.0,
            ..self.clone()
        }
    }

    /// The same with so many times as many trials: each is measured at that many placements.
    pub(crate) fn each_times(mut self, placements: u32) -> Self {
        self.trials = self.trials.map(|count| count * placements);
        self.fewest *= placements;
        self
    }

    /// The fewest trials within a time.
    pub(crate) fn fewest(&self) -> u32 {
        self.fewest
    }

    /// True if it made no more trials than the fewest.
    pub(crate) fn made_the_fewest(&self) -> bool {
        self.done <= self.fewest
    }

    /// Begins the next trial: the length of its measurement of each row, or nothing after the last trial.
    pub(crate) fn next(&mut self) -> Option<Length> {
        let time = match self.trials {
            Ok(count) => (self.done < count).then_some(STANDARD)?,
            Err(budget) => self.within(budget.saturating_sub(self.began.elapsed()))?,
        };
        let length = self.fixed.unwrap_or(Length::Time(time));
        self.length = if let Length::Time(time) = length { time } else { Duration::ZERO };
        self.done += 1;
        Some(length)
    }

    /// Ends the trial that began last.
    pub(crate) fn end_of_trial(&mut self, spent: Spent) {
        self.setup = spent.setup;
        let measured = (self.length * self.rows).as_secs_f64();
        if measured > 0.0 {
            self.factor = (spent.turns.as_secs_f64() / measured).max(1.0);
        } else {
            // A count's duration is not known beforehand, but about the same in every trial.
            self.setup += spent.turns;
        }
    }

    /// The time that the next trial measures of each row, if this much time is left.
    fn within(&self, left: Duration) -> Option<Duration> {
        let needed = self.fewest.saturating_sub(self.done);
        if needed > 0 {
            return Some(self.length_of_each(needed, left).clamp(LEAST, MOST));
        }
        // As many more trials as allow each a full length; the time that is left is divided among them.
        let decent = self.fixed_length().unwrap_or(MOST);
        let whole = self.setup + decent.mul_f64(self.factor) * self.rows;
        let more = (left.as_secs_f64() / whole.as_secs_f64()).floor() as u32;
        if let Some(length) = self.fixed_length() {
            return (more > 0).then_some(length);
        }
        let length = self.length_of_each(more.max(1), left);
        (length >= LEAST).then(|| length.min(MOST))
    }

    /// The time that each of this many trials can measure of a row within `left`.
    fn length_of_each(&self, trials: u32, left: Duration) -> Duration {
        let turns = (left / trials).saturating_sub(self.setup);
        turns.div_f64(self.factor) / self.rows
    }

    /// The number of rows that the whole budget leaves time for in one more trial, and the length that it measures of
    /// each; none for a fixed number of trials.
    pub(crate) fn again(&self) -> Option<(usize, Length)> {
        self.again_within(self.budget?.saturating_sub(self.began.elapsed()))
    }

    fn again_within(&self, left: Duration) -> Option<(usize, Length)> {
        let length = self.length.max(LEAST);
        let of_row = self.setup / self.rows + length.mul_f64(self.factor);
        let rows = (left.as_secs_f64() / of_row.as_secs_f64()) as usize;
        (rows > 0).then(|| (rows, self.fixed.unwrap_or(Length::Time(length))))
    }

    /// The budget and the time taken so far, if it exceeds the budget by more than a tenth.
    pub(crate) fn overrun(&self) -> Option<(Duration, Duration)> {
        let budget = self.budget?;
        let taken = self.began.elapsed();
        (taken > budget.mul_f64(1.1)).then_some((budget, taken))
    }

    fn fixed_length(&self) -> Option<Duration> {
        match self.fixed? {
            Length::Time(time) => Some(time),
            Length::RoundTrips(_) => Some(Duration::ZERO),
        }
    }

    /// The progress of the run, from 0 to 1, if `rows` rows of the current trial are done.
    pub(crate) fn progress(&self, rows: usize) -> f64 {
        let done = match self.trials {
            Ok(count) => {
                let done = f64::from(self.done.saturating_sub(1));
                (done + rows as f64 / f64::from(self.rows)) / f64::from(count)
            }
            Err(budget) => self.began.elapsed().as_secs_f64() / budget.as_secs_f64(),
        };
        self.part.start + done.min(1.0) * (self.part.end - self.part.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that each trial of a run measures of a row, if a trial takes `setup` and its turns take `factor`
    /// times their measured time. The run's time is simulated: the budget shrinks instead.
    fn lengths(budget: Duration, rows: usize, setup: Duration, factor: f64) -> Vec<Duration> {
        trials(Pace::new(Trials::Within(budget), None, rows), budget, rows, setup, factor)
    }

    fn trials(
        mut pace: Pace,
        budget: Duration,
        rows: usize,
        setup: Duration,
        factor: f64,
    ) -> Vec<Duration> {
        let (mut left, mut lengths) = (budget, Vec::new());
        while let Some(length) = pace.within(left) {
            let length = pace.fixed_length().unwrap_or(length);
            (pace.length, pace.done) = (length, pace.done + 1);
            let turns = (length * rows as u32).mul_f64(factor);
            pace.end_of_trial(Spent { setup, turns });
            left = left.saturating_sub(setup + turns);
            lengths.push(length);
        }
        lengths
    }

    #[test]
    fn the_remaining_time_repeats_rows_with_too_few_blocks() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(Trials::Within(seconds(100)), None, 10);
        (pace.length, pace.done) = (seconds(1), 3);
        pace.end_of_trial(Spent { setup: seconds(10), turns: seconds(20) });
        // A row takes 1 s of set-up and 2 s of turns.
        assert_eq!(pace.again_within(seconds(2)), None);
        assert_eq!(pace.again_within(seconds(3)), Some((1, Length::Time(seconds(1)))));
        assert_eq!(pace.again_within(seconds(8)), Some((2, Length::Time(seconds(1)))));
        assert!(Pace::new(Trials::Fixed(3), None, 10).again().is_none(), "their number is fixed");
    }

    #[test]
    fn a_budget_is_used_up_and_not_exceeded() {
        let seconds = Duration::from_secs;
        for (rows, setup, factor) in [(250, 8, 1.2), (10, 1, 1.1), (1, 0, 1.5), (100, 2, 3.0)] {
            let lengths = lengths(seconds(120), rows, seconds(setup), factor);
            let turns: Duration = lengths.iter().map(|length| *length * rows as u32).sum();
            let all = turns.mul_f64(factor) + seconds(setup) * lengths.len() as u32;
            let used = all.as_secs_f64() / 120.0;
            assert!((0.9..1.1).contains(&used), "{rows} rows: {used} in {} trials", lengths.len());
            assert!(lengths.len() >= FEWEST_TRIALS as usize);
        }
    }

    /// Regression: the first trial of a run of everything was twice as long as the others, and the run was over its
    /// budget.
    #[test]
    fn the_first_trial_of_many_rows_leaves_the_others_their_time() {
        let seconds = Duration::from_secs;
        let lengths = lengths(seconds(120), 484, seconds(17), 1.87);
        assert_eq!(lengths.len(), FEWEST_TRIALS as usize);
        let all: Duration = lengths.iter().map(|length| *length * 484).sum();
        let taken = all.mul_f64(1.87) + seconds(17) * 3;
        assert!(taken <= seconds(120), "{lengths:?} take {taken:?}");
    }

    #[test]
    fn a_run_has_three_trials_even_if_the_time_is_too_short() {
        let lengths = lengths(Duration::from_secs(1), 250, Duration::from_secs(8), 1.2);
        assert_eq!(lengths.len(), FEWEST_TRIALS as usize);
        assert_eq!(lengths[2], LEAST);
    }

    #[test]
    fn a_budget_buys_as_many_trials_of_a_fixed_length_as_fit() {
        let (second, budget) = (Duration::from_secs(1), Duration::from_secs(60));
        let pace = |length| Pace::new(Trials::Within(budget), Some(Length::Time(length)), 5);
        // Five rows of 1 s each, with overhead: 6 s of turns and 4 s of set-up.
        let lengths = trials(pace(second), budget, 5, Duration::from_secs(4), 1.2);
        assert_eq!(lengths, [second; 6]);
        let lengths = trials(pace(10 * second), budget, 5, Duration::from_secs(4), 1.2);
        assert_eq!(
            lengths.len(),
            FEWEST_TRIALS as usize,
            "it was asked for, however long it takes"
        );
    }

    #[test]
    fn trials_of_a_count_go_on_as_long_as_one_more_fits() {
        let budget = Duration::from_secs(60);
        let mut pace = Pace::new(Trials::Within(budget), Some(Length::RoundTrips(1000)), 5);
        let (mut left, mut done) = (budget, 0);
        while pace.within(left).is_some() {
            (pace.done, done) = (pace.done + 1, done + 1);
            let spent = Spent { setup: Duration::from_secs(1), turns: Duration::from_secs(6) };
            pace.end_of_trial(spent);
            left = left.saturating_sub(spent.setup + spent.turns);
        }
        assert_eq!(done, 8);
    }

    #[test]
    fn each_placement_has_the_trials_of_one() {
        let placed = |trials| Pace::new(trials, None, 5).each_times(4);
        let mut pace = placed(Trials::Fixed(2));
        assert_eq!(std::iter::from_fn(|| pace.next()).count(), 8);
        let budget = Duration::from_secs(1);
        let within = placed(Trials::Within(budget));
        let lengths = trials(within, budget, 5, Duration::from_secs(1), 1.2);
        assert_eq!(lengths.len(), 4 * FEWEST_TRIALS as usize);
    }

    #[test]
    fn a_trial_has_the_standard_length_by_default() {
        let mut pace = Pace::new(Trials::Fixed(1), None, 1);
        assert_eq!((pace.next(), pace.next()), (Some(Length::Time(STANDARD)), None));
    }

    #[test]
    fn progress_rises_to_the_end() {
        let mut pace = Pace::new(Trials::Fixed(2), None, 4);
        let mut seen = Vec::new();
        while pace.next().is_some() {
            seen.extend((0..=4).map(|rows| pace.progress(rows)));
        }
        assert!(seen.is_sorted() && seen[0] == 0.0 && seen[seen.len() - 1] == 1.0, "{seen:?}");
        let mut timed = Pace::new(Trials::Within(Duration::from_nanos(1)), None, 4);
        timed.next();
        assert_eq!(timed.progress(0), 1.0, "a run that is late is not beyond its end");
    }

    #[test]
    fn a_final_has_twice_as_many_trials_or_the_rest_of_the_time() {
        let mut fixed = Pace::new(Trials::Fixed(3), None, 8).before_final();
        while fixed.next().is_some() {}
        let mut last = fixed.of_final(2);
        assert_eq!(std::iter::from_fn(|| last.next()).count(), 6);

        let budget = Duration::from_secs(100);
        let mut timed = Pace::new(Trials::Within(budget), None, 10).before_final();
        let kept = |pace: &Pace| pace.trials.unwrap_err().as_secs_f64();
        assert!((70.0..73.0).contains(&kept(&timed)), "a quarter is kept: {}", kept(&timed));
        timed.end_of_trial(Spent { setup: Duration::from_secs(10), turns: Duration::ZERO });
        timed.began -= Duration::from_secs(70);
        let last = timed.of_final(3);
        assert!((24.0..25.0).contains(&kept(&last)), "{}", kept(&last));
        assert_eq!(last.setup, Duration::from_secs(3), "three rows of ten");
        timed.began -= Duration::from_secs(40);
        assert_eq!(timed.of_final(3).next(), None, "no time is left");
    }

    #[test]
    fn a_final_comes_after_the_progress_of_the_other_trials() {
        let mut pace = Pace::new(Trials::Fixed(2), None, 4).before_final();
        let mut seen = vec![pace.progress(0)];
        while pace.next().is_some() {
            seen.extend((0..=4).map(|rows| pace.progress(rows)));
        }
        let mut last = pace.of_final(2);
        while last.next().is_some() {
            seen.extend((0..=2).map(|rows| last.progress(rows)));
        }
        assert!(seen.is_sorted() && seen[0] == 0.0 && seen[seen.len() - 1] == 1.0, "{seen:?}");
    }

    #[test]
    fn spent_times_add_up() {
        let [setup, turns] = [2, 3].map(Duration::from_secs);
        let mut spent = Spent { setup, turns };
        spent.add(Spent { setup: turns, turns: setup });
        assert_eq!((spent.setup, spent.turns), (setup + turns, setup + turns));
    }

    #[test]
    fn a_fixed_count_of_trials_is_that_many() {
        let length = Some(Length::RoundTrips(1000));
        let mut pace = Pace::new(Trials::Fixed(2), length, 3);
        assert_eq!((pace.next(), pace.next(), pace.next()), (length, length, None));
    }
}
