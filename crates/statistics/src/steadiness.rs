//! Steadiness of a row: the part at its start that differs from the rest, and its drift.
//!
//! Everything uses twenty batches of a trial, each by its median. Single blocks would mislead: neighbours share a
//! moment of the machine, and bursts affect several. Of simulated steady trials of 100 to 2,000 blocks (AR(1) with a
//! correlation of 0.7, bursts in one block of twenty) MSER-5 alone calls 15 to 60 % unsettled, and the trend test on 64
//! batches 1 to 20 %; both together, as below, call 1 to 5 %.

use statrs::distribution::ContinuousCDF;

use super::{
    location::{logarithms, median},
    signed_rank::standard_normal,
};

/// The number of batches.
const BATCHES: usize = 20;

/// The fewest blocks of a batch, as in MSER-5.
const LEAST_BATCH: usize = 5;

/// The number of batches at the end that are never cut: fewer agree by chance.
const LAST: usize = 5;

/// The level of the tests.
const LEVEL: f64 = 0.01;

/// The relative change that matters.
const CHANGE: f64 = 0.02;

/// The steadiness of a sequence of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// The share of the blocks, at the start, that MSER-5 would cut.
    pub start: f64,
    /// The relative change from the first batch to the last along the trend.
    pub drift: f64,
    /// The probability of a trend at least as clear if there is none.
    pub p: f64,
    /// False if more than half would be cut, and differs from the rest (p < 0.01) by more than 2 %, or if there is a
    /// trend (p < 0.01) of more than 2 %.
    pub settled: bool,
}

/// Judges the block means of one trial at one distance, in their order; `None` for fewer than 100 blocks, which are too
/// few to judge.
pub fn steadiness(block_means: &[f64]) -> Option<Steadiness> {
    if block_means.len() < BATCHES * LEAST_BATCH {
        return None;
    }
    let batches = medians(&logarithms(block_means));
    let cut = start(&batches);
    let BatchTrend { drift, p } = trend(&batches);
    let started = 2 * cut <= BATCHES || !differ(batches.split_at(cut));
    let settled = started && !(p < LEVEL && matters(drift));
    Some(Steadiness { start: cut as f64 / BATCHES as f64, drift: drift.exp_m1(), p, settled })
}

/// The medians of consecutive batches of about the same length.
fn medians(logs: &[f64]) -> Vec<f64> {
    let bound = |batch: usize| batch * logs.len() / BATCHES;
    (0..BATCHES).filter_map(|batch| median(&logs[bound(batch)..bound(batch + 1)])).collect()
}

/// True if a change of the logarithm is more than 2 %.
fn matters(change: f64) -> bool {
    change.exp_m1().abs() > CHANGE
}

/// The number of batches at the start without which the mean of the rest has the least standard error: MSER (White, "An
/// effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997; of batches of five:
/// White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation", Winter Simulation
/// Conference, 2000).
fn start(batches: &[f64]) -> usize {
    let errors = squared_errors(batches);
    (0..=BATCHES - LAST).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0)
}

/// The squared standard error of the mean of the rest, for each start of the rest.
fn squared_errors(values: &[f64]) -> Vec<f64> {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut errors: Vec<f64> = Vec::with_capacity(values.len());
    for value in values.iter().rev() {
        count += 1.0;
        let change = value - mean;
        mean += change / count;
        squares += change * (value - mean);
        errors.push(squares / (count * count));
    }
    errors.reverse();
    errors
}

/// True if two samples differ in their medians by more than 2 %, and not by chance: the rank-sum test (Mann and
/// Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other", Annals of
/// Mathematical Statistics 18(1), 1947), its normal approximation.
fn differ((start, rest): (&[f64], &[f64])) -> bool {
    let change = median(start).zip(median(rest)).map_or(0.0, |(start, rest)| rest - start);
    matters(change) && rank_sum_p(start, rest) < LEVEL
}

fn rank_sum_p(first: &[f64], second: &[f64]) -> f64 {
    let larger: f64 = first.iter().map(|a| second.iter().map(|b| sign(a - b)).sum::<f64>()).sum();
    let (n, m) = (first.len() as f64, second.len() as f64);
    normal_p(larger, (n * m * (n + m + 1.0) / 3.0).sqrt())
}

struct BatchTrend {
    /// The change of the logarithm from the first batch to the last.
    drift: f64,
    p: f64,
}

