//! The sign-flip test of paired log-ratios, on their signed ranks: Wilcoxon ("Individual Comparisons
//! by Ranking Methods", Biometrics Bulletin 1(6), 1945).
//!
//! If two rows do not differ, swapping the two blocks of a pair changes nothing: both signs of a log-ratio are equally
//! likely. If the order within a pair was drawn at random, this holds for any behaviour of the machine, also if
//! neighbouring pairs depend on each other. The test uses ranks instead of values because one interrupted block in a
//! hundred destroys the power of a test of means, and because the interval of
//! [`hodges_lehmann`](super::hodges_lehmann()) inverts this same test, so that the two cannot contradict each other.

use statrs::distribution::{ContinuousCDF, Normal};

/// Number of pairs up to which the distribution is exact. Beyond it the p-value of the normal approximation is up to 5
/// % larger near 1 %, and 1 % larger near 5 %.
pub(super) const EXACT: usize = 100;

/// The probability, if both signs were equally likely, of signed ranks at least as unbalanced as those of `log_ratios`;
/// two-sided, 1 if there are none. Equal sizes share their mean rank; zeros take ranks but no side (Pratt, "Remarks on
/// Zeros and Ties in the Wilcoxon Signed Rank Procedures", JASA 54, 1959). Both are exact here, because the
/// distribution is computed from the actual ranks.
pub fn sign_flip_p(log_ratios: &[f64]) -> f64 {
    let ranks = doubled_ranks(log_ratios);
    let positive: usize =
        ranks.iter().filter(|(value, _)| *value > 0.0).map(|(_, rank)| rank).sum();
    let weights: Vec<usize> = ranks.into_iter().map(|(_, rank)| rank).collect();
    if weights.len() <= EXACT { exact_p(&weights, positive) } else { normal_p(&weights, positive) }
}

/// The values other than zero, each with twice the rank of its absolute value.
fn doubled_ranks(values: &[f64]) -> Vec<(f64, usize)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut before = 0;
    let mut ranks = Vec::with_capacity(sorted.len());
    for tie in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let doubled = 2 * before + tie.len() + 1;
        ranks.extend(tie.iter().filter(|value| **value != 0.0).map(|value| (*value, doubled)));
        before += tie.len();
    }
    ranks
}

fn exact_p(weights: &[usize], sum: usize) -> f64 {
    let distribution = subset_sums(weights);
    let at_most: f64 = distribution[..=sum].iter().sum();
    let at_least: f64 = distribution[sum..].iter().sum();
    (2.0 * at_most.min(at_least)).min(1.0)
}

/// The normal approximation, with a continuity correction of half the least step (1, doubled).
fn normal_p(weights: &[usize], sum: usize) -> f64 {
    let mean = weights.iter().sum::<usize>() as f64 / 2.0;
    let deviation = weights.iter().map(|weight| (*weight as f64).powi(2)).sum::<f64>().sqrt() / 2.0;
    let distance = ((sum as f64 - mean).abs() - 1.0).max(0.0);
    (2.0 * standard_normal().cdf(-distance / deviation)).min(1.0)
}

/// The probability of each sum of weights if a fair coin decides whether each weight is included.
pub(super) fn subset_sums(weights: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; weights.iter().sum::<usize>() + 1];
    sums[0] = 1.0;
    let mut reached = 0;
    for weight in weights {
        for sum in (0..=reached).rev() {
            let half = sums[sum] / 2.0;
            sums[sum] = half;
            sums[sum + weight] += half;
        }
        reached += weight;
    }
    sums
}

pub(super) fn standard_normal() -> Normal {
    Normal::standard()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    /// 0.02 sin(1.7 k) (1 + 0.01 k) + shift, for k from 0.
    fn wave(count: u32, shift: f64) -> Vec<f64> {
        let value = |k: f64| (1.7 * k).sin() * 0.02 * (1.0 + 0.01 * k) + shift;
        (0..count).map(|k| value(f64::from(k))).collect()
    }

    #[test]
    fn exact_p_values_agree_with_scipy() {
        // scipy.stats.wilcoxon(x, method='exact').pvalue
        let ten = [0.031, -0.004, 0.022, 0.017, 0.041, -0.012, 0.028, 0.009, 0.035, 0.014];
        assert!(near(sign_flip_p(&ten), 0.013671875));
        assert!(near(sign_flip_p(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]), 0.0078125));
        assert!(near(sign_flip_p(&wave(90, 0.006)), 0.008572232285553039));
    }

    #[test]
    fn approximate_p_values_agree_with_scipy() {
        // scipy.stats.wilcoxon(x, method='approx', correction=True).pvalue
        assert!((sign_flip_p(&wave(150, 0.003)) / 0.1276320465707911 - 1.0).abs() < 1e-6);
        assert!((sign_flip_p(&wave(150, 0.0055)) / 0.009360704553455999 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn zeros_and_equal_sizes_are_exact() {
        // scipy.stats.permutation_test over the sum of signs times scipy.stats.rankdata(abs(x)),
        // permutation_type='samples', n_resamples=inf
        let values = [0.0, 0.01, 0.01, -0.01, 0.02, 0.03, 0.03, 0.04, 0.05];
        assert!(near(sign_flip_p(&values), 0.03125));
    }

    #[test]
    fn nothing_to_flip_is_no_difference() {
        assert_eq!(sign_flip_p(&[]), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 10]), 1.0);
    }

    #[test]
    fn the_approximation_is_as_good_as_it_says() {
        let weights: Vec<usize> = (1..=EXACT).map(|rank| 2 * rank).collect();
        for (p, error) in [(0.01, 0.05), (0.05, 0.01)] {
            let middle = weights.iter().sum::<usize>() / 2;
            let sum =
                (0..middle).rev().step_by(2).find(|sum| exact_p(&weights, *sum & !1) < p).unwrap();
            let (exact, normal) = (exact_p(&weights, sum & !1), normal_p(&weights, sum & !1));
            assert!((normal / exact - 1.0).abs() < error, "{normal} beside {exact}");
        }
    }

    /// The p-value by enumeration of all 2ⁿ signs.
    fn enumerated(values: &[f64]) -> f64 {
        let ranks: Vec<usize> = doubled_ranks(values).into_iter().map(|(_, rank)| rank).collect();
        let positive: usize =
            doubled_ranks(values).iter().filter(|(value, _)| *value > 0.0).map(|(_, r)| r).sum();
        let sum = |signs: u32| -> usize {
            ranks.iter().enumerate().filter(|(at, _)| signs >> at & 1 == 1).map(|(_, r)| r).sum()
        };
        let all: Vec<usize> = (0..1 << ranks.len()).map(sum).collect();
        let part = |holds: &dyn Fn(usize) -> bool| {
            all.iter().filter(|sum| holds(**sum)).count() as f64 / all.len() as f64
        };
        (2.0 * part(&|sum| sum <= positive).min(part(&|sum| sum >= positive))).min(1.0)
    }

    proptest! {
        #[test]
        fn p_is_that_of_all_signs(values in prop::collection::vec(-4..5_i32, 0..11)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            prop_assert!((sign_flip_p(&values) - enumerated(&values)).abs() < 1e-12);
        }

        #[test]
        fn neither_direction_nor_order_nor_unit_matters(
            mut values in prop::collection::vec(-1.0..1.0, 1..130),
        ) {
            let p = sign_flip_p(&values);
            prop_assert!((0.0..=1.0).contains(&p));
            values.reverse();
            values.iter_mut().for_each(|value| *value *= -8.0);
            prop_assert!((sign_flip_p(&values) - p).abs() < 1e-12);
        }
    }
}
