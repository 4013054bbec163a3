//! Percentiles of the tail: the sample sizes that they need, and their intervals.

use hdrhistogram::Histogram;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::{
    location::histogram_percentile,
    student::{CONFIDENCE, Interval, student_interval, variance},
};

/// The number of samples from which the percentile `q` has an upper bound of [`CONFIDENCE`].
///
/// The largest of n independent samples lies below the true percentile with the probability qⁿ, so
/// it is an upper bound as soon as qⁿ is at most half of the interval's error probability: n ≥
/// ln(0.025) / ln(q), that is 36 for p90, 368 for p99, 3,688 for p99.9, 36,887 for p99.99.
pub fn samples_needed(q: f64) -> u64 {
    (miss().ln() / q.ln()).ceil() as u64
}

/// True if `samples` samples are enough for the percentile `q`.
pub fn carries(samples: u64, q: f64) -> bool {
    samples >= samples_needed(q)
}

/// The interval of the percentile `q` between two order statistics, from the binomial distribution
/// of the number of samples below it (Conover, "Practical Nonparametric Statistics", 3rd edition,
/// section 3.2); `None` if there are too few samples. `step_ns` as in [`histogram_percentile`].
pub fn rank_interval(histogram: &Histogram<u64>, q: f64, step_ns: f64) -> Option<Interval> {
    let (low, high) = ranks(histogram.len(), q)?;
    let at_rank = |rank: u64| {
        let middle = (rank as f64 - 0.5) / histogram.len() as f64;
        histogram_percentile(histogram, middle, step_ns)
    };
    let estimate = histogram_percentile(histogram, q, step_ns)?;
    Some(Interval {
        low: at_rank(low)?.min(estimate),
        estimate,
        high: at_rank(high)?.max(estimate),
    })
}

/// The ranks, from 1, of the samples that bound the percentile.
fn ranks(count: u64, q: f64) -> Option<(u64, u64)> {
    let below = Binomial::new(q, count).ok().filter(|_| carries(count, q))?;
    Some((below.inverse_cdf(miss()).max(1), below.inverse_cdf(1.0 - miss()) + 1))
}

/// The percentile `q` of all trials together with its interval, for percentiles for which one trial
/// hardly has enough samples; `None` for fewer than two trials, or if all together have too few
/// samples.
///
/// The interval is a jackknife over trials (Tukey 1958): each trial is left out once, and the
/// pseudo-values' mean has Student's distribution. Leaving out single samples does not work for a
/// percentile, but leaving out a fixed share of them does (Shao and Wu, "A General Theory for
/// Jackknife Variance Estimation", Annals of Statistics 17(3), 1989), and it includes differences
/// between trials. If trials happen to agree, it could be narrower than the number of samples
/// allows, so it is never narrower than [`rank_interval`].
pub fn merged_percentile(trials: &[Histogram<u64>], q: f64, step_ns: f64) -> Option<Interval> {
    let merged = merged(trials)?;
    let ranks = rank_interval(&merged, q, step_ns)?;
    let jackknife = jackknife(trials, &merged, q, step_ns)?;
    let (low, high) = (ranks.low.min(jackknife.low), ranks.high.max(jackknife.high));
    Some(Interval { low, estimate: ranks.estimate, high })
}

fn merged(trials: &[Histogram<u64>]) -> Option<Histogram<u64>> {
    let (first, others) = trials.split_first()?;
    let mut merged = first.clone();
    others.iter().try_for_each(|trial| merged.add(trial)).ok()?;
    Some(merged)
}