/// The drift by Theil and Sen (Sen, "Estimates of the Regression Coefficient Based on Kendall's
/// Tau", JASA 63, 1968) and the test by Mann and Kendall (Mann, "Nonparametric Tests Against Trend",
/// Econometrica 13(3), 1945).
fn trend(batches: &[f64]) -> BatchTrend {
    let count = batches.len();
    let pairs = (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)));
    let slope = |(first, second)| (batches[second] - batches[first]) / (second - first) as f64;
    let slopes: Vec<f64> = pairs.map(slope).collect();
    let drift = median(&slopes).unwrap_or(0.0) * (count - 1) as f64;
    let n = count as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    BatchTrend { drift, p: normal_p(slopes.iter().copied().map(sign).sum(), deviation) }
}

/// The two-sided p-value of a sum of signs, with continuity correction. Ties are not corrected for: they only increase
/// it.
fn normal_p(sum: f64, deviation: f64) -> f64 {
    2.0 * standard_normal().cdf(-(sum.abs() - 1.0).max(0.0) / deviation)
}

fn sign(value: f64) -> f64 {
    f64::from(i8::from(value > 0.0) - i8::from(value < 0.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    /// log(100 + 0.3 x + 3 sin(2.3 x)) for x = 0…19.
    fn wave() -> Vec<f64> {
        let value = |x: f64| (100.0 + 0.3 * x + 3.0 * (2.3 * x).sin()).ln();
        (0..20).map(|x| value(f64::from(x))).collect()
    }

    #[test]
    fn the_trend_agrees_with_scipy() {
        // S = 78 from scipy.stats.kendalltau(x, y).statistic * 190;
        // 2 * scipy.stats.norm.sf(77 / sqrt(20 * 19 * 45 / 18)); scipy.stats.theilslopes(y, x)[0]
        let trend = trend(&wave());
        assert!(near(trend.p, 0.012482226584454132), "{}", trend.p);
        assert!(near(trend.drift / 19.0, 0.002840074112534119), "{}", trend.drift);
    }

    #[test]
    fn the_rank_sum_agrees_with_scipy() {
        // scipy.stats.mannwhitneyu(a, b, method='asymptotic').pvalue: SciPy's continuity correction is half of a pair,
        // which is one of the signs here
        let first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
        let second = [4.5, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
        assert!(near(rank_sum_p(&first, &second), 0.008132021898881838));
    }

    #[test]
    fn a_deviating_start_is_found() {
        let mut batches = [1.0, 1.1, 0.9, 1.0].repeat(5);
        assert_eq!(start(&batches), 0);
        batches[..3].fill(5.0);
        assert_eq!(start(&batches), 3);
    }

    #[test]
    fn squared_errors_are_those_of_each_rest() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0];
        let error = |rest: &[f64]| {
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            let squares: f64 = rest.iter().map(|value| (value - mean).powi(2)).sum();
            squares / (rest.len() as f64).powi(2)
        };
        for (at, found) in squared_errors(&values).into_iter().enumerate() {
            assert!((found - error(&values[at..])).abs() < 1e-12, "{at}");
        }
    }

    #[test]
    fn a_late_burst_unsettles_nothing() {
        let mut means = vec![100.0; 200];
        (0..200).for_each(|at| means[at] += (at % 7) as f64);
        means[150..153].fill(5_000.0);
        assert!(steadiness(&means).unwrap().settled);
    }

    #[test]
    fn a_drift_below_two_percent_is_settled_and_one_above_is_not() {
        let drifting = |part: f64| -> Vec<f64> {
            (0..200).map(|at| 100.0 * (1.0 + part * f64::from(at) / 200.0)).collect()
        };
        let small = steadiness(&drifting(0.015)).unwrap();
        assert!(small.p < 0.01 && small.settled);
        let large = steadiness(&drifting(-0.1)).unwrap();
        assert!((large.drift + 0.095).abs() < 0.002, "{large:?}");
        assert!(!large.settled);
    }

    #[test]
    fn few_blocks_are_not_judged() {
        assert_eq!(steadiness(&[100.0; 99]), None);
        assert!(steadiness(&[100.0; 100]).unwrap().settled);
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(
            means in prop::collection::vec(100.0..200.0, 100..300), unit in 0.1..10.0,
        ) {
            let scaled: Vec<f64> = means.iter().map(|mean| unit * mean).collect();
            let (one, other) = (steadiness(&means).unwrap(), steadiness(&scaled).unwrap());
            prop_assert!((one.drift - other.drift).abs() < 1e-9);
            prop_assert!((0.0..=0.75).contains(&one.start));
            prop_assert_eq!(one.settled, other.settled);
        }
    }
}
