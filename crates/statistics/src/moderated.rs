//! Many variances of few values each: the moderated variance of Smyth ("Linear Models and Empirical
//! Bayes Methods for Assessing Differential Expression", Statistical Applications in Genetics and
//! Molecular Biology 3(1), 2004).
//!
//! Three trials estimate a row's variance with two degrees of freedom, which would distinguish
//! hardly any two rows. But all rows of a group were measured on one machine in one run: the spread
//! of their variances, beyond that expected by chance, determines how strongly each is drawn towards
//! the common one. If they differ widely, each is used nearly alone.

use statrs::function::gamma::digamma;

use super::student::{mean, variance};

/// A variance, with the degrees of freedom of its estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub variance: f64,
    pub freedom: f64,
}

/// The same variances, each drawn towards the common one. `most_freedom` limits the common
/// information to the degrees of freedom of all values.
pub(super) fn moderated(estimates: &[Estimate], most_freedom: f64) -> Vec<Estimate> {
    let prior = prior(estimates, most_freedom);
    let moderate = |own: &Estimate| {
        let freedom = own.freedom + prior.freedom;
        let sum = prior.freedom * prior.variance + own.freedom * own.variance;
        Estimate { variance: sum / freedom, freedom }
    };
    estimates.iter().map(moderate).collect()
}

/// Smyth's estimate (section 6.2): the logarithm of a variance of d degrees of freedom has a known
/// mean and variance; the samples' excess over that is the variance of the true ones.
fn prior(estimates: &[Estimate], most_freedom: f64) -> Estimate {
    if estimates.len() < 2 {
        return Estimate { variance: 0.0, freedom: 0.0 };
    }
    let unbiased = |own: &Estimate| {
        let half = own.freedom / 2.0;
        own.variance.ln() - digamma(half) + half.ln()
    };
    let logs: Vec<f64> = estimates.iter().map(unbiased).collect();
    let chance: Vec<f64> = estimates.iter().map(|own| trigamma(own.freedom / 2.0)).collect();
    let excess = variance(&logs) - mean(&chance);
    let half = if excess > 0.0 { inverse_trigamma(excess) } else { f64::INFINITY };
    let half = half.min(most_freedom / 2.0);
    let variance = (mean(&logs) + digamma(half) - half.ln()).exp();
    Estimate { variance, freedom: 2.0 * half }
}

/// The derivative of the digamma function for a positive number: its recurrence up to 10, then its
/// asymptotic series (Abramowitz and Stegun 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    if x < 10.0 {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    1.0 / x + square / 2.0 + square / x * series
}

/// The positive number with this trigamma value, by bisection of its logarithm.
fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high) = (1e-8_f64.ln(), 1e8_f64.ln());
    for _ in 0..60 {
        let middle = low.midpoint(high);
        if trigamma(middle.exp()) > y { low = middle } else { high = middle }
    }
    low.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(variances: &[f64], freedom: f64) -> Vec<Estimate> {
        variances.iter().map(|variance| Estimate { variance: *variance, freedom }).collect()
    }

    #[test]
    fn trigamma_agrees_with_scipy() {
        // scipy.special.polygamma(1, x)
        let scipy = [
            (0.5, 4.93480220054468),
            (1.0, 1.6449340668482266),
            (2.5, 0.4903577561002349),
            (12.0, 0.0869018728717684),
        ];
        for (x, expected) in scipy {
            assert!((trigamma(x) / expected - 1.0).abs() < 1e-9, "{x}: {}", trigamma(x));
            assert!((inverse_trigamma(expected) / x - 1.0).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn moderated_variances_agree_with_scipy() {
        // Smyth's formulas with scipy.special.digamma and polygamma, and scipy.optimize.brentq for
        // the inverse.
        let own = [0.00003, 0.0031, 0.000007, 0.0006, 0.0011, 0.12];
        let scipy = [
            5.66990886129e-05,
            0.00236670972643,
            3.93928199908e-05,
            0.000485593571855,
            0.000861816802769,
            0.0903277011141,
        ];
        let found = moderated(&estimates(&own, 2.0), 1e6);
        for (found, expected) in found.into_iter().zip(scipy) {
            assert!((found.variance / expected - 1.0).abs() < 1e-6, "{found:?}, not {expected}");
            assert!((found.freedom - 2.657996418).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn a_variance_alone_stays_as_it_is() {
        let alone = estimates(&[0.01], 2.0);
        assert_eq!(moderated(&alone, 100.0), alone);
    }

    #[test]
    fn equal_variances_share_their_degrees_of_freedom() {
        let found = moderated(&estimates(&[0.01; 20], 2.0), 12.0);
        assert!(found.iter().all(|one| one.freedom == 14.0), "{found:?}");
    }
}