/// The interval of the jackknife, made on the logarithm and around the merged percentile.
fn jackknife(
    trials: &[Histogram<u64>],
    merged: &Histogram<u64>,
    q: f64,
    step_ns: f64,
) -> Option<Interval> {
    let count = trials.len() as f64;
    let log = |histogram: &Histogram<u64>| {
        histogram_percentile(histogram, q, step_ns).map(|ns| ns.max(f64::MIN_POSITIVE).ln())
    };
    let whole = log(merged)?;
    let without = |trial: &Histogram<u64>| {
        let mut rest = merged.clone();
        rest.subtract(trial).ok()?;
        log(&rest)
    };
    let pseudo = |trial| Some(count * whole - (count - 1.0) * without(trial)?);
    let pseudo: Vec<f64> = trials.iter().map(pseudo).collect::<Option<_>>()?;
    if pseudo.len() < 2 {
        return None;
    }
    let error = (variance(&pseudo) / count).sqrt();
    Some(student_interval(whole, error, count - 1.0, CONFIDENCE).exp())
}

/// The error probability of a two-sided interval on one side.
fn miss() -> f64 {
    (1.0 - CONFIDENCE) / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::new_histogram;

    fn histogram(samples: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = new_histogram();
        samples.into_iter().for_each(|sample| histogram.record(sample).unwrap());
        histogram
    }

    #[test]
    fn a_percentile_needs_its_samples() {
        for (q, needed) in [(0.9, 36), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)] {
            assert_eq!(samples_needed(q), needed);
            let below = |samples: u64| q.powf(samples as f64);
            assert!(below(needed) <= 0.025 && below(needed - 1) > 0.025);
            assert!(carries(needed, q) && !carries(needed - 1, q));
        }
    }

    #[test]
    fn ranks_agree_with_scipy() {
        // scipy.stats.binom.ppf([0.025, 0.975], n, q): the lower rank, and one below the upper.
        let scipy = [
            (36, 0.9, 29, 35),
            (1_000, 0.9, 881, 918),
            (1_000, 0.99, 983, 996),
            (3_688, 0.999, 3_680, 3_687),
            (100_000, 0.9999, 99_983, 99_996),
            (20_000_000, 0.999, 19_979_722, 19_980_277),
        ];
        for (count, q, low, high) in scipy {
            assert_eq!(ranks(count, q), Some((low, high + 1)), "{count} {q}");
        }
        assert_eq!(ranks(35, 0.9), None);
    }

    #[test]
    fn the_rank_interval_lies_at_its_ranks() {
        let interval = rank_interval(&histogram(1..=1_000), 0.9, 1.0).unwrap();
        assert_eq!((interval.low, interval.high), (881.0, 919.0));
        assert!((interval.estimate - 900.0).abs() <= 0.5);
    }

    #[test]
    fn differences_between_trials_widen_the_interval() {
        let trial = |factor: u64| histogram((1..=4_000).map(|sample| factor * sample / 10));
        let alike = merged_percentile(&[trial(10), trial(10), trial(10)], 0.99, 1.0).unwrap();
        let unlike = merged_percentile(&[trial(8), trial(10), trial(12)], 0.99, 1.0).unwrap();
        assert!(unlike.high - unlike.low > 5.0 * (alike.high - alike.low));
    }

    #[test]
    fn one_trial_or_few_samples_have_no_interval() {
        assert_eq!(merged_percentile(&[histogram(1..=4_000)], 0.99, 1.0), None);
        assert_eq!(merged_percentile(&[], 0.99, 1.0), None);
        let few = [histogram(1..=100), histogram(1..=100)];
        assert_eq!(merged_percentile(&few, 0.99, 1.0), None);
        let empty = [histogram(1..=4_000), histogram([])];
        assert!(merged_percentile(&empty, 0.99, 1.0).is_none());
    }

    proptest! {
        #[test]
        fn the_merged_interval_contains_that_of_the_ranks(
            trials in prop::collection::vec(prop::collection::vec(1..1_000_000_u64, 36..200), 2..5),
        ) {
            let trials: Vec<_> = trials.into_iter().map(histogram).collect();
            let whole = merged_percentile(&trials, 0.9, 1.0).unwrap();
            let ranks = rank_interval(&merged(&trials).unwrap(), 0.9, 1.0).unwrap();
            prop_assert!(whole.low <= ranks.low && ranks.high <= whole.high);
            prop_assert!(whole.low <= whole.estimate && whole.estimate <= whole.high);
        }
    }
}
