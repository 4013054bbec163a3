//! Intervals of a mean of few independent trials: Student ("The Probable Error of a Mean",
//! Biometrika 6(1), 1908).

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::location::logarithms;

/// The confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate between its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The estimate.
    pub estimate: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// The interval of the exponential.
    pub fn exp(self) -> Self {
        self.map(f64::exp)
    }

    /// The interval of the quantity times a factor.
    pub fn scaled(self, factor: f64) -> Self {
        self.map(|bound| bound * factor)
    }

    /// Half the interval's width relative to its estimate: the figure after `±`.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate
    }

    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { low: change(self.low), estimate: change(self.estimate), high: change(self.high) }
    }
}

/// The mean of independent values with its interval; `None` for fewer than two.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let error = (variance(values) / values.len() as f64).sqrt();
    Some(student_interval(mean(values), error, freedom as f64, confidence))
}

/// The geometric mean of a time of each trial with its interval of [`CONFIDENCE`]: Student's on the
/// logarithm, because trials differ by factors. `None` for fewer than two trials.
pub fn trial_interval(times: &[f64]) -> Option<Interval> {
    mean_interval(&logarithms(times), CONFIDENCE).map(Interval::exp)
}

/// The difference of the means of two independent samples whose variances may differ: Welch ("The
/// Generalization of 'Student's' Problem when Several Different Population Variances are Involved",
/// Biometrika 34, 1947).
pub(super) struct MeanDifference {
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    freedom: f64,
}

impl MeanDifference {
    /// Second minus first, of two samples of at least two values.
    pub fn of(first: &[f64], second: &[f64]) -> Self {
        let parts = [first, second].map(|values| variance(values) / values.len() as f64);
        let sum = parts[0] + parts[1];
        let freedoms = [first, second].map(|values| (values.len() - 1) as f64);
        let weights = parts[0].powi(2) / freedoms[0] + parts[1].powi(2) / freedoms[1];
        // Without variance the degrees of freedom are undefined and do not matter.
        let freedom = if sum > 0.0 { sum * sum / weights } else { freedoms[0] + freedoms[1] };
        Self { estimate: mean(second) - mean(first), error: sum.sqrt(), freedom }
    }

    /// The same for samples with equal variances: Student's.
    pub fn pooled(first: &[f64], second: &[f64]) -> Self {
        let freedoms = [first, second].map(|values| (values.len() - 1) as f64);
        let freedom = freedoms[0] + freedoms[1];
        let squares = variance(first) * freedoms[0] + variance(second) * freedoms[1];
        let counts = 1.0 / first.len() as f64 + 1.0 / second.len() as f64;
        let error = (squares / freedom * counts).sqrt();
        Self { estimate: mean(second) - mean(first), error, freedom }
    }

    pub fn interval(&self, confidence: f64) -> Interval {
        student_interval(self.estimate, self.error, self.freedom, confidence)
    }

    /// The two-sided p-value of no difference.
    pub fn p(&self) -> f64 {
        if self.estimate == 0.0 {
            1.0
        } else {
            two_sided_p(self.estimate / self.error, self.freedom)
        }
    }
}

pub(super) fn student_interval(
    estimate: f64,
    error: f64,
    freedom: f64,
    confidence: f64,
) -> Interval {
    let reach = quantile((1.0 + confidence) / 2.0, freedom) * error;
    Interval { low: estimate - reach, estimate, high: estimate + reach }
}

/// The probability that Student's t of `freedom` degrees lies farther from 0 than `t`.
pub(super) fn two_sided_p(t: f64, freedom: f64) -> f64 {
    2.0 * distribution(freedom).cdf(-t.abs())
}

fn quantile(p: f64, freedom: f64) -> f64 {
    distribution(freedom).inverse_cdf(p)
}

fn distribution(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("there are more than zero degrees of freedom")
}

/// The mean; not a number if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The unbiased variance of at least two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn quantiles_agree_with_scipy() {
        // scipy.stats.t.ppf(0.975, df)
        let scipy = [
            (1.0, 12.706204736174694),
            (2.0, 4.302652729749462),
            (4.0, 2.7764451051977934),
            (9.0, 2.262157162798205),
            (24.0, 2.0638985616280245),
        ];
        for (freedom, expected) in scipy {
            let found = quantile(0.975, freedom);
            assert!(near(found, expected), "{freedom}: {found}, not {expected}");
        }
    }

    #[test]
    fn p_values_agree_with_scipy() {
        // 2 * scipy.stats.t.sf(t, df)
        assert!(near(two_sided_p(4.303, 2.0), 0.0499925249852145));
        assert!(near(two_sided_p(-2.5, 7.3), 0.03965023466560043));
    }

    #[test]
    fn the_interval_of_trials_agrees_with_scipy() {
        // exp of scipy.stats.t.interval(0.95, 4, loc=mean(log(x)), scale=scipy.stats.sem(log(x)))
        let interval = trial_interval(&[118.2, 121.4, 119.9, 131.0, 120.3]).unwrap();
        assert!(near(interval.estimate, 122.07829465519598));
        assert!(near(interval.low, 116.0791121272415));
        assert!(near(interval.high, 128.38752599679285));
        assert!((interval.relative_half_width() - 0.0504).abs() < 1e-4);
    }

    #[test]
    fn a_difference_of_means_agrees_with_scipy() {
        // scipy.stats.ttest_ind(b, a, equal_var=False) and its confidence_interval(0.95)
        let difference = MeanDifference::of(&[4.8, 4.81, 4.79, 4.82], &[4.85, 4.88, 4.90]);
        assert!((difference.p() - 0.023690795850236476).abs() < 1e-9);
        assert!((difference.freedom - 2.7948025649679247).abs() < 1e-9);
        let interval = difference.interval(0.95);
        assert!(
            (interval.low - 0.018901052003483652).abs() < 1e-9
                && (interval.high - 0.12443228132985076).abs() < 1e-9
        );
    }

    #[test]
    fn one_trial_has_no_interval() {
        assert_eq!(trial_interval(&[120.0]), None);
        assert_eq!(trial_interval(&[]), None);
    }

    #[test]
    fn equal_trials_have_an_interval_of_no_width() {
        let interval = mean_interval(&[2.0; 3], CONFIDENCE).unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 2.0));
    }
}
