//! The number of pairs that a comparison needs.

use statrs::distribution::ContinuousCDF;

use super::{
    hodges_lehmann::hodges_lehmann_interval,
    signed_rank::standard_normal,
    student::{CONFIDENCE, variance},
};

/// The level of the test for a difference.
pub(super) const LEVEL: f64 = 0.01;

/// Two times that differ by less than this share are the same.
pub const MARGIN: f64 = 0.02;

/// The relative difference that a comparison is planned to find.
pub const DETECTABLE: f64 = 0.03;

/// The confidence of the interval that makes two one-sided tests, each at half of its error level.
pub(super) const EQUALITY_CONFIDENCE: f64 = 0.9;

/// The probability with which a planned difference, or equality, is found.
const POWER: f64 = 0.95;

/// The efficiency of signed ranks relative to the mean, on normal noise.
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// The number of pairs with which a relative `difference` is found with a probability of 95 % if
/// the log-ratios of pairs have this standard deviation: for 3 %, 8 pairs at 1 %, 13 at 2 %, 24 at
/// 3 %, 58 at 5 %.
pub fn pairs_needed(deviation: f64, difference: f64) -> usize {
    let pairs = pairs(deviation, difference.ln_1p().abs(), LEVEL / 2.0, 1.0 - POWER);
    pairs.max(least_pairs())
}

/// The number of pairs with which two equal times are found to differ by less than [`MARGIN`].
pub fn pairs_for_equality(deviation: f64) -> usize {
    let miss = (1.0 - POWER) / 2.0;
    pairs(deviation, MARGIN.ln_1p(), (1.0 - EQUALITY_CONFIDENCE) / 2.0, miss).max(least_pairs())
}

/// The number of pairs below which even equal signs of all do not reject equality: 2 / 2ⁿ <
/// [`LEVEL`].
fn least_pairs() -> usize {
    (2.0 / LEVEL).log2().ceil() as usize
}

/// Guenther's approximation ("Sample Size Formulas for Normal Theory T Tests", The American
/// Statistician 35(4), 1981): the normal formula plus half of a squared quantile; here with the
/// efficiency of the ranks, and one more pair because ranks are whole numbers.
fn pairs(deviation: f64, effect: f64, level: f64, miss: f64) -> usize {
    let quantile = |p: f64| -standard_normal().inverse_cdf(p);
    let ratio = (quantile(level) + quantile(miss)) * deviation / effect;
    (ratio * ratio / EFFICIENCY + quantile(level).powi(2) / 2.0).ceil() as usize + 1
}

/// The standard deviation of the normal noise that would give these log-ratios the interval of
/// their estimate. Unlike their own standard deviation it does not grow with a few interrupted
/// blocks, which affect neither test nor interval. For fewer than six log-ratios, which have no
/// such interval, it is their own standard deviation.
pub fn deviation(log_ratios: &[f64]) -> f64 {
    let root = (log_ratios.len() as f64).sqrt();
    let quantile = standard_normal().inverse_cdf((1.0 + CONFIDENCE) / 2.0);
    match hodges_lehmann_interval(log_ratios, CONFIDENCE) {
        Some(interval) => {
            (interval.high - interval.low) * root * EFFICIENCY.sqrt() / 2.0 / quantile
        }
        None if log_ratios.len() > 1 => variance(log_ratios).sqrt(),
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_for_three_percent() {
        // Simulated with normal noise, the power with this many is 98.7, 96.0, 96.3 and 95.6 %.
        for (deviation, pairs) in [(0.01, 8), (0.02, 13), (0.03, 24), (0.05, 58)] {
            assert_eq!(pairs_needed(deviation, DETECTABLE), pairs);
        }
    }

    #[test]
    fn the_deviation_is_that_of_the_noise_and_not_of_its_bursts() {
        let quantile = |at: usize| standard_normal().inverse_cdf((at as f64 + 0.5) / 100.0);
        let mut log_ratios: Vec<f64> = (0..100).map(|at| 0.02 * quantile(at)).collect();
        assert!((deviation(&log_ratios) / 0.02 - 1.0).abs() < 0.05, "{}", deviation(&log_ratios));
        (0..3).for_each(|at| log_ratios[33 * at] = if at == 1 { 3.0 } else { -2.0 });
        assert!((deviation(&log_ratios) / 0.02 - 1.0).abs() < 0.15, "{}", deviation(&log_ratios));
    }

    #[test]
    fn few_log_ratios_have_their_own_deviation() {
        assert!((deviation(&[0.01, 0.03]) - 0.0002_f64.sqrt()).abs() < 1e-12);
        assert_eq!(deviation(&[0.01]), 0.0);
    }
}
