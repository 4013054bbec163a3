//! The Hodges–Lehmann estimate and its interval ("Estimates of Location Based on Rank Tests",
//! Annals of Mathematical Statistics 34(2), 1963): the signed-rank test inverted.

use statrs::distribution::ContinuousCDF;

use super::{
    signed_rank::{EXACT, standard_normal, subset_sums},
    student::Interval,
};

/// The median of all means of two of the values (each with itself included): the centre of
/// symmetrical noise, with 95 % of the mean's efficiency on normal noise and robust against a
/// quarter of outliers. `None` if there are no values.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let averages = averages(values.len());
    let middle = |rank| walsh_average(&sorted, rank);
    (averages > 0).then(|| (middle(averages.div_ceil(2)) + middle(averages / 2 + 1)) / 2.0)
}

/// The estimate with its distribution-free interval; `None` if there are too few values for that
/// confidence (fewer than 5 for 90 %, 6 for 95 %, 8 for 99 %). Exact up to 100 values, like the
/// test.
pub fn hodges_lehmann_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let rank = lower_rank(values.len(), (1.0 - confidence) / 2.0)?;
    let sorted = sorted(values);
    Some(Interval {
        low: walsh_average(&sorted, rank),
        estimate: hodges_lehmann(values)?,
        high: walsh_average(&sorted, averages(values.len()) + 1 - rank),
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The number of means of two of `count` values.
fn averages(count: usize) -> usize {
    count * (count + 1) / 2
}

/// The largest rank such that the signed-rank sum is below it with a probability of at most `miss`.
fn lower_rank(count: usize, miss: f64) -> Option<usize> {
    let rank = if count <= EXACT { exact_rank(count, miss) } else { normal_rank(count, miss) };
    (rank > 0).then_some(rank)
}

fn exact_rank(count: usize, miss: f64) -> usize {
    let ranks: Vec<usize> = (1..=count).collect();
    let mut below = 0.0;
    let mut is_rare = |probability: f64| {
        below += probability;
        below <= miss
    };
    subset_sums(&ranks).into_iter().take_while(|probability| is_rare(*probability)).count()
}

fn normal_rank(count: usize, miss: f64) -> usize {
    let n = count as f64;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let sum = n * (n + 1.0) / 4.0 - 0.5 + standard_normal().inverse_cdf(miss) * deviation;
    (sum.floor() + 1.0).max(0.0) as usize
}

/// The `rank`-th smallest mean of two values, from 1. The means are not stored: a bisection over
/// all floating-point numbers counts, in linear time, the means that are at most each number.
fn walsh_average(sorted: &[f64], rank: usize) -> f64 {
    let (mut low, mut high) = (order(sorted[0]), order(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low.midpoint(high);
        // i64::midpoint rounds towards zero, so it can return the upper of two neighbours.
        let middle = middle.min(high - 1);
        if averages_up_to(sorted, number(middle)) >= rank {
            high = middle
        } else {
            low = middle + 1
        }
    }
    number(low)
}

/// The number of means of two that are at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> usize {
    let mut end = sorted.len();
    let mut count = 0;
    for (at, value) in sorted.iter().enumerate() {
        while end > at && (value + sorted[end - 1]) / 2.0 > limit {
            end -= 1;
        }
        count += end.saturating_sub(at);
    }
    count
}

/// An integer that grows with the floating-point number, without gaps.
fn order(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

fn number(order: i64) -> f64 {
    f64::from_bits(if order < 0 { i64::MIN.wrapping_sub(order) } else { order } as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sign_flip_p;

    fn all_averages(values: &[f64]) -> Vec<f64> {
        let mut averages: Vec<f64> = (0..values.len())
            .flat_map(|a| (a..values.len()).map(move |b| (values[a] + values[b]) / 2.0))
            .collect();
        averages.sort_by(f64::total_cmp);
        averages
    }

    #[test]
    fn the_estimate_agrees_with_the_median_of_all_means() {
        // numpy.median([(a + b) / 2 for all a, b not before a])
        let ten = [0.031, -0.004, 0.022, 0.017, 0.041, -0.012, 0.028, 0.009, 0.035, 0.014];
        assert!((hodges_lehmann(&ten).unwrap() - 0.0185).abs() < 1e-15);
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[0.25]), Some(0.25));
    }

    #[test]
    fn ranks_agree_with_the_tables() {
        // The number of sums t with scipy's P(T ≤ t) at most 0.05, 0.025 and 0.005; "–" is 0.
        let tables = [
            (6, [3, 1, 0]),
            (8, [6, 4, 1]),
            (10, [11, 9, 4]),
            (20, [61, 53, 38]),
            (50, [467, 435, 374]),
            (100, [2_046, 1_956, 1_780]),
        ];
        for (count, ranks) in tables {
            for (miss, rank) in [0.05, 0.025, 0.005].into_iter().zip(ranks) {
                assert_eq!(exact_rank(count, miss), rank, "{count} values, {miss}");
            }
        }
    }

    #[test]
    fn the_approximation_goes_on_where_exactness_ends() {
        for miss in [0.05, 0.025, 0.005] {
            let (exact, normal) = (exact_rank(EXACT, miss), normal_rank(EXACT, miss));
            assert!(exact.abs_diff(normal) <= 4, "{exact} and {normal}");
        }
    }

    #[test]
    fn few_values_have_no_interval() {
        for (confidence, least) in [(0.9, 5), (0.95, 6), (0.99, 8)] {
            let values: Vec<f64> = (0..least).map(f64::from).collect();
            assert!(hodges_lehmann_interval(&values, confidence).is_some());
            assert!(hodges_lehmann_interval(&values[1..], confidence).is_none());
        }
    }

    proptest! {
        #[test]
        fn every_rank_of_the_means_is_found(
            values in prop::collection::vec(prop_oneof![-1e3..1e3, -4.0..4.0_f64], 1..24),
        ) {
            let values: Vec<f64> = values.iter().map(|value: &f64| value.round()).collect();
            let expected = all_averages(&values);
            for (at, average) in expected.iter().enumerate() {
                prop_assert_eq!(walsh_average(&sorted(&values), at + 1), *average);
            }
        }

        #[test]
        fn numbers_keep_their_order(a: f64, b: f64) {
            prop_assume!(!a.is_nan() && !b.is_nan());
            prop_assert_eq!(order(a).cmp(&order(b)), a.partial_cmp(&b).unwrap());
            prop_assert_eq!(number(order(a)), a);
        }

        #[test]
        fn the_interval_is_the_inverted_test(
            values in prop::collection::vec(-1.0..1.0, 8..60),
            shift in -1.0..1.0,
        ) {
            let interval = hodges_lehmann_interval(&values, 0.99).unwrap();
            let shifted: Vec<f64> = values.iter().map(|value| value - shift).collect();
            let inside = interval.low < shift && shift < interval.high;
            prop_assert_eq!(inside, sign_flip_p(&shifted) > 0.01);
        }

        #[test]
        fn the_estimate_follows_shift_and_unit(values in prop::collection::vec(-1.0..1.0, 1..60)) {
            let changed: Vec<f64> = values.iter().map(|value| 2.0 - 4.0 * value).collect();
            let expected = 2.0 - 4.0 * hodges_lehmann(&values).unwrap();
            prop_assert!((hodges_lehmann(&changed).unwrap() - expected).abs() < 1e-12);
        }
    }
}
