//! The comparison of two times, and its verdict.

use super::{
    hodges_lehmann::hodges_lehmann_interval,
    power::{
        DETECTABLE, EQUALITY_CONFIDENCE, LEVEL, MARGIN, deviation, pairs_for_equality, pairs_needed,
    },
    signed_rank::sign_flip_p,
    student::{CONFIDENCE, Interval, MeanDifference},
};

/// The fewest runs a side that allow a verdict.
pub const LEAST_RUNS: usize = 3;

/// The verdict of a comparison on the second of two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is shorter.
    Faster,
    /// It is longer.
    Slower,
    /// It differs by less than [`MARGIN`].
    Same,
    /// The measurements do not allow a verdict.
    CannotTell {
        /// The number of pairs, or of runs a side, that would probably allow one; more than there were.
        pairs_needed: usize,
    },
}

/// The comparison of two times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The number of pairs, or of runs of the side that has fewer.
    pub pairs: usize,
    /// The second time as a multiple of the first, with its interval of [`CONFIDENCE`]; `None` for fewer than six pairs
    /// or two runs.
    pub ratio: Option<Interval>,
    /// The probability of a difference at least as clear if there is none.
    pub p: f64,
    /// The verdict that follows.
    pub verdict: Verdict,
}

impl Comparison {
    /// Compares two times by the logarithms of their ratio, second over first, one a pair.
    ///
    /// The pair is the unit of randomization: a pair that was A B B A or B A A B is those four blocks together, and its
    /// log-ratio the mean of the two within. Sessions also differ by the location of their memory: on one machine,
    /// lines of two pages took from 117 to 187 ns, each always the same. Many pairs of blocks of two sessions only
    /// prove that these two sessions differ. To prove that the measured code differs, use pairs of fresh sessions, each
    /// with the estimate over its blocks as one log-ratio.
    /// The verdict is `Same` if two one-sided tests at 5 % exclude a difference of [`MARGIN`] (Schuirmann, "A
    /// comparison of the two one-sided tests procedure and the power approach", Journal of Pharmacokinetics and
    /// Biopharmaceutics 15, 1987), even if a smaller difference is certain, because that has no practical importance.
    /// Else it is `Faster` or `Slower` if the sign-flip test rejects equality at 1 %.
    pub fn of_pairs(log_ratios: &[f64]) -> Self {
        let interval = |confidence| hodges_lehmann_interval(log_ratios, confidence);
        Self::from_intervals(
            log_ratios.len(),
            interval,
            sign_flip_p(log_ratios),
            deviation(log_ratios),
        )
    }

    /// Compares two times by the logarithms of their locations in runs that were not made together, such as those of
    /// two stored files: `CannotTell` for fewer than three runs a side, else as for pairs, by Welch's test and
    /// interval. Changes of the machine between the two sides are part of the difference; no statistic can remove them.
    pub fn of_runs(first: &[f64], second: &[f64]) -> Self {
        let runs = first.len().min(second.len());
        if runs < LEAST_RUNS {
            return Self::undecided(first, second, runs);
        }
        let difference = MeanDifference::of(first, second);
        let interval = |confidence| Some(difference.interval(confidence));
        let deviation = difference.error * (runs as f64).sqrt();
        Self::from_intervals(runs, interval, difference.p(), deviation)
    }

    /// The ratio of two times by the logarithms of their locations in trials or runs that do not allow a verdict: too
    /// few, or not made alike. The verdict is always `CannotTell`.
    pub fn undecided(first: &[f64], second: &[f64], runs: usize) -> Self {
        let has_interval = first.len().min(second.len()) > 1;
        let ratio = has_interval
            .then(|| MeanDifference::of(first, second).interval(CONFIDENCE).exp())
            .filter(|ratio| ratio.estimate.is_finite());
        let verdict = Verdict::CannotTell { pairs_needed: LEAST_RUNS.max(runs) };
        Self { pairs: runs, ratio, p: 1.0, verdict }
    }

    /// The verdict from the intervals of the log-ratio, the p-value of equality, and the standard
    /// deviation of one log-ratio.
    fn from_intervals(
        pairs: usize,
        interval: impl Fn(f64) -> Option<Interval>,
        p: f64,
        deviation: f64,
    ) -> Self {
        let ratio = interval(CONFIDENCE).map(Interval::exp);
        let verdict = match ratio {
            Some(_) if interval(EQUALITY_CONFIDENCE).is_some_and(is_within_margin) => Verdict::Same,
            Some(ratio) if p < LEVEL && ratio.estimate > 1.0 => Verdict::Slower,
            Some(_) if p < LEVEL => Verdict::Faster,
            _ => Verdict::CannotTell { pairs_needed: enough(pairs, deviation) },
        };
        Self { pairs, ratio, p, verdict }
    }

    /// The verdict that is reported after a measurement of `fresh` data: a difference only if both found the same one.
    pub fn confirmed_by(&self, fresh: &Self) -> Verdict {
        let differs = matches!(fresh.verdict, Verdict::Faster | Verdict::Slower);
        if differs && fresh.verdict != self.verdict {
            return Verdict::CannotTell { pairs_needed: 2 * fresh.pairs };
        }
        fresh.verdict
    }
}

