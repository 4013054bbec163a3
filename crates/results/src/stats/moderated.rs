//! Many t tests of few values each: the moderated t of Smyth ("Linear Models and Empirical Bayes
//! Methods for Assessing Differential Expression", Statistical Applications in Genetics and
//! Molecular Biology 3(1), 2004).
//!
//! Three trials estimate a variance with two degrees of freedom, which would distinguish no pair of
//! rows below a factor of 1.5. But all pairs of a group were measured on one machine in one run:
//! the spread of their variances, beyond that expected by chance, determines how strongly each is
//! drawn towards the common one. If they differ widely, each is used alone.

use statrs::function::gamma::digamma;

use super::student::{mean, two_sided_p, variance};

/// The least variance, of differences of 1 part in 10⁹: equal figures do not prove exactness.
const LEAST_VARIANCE: f64 = 1e-18;

/// One test's values: mean and variance, with its degrees of freedom.
#[derive(Clone, Copy)]
struct SampleVariance {
    count: f64,
    mean: f64,
    variance: f64,
}

impl SampleVariance {
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        (values.len() > 1).then(|| Self {
            count,
            mean: mean(values),
            variance: variance(values).max(LEAST_VARIANCE),
        })
    }

    fn freedom(&self) -> f64 {
        self.count - 1.0
    }
}

/// The common information of all tests on each one's variance: a common variance, and its
/// equivalent degrees of freedom.
struct Prior {
    variance: f64,
    freedom: f64,
}

/// The two-sided p-values of tests that each set of values has a mean of 0; `None` for a set of
/// fewer than two. `most_freedom` limits the common information: the degrees of freedom of the
/// underlying measurements, which may be fewer than the sum over the sets.
pub(super) fn p_values(sets: &[Vec<f64>], most_freedom: f64) -> Vec<Option<f64>> {
    let samples: Vec<Option<SampleVariance>> =
        sets.iter().map(|values| SampleVariance::of(values)).collect();
    let prior = prior(&samples.iter().flatten().copied().collect::<Vec<_>>(), most_freedom);
    samples.iter().map(|sample| Some(p_value(sample.as_ref()?, &prior))).collect()
}

fn p_value(sample: &SampleVariance, prior: &Prior) -> f64 {
    let freedom = sample.freedom() + prior.freedom;
    let variance = (prior.freedom * prior.variance + sample.freedom() * sample.variance) / freedom;
    two_sided_p(sample.mean / (variance / sample.count).sqrt(), freedom)
}

/// Smyth's estimate (section 6.2): the logarithm of a variance of d degrees of freedom has a known
/// mean and variance; the samples' excess over that is the variance of the true ones.
fn prior(samples: &[SampleVariance], most_freedom: f64) -> Prior {
    if samples.len() < 2 {
        return Prior { variance: 0.0, freedom: 0.0 };
    }
    let unbiased = |sample: &SampleVariance| {
        let half = sample.freedom() / 2.0;
        sample.variance.ln() - digamma(half) + half.ln()
    };
    let logs: Vec<f64> = samples.iter().map(unbiased).collect();
    let chance: Vec<f64> = samples.iter().map(|sample| trigamma(sample.freedom() / 2.0)).collect();
    let excess = variance(&logs) - mean(&chance);
    let half = if excess > 0.0 { inverse_trigamma(excess) } else { f64::INFINITY };
    let half = half.min(most_freedom / 2.0);
    Prior { variance: (mean(&logs) + digamma(half) - half.ln()).exp(), freedom: 2.0 * half }
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

    fn sets() -> Vec<Vec<f64>> {
        vec![
            vec![0.012, 0.019, 0.008],
            vec![0.05, 0.09, -0.02],
            vec![-0.003, 0.001, 0.002],
            vec![0.2, 0.18, 0.23],
            vec![0.01, -0.03, 0.05, 0.02],
            vec![0.4, -0.3, 0.1],
        ]
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
    fn p_values_agree_with_scipy() {
        // Smyth's formulas with scipy.special.digamma and polygamma, scipy.optimize.brentq for the
        // inverse, and 2 * scipy.stats.t.sf(abs(t), d0 + d): d0 = 0.6546909868
        let scipy = [
            0.0673723076106497,
            0.2607901414278299,
            1.0,
            0.0010989012891339,
            0.4602105788501344,
            0.7331044611943667,
        ];
        for (found, expected) in p_values(&sets(), 1e6).into_iter().zip(scipy) {
            let found = found.unwrap();
            assert!((found - expected).abs() < 1e-7, "{found}, not {expected}");
        }
    }

    #[test]
    fn a_set_alone_has_the_t_test() {
        // scipy.stats.ttest_1samp([0.012, 0.019, 0.008], 0).pvalue
        let found = p_values(&sets()[..1], 100.0)[0].unwrap();
        assert!((found - 0.05605248723558254).abs() < 1e-9, "{found}");
    }

    #[test]
    fn sets_of_equal_variances_share_their_degrees_of_freedom() {
        let sets: Vec<Vec<f64>> =
            (0..20).map(|at| vec![0.01, -0.01, 0.001 * f64::from(at)]).collect();
        let freedom = |most: f64| {
            let samples: Vec<SampleVariance> =
                sets.iter().filter_map(|set| SampleVariance::of(set)).collect();
            prior(&samples, most).freedom
        };
        assert_eq!(freedom(12.0), 12.0);
        assert!(p_values(&[vec![0.1], vec![0.1; 3]], 4.0)[0].is_none());
        assert!(p_values(&[vec![0.1; 3], vec![0.0; 3]], 4.0)[0].unwrap() < 1e-6);
    }
}
