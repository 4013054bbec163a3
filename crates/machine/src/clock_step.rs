//! The step of a clock, from differences of its readings: their greatest common divisor, adapted to rounded readings.

use std::collections::BTreeMap;

/// A value seen only once among many is not evidence: a clock that is being adjusted produces some.
const LEAST_SEEN: u64 = 2;

/// The largest share of all values that need not fit: one in twenty.
const ODD_ONE_IN: usize = 20;

/// The shortest step, in ns, that is searched for among rounded values: rounding hides shorter ones.
const LEAST_ROUNDED: f64 = 4.0;

/// The largest distance of a value from a multiple: less than 1 ns for two rounded readings, and the rest for the
/// uncertainty of the step.
const TOLERANCE: f64 = 1.25;

/// The number of values that are examined, the smallest ones.
const MOST_VALUES: usize = 256;

/// The most steps in the smallest value: a clock whose reading takes more steps is unfit for measuring.
const MOST_PARTS: u32 = 1_000;

/// The largest probability that values of any size would fit an accepted step.
const CHANCE: f64 = 0.01;

/// An observed difference and its number of occurrences.
#[derive(Clone, Copy)]
struct Observation {
    value: u64,
    count: u64,
}

/// The step of a clock in ns, from many differences of its readings in whole ns; `None` if all are
/// zero. A single difference is its own step: the step is no longer than that.
///
/// A counter of 24 MHz is read as 41, 42, 83, 84 and 125 ns, whose greatest common divisor is 1 although the clock's
/// step is 41.67. So first a real number is searched for, of which almost all differences are a multiple to about 1 ns,
/// the error of rounding two readings; the largest such number is refined by least squares. If there is none, the clock
/// is finer, and the result is the greatest whole number that divides almost all differences.
///
/// Almost all means nineteen in twenty of the different values that were seen more than once. So a clock adjusted
/// during the readings, or a single odd value, does no harm.
pub(crate) fn clock_step(differences_ns: &[u64]) -> Option<f64> {
    let seen = seen(differences_ns);
    rounded_step(&seen).or_else(|| whole_step(&seen).map(|step| step as f64))
}

/// The different positive values, ascending: those seen more than once, or all if none was.
fn seen(differences: &[u64]) -> Vec<Observation> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for difference in differences.iter().filter(|difference| **difference > 0) {
        *counts.entry(*difference).or_default() += 1;
    }
    if counts.values().any(|count| *count >= LEAST_SEEN) {
        counts.retain(|_, count| *count >= LEAST_SEEN);
    }
    counts
        .into_iter()
        .take(MOST_VALUES)
        .map(|(value, count)| Observation { value, count })
        .collect()
}

/// The largest real step that explains the values.
fn rounded_step(seen: &[Observation]) -> Option<f64> {
    let mut candidates = candidates(seen);
    candidates.sort_by(|a, b| b.total_cmp(a));
    candidates.into_iter().find_map(|candidate| refined(seen, candidate))
}

/// The integer fractions of the smallest values. More than one value is used, because the smallest may be odd;
/// neighbouring values are one multiple, rounded both ways.
fn candidates(seen: &[Observation]) -> Vec<f64> {
    let runs = seen.chunk_by(|a, b| b.value - a.value == 1);
    let smallest = runs.map(mean).take(1 + seen.len() / ODD_ONE_IN);
    let parts = |mean: f64| (1..=MOST_PARTS).map(move |part| mean / f64::from(part));
    smallest.flat_map(parts).filter(|step| *step >= LEAST_ROUNDED).collect()
}

fn mean(seen: &[Observation]) -> f64 {
    let sum: f64 = seen.iter().map(|seen| seen.value as f64 * seen.count as f64).sum();
    sum / seen.iter().map(|seen| seen.count as f64).sum::<f64>()
}

/// The step by least squares, if almost all values are multiples of about `candidate`. It is refined value by value, so
/// that its error stays below the tolerance of the next multiple.
fn refined(seen: &[Observation], candidate: f64) -> Option<f64> {
    let (mut step, mut products, mut squares) = (candidate, candidate, 1.0);
    let mut multiples = Vec::new();
    let mut odd = 0;
    for Observation { value, count } in seen {
        let multiple = (*value as f64 / step).round();
        if multiple < 1.0 || (*value as f64 - multiple * step).abs() >= TOLERANCE {
            odd += 1;
            continue;
        }
        products += *count as f64 * multiple * *value as f64;
        squares += *count as f64 * multiple * multiple;
        step = products / squares;
        multiples.push(multiple as u64);
    }
    multiples.dedup();
    let fits = odd * ODD_ONE_IN <= seen.len();
    (fits && is_no_chance(step, multiples.len())).then_some(step)
}