fn is_within_margin(interval: Interval) -> bool {
    let margin = MARGIN.ln_1p();
    -margin < interval.low && interval.high < margin
}

/// The number of pairs that would probably find a difference of 3 %. If there were already as many, the number that
/// would show equality. If there were as many as that too, the difference lies near the margin, and the result is twice
/// the number of pairs.
fn enough(pairs: usize, deviation: f64) -> usize {
    [pairs_needed(deviation, DETECTABLE), pairs_for_equality(deviation)]
        .into_iter()
        .find(|needed| *needed > pairs)
        .unwrap_or(2 * pairs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `count` log-ratios around `center`, spread evenly over `width`.
    fn spread(count: usize, center: f64, width: f64) -> Vec<f64> {
        let place = |at: usize| at as f64 / (count - 1) as f64 - 0.5;
        (0..count).map(|at| center + width * place(at)).collect()
    }

    fn verdict(log_ratios: &[f64]) -> Verdict {
        Comparison::of_pairs(log_ratios).verdict
    }

    #[test]
    fn clear_differences_have_their_direction() {
        assert_eq!(verdict(&spread(20, 0.05, 0.02)), Verdict::Slower);
        assert_eq!(verdict(&spread(20, -0.05, 0.02)), Verdict::Faster);
    }

    #[test]
    fn a_certain_difference_below_the_margin_is_the_same() {
        let comparison = Comparison::of_pairs(&spread(20, 0.005, 0.002));
        assert!(comparison.p < 0.001);
        assert_eq!(comparison.verdict, Verdict::Same);
    }

    #[test]
    fn a_verdict_needs_eight_pairs() {
        assert_eq!(verdict(&spread(7, 0.5, 0.01)), Verdict::CannotTell { pairs_needed: 8 });
        assert_eq!(verdict(&spread(8, 0.5, 0.01)), Verdict::Slower);
        assert_eq!(verdict(&[]), Verdict::CannotTell { pairs_needed: 8 });
    }

    #[test]
    fn the_ratio_is_that_of_second_to_first() {
        let ratio = Comparison::of_pairs(&spread(20, 2.0_f64.ln(), 0.02)).ratio.unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-9);
        assert!(ratio.low < 2.0 && 2.0 < ratio.high);
    }

    #[test]
    fn a_difference_is_reported_only_if_found_twice() {
        let slower = Comparison::of_pairs(&spread(20, 0.05, 0.02));
        let faster = Comparison::of_pairs(&spread(20, -0.05, 0.02));
        let same = Comparison::of_pairs(&spread(20, 0.0, 0.002));
        assert_eq!(slower.confirmed_by(&slower), Verdict::Slower);
        assert_eq!(slower.confirmed_by(&same), Verdict::Same);
        for first in [faster, same] {
            let verdict = first.confirmed_by(&slower);
            assert_eq!(verdict, Verdict::CannotTell { pairs_needed: 40 });
        }
    }

    #[test]
    fn a_verdict_needs_three_runs_a_side() {
        let comparison = Comparison::of_runs(&[4.80, 4.81, 4.79, 4.82], &[4.95, 4.96, 4.94]);
        assert_eq!(comparison.verdict, Verdict::Slower);
        assert!((comparison.ratio.unwrap().estimate.ln() - 0.145).abs() < 1e-9);
        let few = Comparison::of_runs(&[4.80, 4.81], &[4.95, 4.96, 4.94]);
        assert_eq!(few.verdict, Verdict::CannotTell { pairs_needed: 3 });
        assert!(
            (few.ratio.unwrap().estimate.ln() - 0.145).abs() < 1e-9,
            "it is shown all the same"
        );
        assert_eq!(Comparison::of_runs(&[4.8], &[4.9, 4.8]).ratio, None);
        let same = Comparison::of_runs(&[4.8; 3], &[4.8; 3]);
        assert_eq!((same.verdict, same.p), (Verdict::Same, 1.0));
    }

    fn turned(verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            other => other,
        }
    }

    proptest! {
        #[test]
        fn cannot_tell_asks_for_more_pairs(
            center in -0.1..0.1,
            values in prop::collection::vec(-0.1..0.1, 0..130),
        ) {
            let values: Vec<f64> = values.iter().map(|value| center + value).collect();
            if let Verdict::CannotTell { pairs_needed } = verdict(&values) {
                prop_assert!(pairs_needed > values.len());
            }
        }

        #[test]
        fn exchanging_the_two_turns_the_verdict(
            center in -0.1..0.1,
            values in prop::collection::vec(-0.05..0.05, 8..60),
        ) {
            let values: Vec<f64> = values.iter().map(|value| center + value).collect();
            let exchanged: Vec<f64> = values.iter().map(|value| -value).collect();
            match (verdict(&values), verdict(&exchanged)) {
                (Verdict::CannotTell { .. }, Verdict::CannotTell { .. }) => {}
                (one, other) => prop_assert_eq!(turned(one), other),
            }
        }
    }
}