/// True if the fit is unlikely to be chance: by chance, values fit within the tolerance on both sides of a multiple.
/// The first value always fits, because the step was calculated from it.
fn is_no_chance(step: f64, multiples: usize) -> bool {
    multiples > 2 && (2.0 * TOLERANCE / step).powi(multiples as i32 - 1) < CHANCE
}

/// The greatest whole number that divides almost all values.
fn whole_step(seen: &[Observation]) -> Option<u64> {
    let values: Vec<u64> = seen.iter().map(|seen| seen.value).collect();
    let divides = |step: &u64| {
        let odd = values.iter().filter(|value| *value % step != 0).count();
        odd * ODD_ONE_IN <= values.len()
    };
    let mut divisors: Vec<u64> = values.windows(2).map(|pair| divisor(pair[0], pair[1])).collect();
    divisors.extend(values.iter().copied().reduce(divisor));
    divisors.sort_unstable();
    divisors.into_iter().rev().find(divides)
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Differences of a clock of this step, read at positions that advance by 2 to 9 steps.
    fn differences(step: f64, count: u64) -> Vec<u64> {
        let mut place = 0;
        let mut read = |at: u64| {
            place += 2 + (at * at * 7 + at / 3) % 8;
            (place as f64 * step) as u64
        };
        let readings: Vec<u64> = (0..count).map(&mut read).collect();
        readings.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn near(differences: &[u64], step: f64) -> bool {
        let found = clock_step(differences).unwrap();
        (found / step - 1.0).abs() < 0.002 || panic!("{found}, not {step}")
    }

    #[test]
    fn a_whole_step_is_found_though_the_reading_takes_longer() {
        let found = clock_step(&[20, 20, 30, 20, 20, 30, 20]).unwrap();
        assert_eq!(found, 10.0);
    }

    #[test]
    fn steps_are_found_through_their_rounding() {
        // 24 MHz, 25 MHz, 19.2 MHz, 100 MHz, 14.3 MHz, 97.5 MHz, 1 MHz, 250 Hz.
        for step in [41.667, 40.0, 52.083, 10.0, 69.841, 10.2564, 1_000.0, 4_000_000.0] {
            assert!(near(&differences(step, 5_000), step));
        }
    }

    #[test]
    fn a_fine_clock_has_a_step_of_one() {
        for step in [0.385, 0.5, 1.0, 1.3] {
            let scaled: Vec<u64> = differences(1.0, 5_000).iter().map(|ns| ns + 20).collect();
            assert_eq!(clock_step(&scaled), Some(1.0), "{step}");
            assert_eq!(clock_step(&differences(step, 5_000)), Some(1.0), "{step}");
        }
    }

    #[test]
    fn odd_differences_do_not_change_the_step() {
        for step in [10.0, 41.667] {
            let mut differences = differences(step, 5_000);
            let known = clock_step(&differences).unwrap();
            differences[17] += 3;
            differences[4_000] = 12_347;
            let found = clock_step(&differences).unwrap();
            assert!((found / known - 1.0).abs() < 1e-4, "{found}, not {known}");
        }
        let tens: Vec<u64> = (2..100).flat_map(|at| [10 * at; 3]).chain([123; 3]).collect();
        assert_eq!(clock_step(&tens), Some(10.0), "seen three times");
    }

    #[test]
    fn few_values_prove_no_rounded_step() {
        assert_eq!(clock_step(&[17, 22, 39]), Some(1.0));
        assert_eq!(clock_step(&[22, 23, 22, 23]), Some(1.0));
        assert_eq!(clock_step(&[20]), Some(20.0));
        assert_eq!(clock_step(&[0, 0]), None);
        assert_eq!(clock_step(&[]), None);
    }

    proptest! {
        #[test]
        fn a_step_is_found_or_none_is_claimed(step in 5.0..5_000.0) {
            let differences = differences(step, 3_000);
            // If rounding hides some steps, the result is 1 ns.
            prop_assert!(clock_step(&differences) == Some(1.0) || near(&differences, step));
        }

        #[test]
        fn the_step_is_positive_and_no_longer_than_most(
            differences in prop::collection::vec(0..10_000_u64, 0..200),
        ) {
            match clock_step(&differences) {
                None => prop_assert!(differences.iter().all(|difference| *difference == 0)),
                Some(step) => prop_assert!((1.0..=10_000.0).contains(&step)),
            }
        }
    }
}
