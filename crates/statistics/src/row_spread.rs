//! The spread of each row of a group over its trials, and the differences of two rows.
//!
//! The logarithm of a row's time in a trial is taken as the sum of the row's own, the trial's, and a
//! deviation whose variance is the row's own too: a row that sleeps in a library's threads varies a
//! hundred times more than a spinning one, and must not make a quiet pair look uncertain. Pairs alone
//! would: each would have a variance of few values, and most have a noisy partner.

use super::{
    location::median,
    moderated::{Estimate, moderated},
    student::{mean, two_sided_p},
};

/// The least variance, of differences of 1 part in 10⁹: equal figures do not prove exactness.
const LEAST_VARIANCE: f64 = 1e-18;

/// The logarithms of a row's time by trial; none where it was not measured.
pub type LogTimes = Vec<Option<f64>>;

/// The variances of the rows of a group, moderated.
pub(super) struct RowSpreads<'a> {
    rows: &'a [LogTimes],
    variances: Vec<Option<Estimate>>,
    /// The degrees of freedom of all values.
    freedom: f64,
}

impl<'a> RowSpreads<'a> {
    pub(super) fn of(rows: &'a [LogTimes]) -> Self {
        let own: Vec<Option<Estimate>> = own_variances(rows);
        let known: Vec<Estimate> = own.iter().flatten().copied().collect();
        let freedom: f64 = known.iter().map(|one| one.freedom).sum();
        let others = freedom * remaining(known.len());
        let mut moderated = moderated(&known, others).into_iter();
        let variances = own.iter().map(|one| one.and_then(|_| moderated.next())).collect();
        Self { rows, variances, freedom }
    }

    /// The two-sided p-value that two rows do not differ: Welch's t over the trials that both have,
    /// with the degrees of freedom of Satterthwaite ("An Approximate Distribution of Estimates of
    /// Variance Components", Biometrics Bulletin 2(6), 1946). None if they have fewer than two in
    /// common.
    pub(super) fn p(&self, first: usize, second: usize) -> Option<f64> {
        let differences = log_ratios(&self.rows[first], &self.rows[second]);
        if differences.len() < 2 {
            return None;
        }
        let (a, b) = (self.variances[first]?, self.variances[second]?);
        let sum = a.variance + b.variance;
        let freedom =
            sum.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
        let error = (sum / differences.len() as f64).sqrt();
        Some(two_sided_p(mean(&differences) / error, freedom.min(self.freedom)))
    }
}

/// The logarithms of the ratio of two rows, trial by trial, without the trials in which one of them
/// was not measured.
fn log_ratios(first: &LogTimes, second: &LogTimes) -> Vec<f64> {
    first.iter().zip(second).filter_map(|(first, second)| Some((*second)? - (*first)?)).collect()
}

/// The share of the values' degrees of freedom that the trials' own deviations leave to `rows` rows.
fn remaining(rows: usize) -> f64 {
    1.0 - 1.0 / rows.max(1) as f64
}

/// The variance of each row that was measured twice or more, if there are two of them. A trial's own
/// deviation is the median over the rows, so that noisy rows add nothing to the others; with two rows
/// this is the paired test.
fn own_variances(rows: &[LogTimes]) -> Vec<Option<Estimate>> {
    let mean_of = |row: &LogTimes| {
        let measured: Vec<f64> = row.iter().flatten().copied().collect();
        (measured.len() > 1).then(|| mean(&measured))
    };
    let means: Vec<Option<f64>> = rows.iter().map(mean_of).collect();
    let count = means.iter().flatten().count();
    let trials = rows.iter().map(Vec::len).max().unwrap_or(0);
    let moments: Vec<Option<Moment>> =
        (0..trials).map(|trial| Moment::of(rows, &means, trial)).collect();
    let estimate = |(row, own): (&LogTimes, &Option<f64>)| {
        own.filter(|_| count > 1)?;
        own_variance(row, &moments)
    };
    rows.iter().zip(&means).map(estimate).collect()
}

/// The variance of a row over the trials that others have too.
fn own_variance(row: &LogTimes, moments: &[Option<Moment>]) -> Option<Estimate> {
    let shared = row.iter().zip(moments).filter_map(|(time, moment)| (*time).zip(*moment));
    let (rests, shares): (Vec<f64>, Vec<f64>) =
        shared.map(|(time, moment)| (time - moment.deviation, remaining(moment.rows))).unzip();
    if rests.len() < 2 {
        return None;
    }
    let (middle, freedom) = (mean(&rests), (rests.len() - 1) as f64);
    // The median takes part of the row's own deviation with it, the more the fewer rows the trial has.
    let squares = rests.iter().zip(&shares).map(|(rest, share)| (rest - middle).powi(2) / share);
    let variance = (squares.sum::<f64>() / freedom).max(LEAST_VARIANCE);
    Some(Estimate { variance, freedom: freedom * mean(&shares) })
}

/// What the rows of a trial have in common.
#[derive(Clone, Copy)]
struct Moment {
    /// The deviation that they share.
    deviation: f64,
    /// Their number.
    rows: usize,
}

impl Moment {
    /// That of a trial; none if fewer than two rows have it: then it is the row's own.
    fn of(rows: &[LogTimes], means: &[Option<f64>], trial: usize) -> Option<Self> {
        let deviation = |(row, mean): (&LogTimes, &Option<f64>)| {
            Some(row.get(trial).copied().flatten()? - (*mean)?)
        };
        let deviations: Vec<f64> = rows.iter().zip(means).filter_map(deviation).collect();
        let rows = deviations.len();
        Some(Self { deviation: median(&deviations)?, rows }).filter(|moment| moment.rows > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times: &[&[f64]]) -> Vec<LogTimes> {
        times.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
    }

    #[test]
    fn two_rows_have_the_paired_t_test() {
        // scipy.stats.ttest_rel([0.1, 0.3, 0.2], [0.22, 0.41, 0.35]).pvalue
        let rows = rows(&[&[0.1, 0.3, 0.2], &[0.22, 0.41, 0.35]]);
        let found = RowSpreads::of(&rows).p(0, 1).unwrap();
        assert!((found - 0.00888299118113).abs() < 1e-9, "{found}");
    }

    /// Regression: in a trial that only one row had, its deviation counted as the trial's, and its spread seemed smaller.
    #[test]
    fn a_trial_of_one_row_alone_says_nothing_about_its_spread() {
        let (first, second) = ([0.1, 0.3, 0.2], [0.22, 0.41, 0.35]);
        let alone = |times: [f64; 3], further: [Option<f64>; 2]| -> LogTimes {
            times.into_iter().map(Some).chain(further).collect()
        };
        let rows = [alone(first, [Some(0.9), Some(0.2)]), alone(second, [None, None])];
        let found = RowSpreads::of(&rows).p(0, 1).unwrap();
        assert!((found - 0.00888299118113).abs() < 1e-9, "{found}");
    }

    /// Each of two rows keeps half of its deviation, each of three two thirds.
    #[test]
    fn a_trial_counts_by_the_rows_that_it_has() {
        let moment = |rows| Some(Moment { deviation: 0.0, rows });
        let row: LogTimes = [-0.1, 0.1, 0.0].map(Some).to_vec();
        let found = own_variance(&row, &[moment(2), moment(2), moment(3)]).unwrap();
        assert!((found.variance - 0.02).abs() < 1e-12, "{}", found.variance);
        assert!((found.freedom - 2.0 * (0.5 + 0.5 + 2.0 / 3.0) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_moment_of_the_machine_that_all_rows_share_changes_nothing() {
        let quiet = [[0.1, 0.12, 0.11], [0.5, 0.49, 0.51], [0.9, 0.93, 0.92]];
        let moved = quiet.map(|row| [row[0] + 0.3, row[1] - 0.2, row[2]]);
        let [quiet, moved] = [quiet, moved].map(|rows| {
            let rows: Vec<LogTimes> = rows.map(|row| row.map(Some).to_vec()).to_vec();
            RowSpreads::of(&rows).p(0, 1).unwrap()
        });
        assert!((quiet - moved).abs() < 1e-9, "{quiet} {moved}");
    }

    /// Regression: with variances of pairs, most pairs had a noisy row, and a run of everything gave
    /// rows of 0.16 µs and 1.26 µs one rank.
    #[test]
    fn noisy_rows_do_not_hide_the_difference_of_quiet_ones() {
        let varied = |at: usize, level: f64, spread: f64| {
            let mut row = [level, level + spread, level - 0.7 * spread];
            row.rotate_left(at % 3);
            row
        };
        let quiet = (0..10).map(|at| varied(at, 0.7 * at as f64, 0.02));
        let times: Vec<[f64; 3]> = quiet.chain((0..10).map(|at| varied(at, 3.0, 1.0))).collect();
        let rows: Vec<LogTimes> = times.iter().map(|row| row.map(Some).to_vec()).collect();
        let spreads = RowSpreads::of(&rows);
        let quiet = spreads.p(0, 1).unwrap();
        assert!(quiet < 0.01, "{quiet}");
        assert!(spreads.p(10, 11).unwrap() > 0.5);
    }

    #[test]
    fn rows_with_fewer_than_two_common_trials_are_not_compared() {
        let rows = [
            vec![Some(0.0), Some(0.1), None, None],
            vec![None, Some(2.0), Some(2.1), Some(2.0)],
            vec![Some(1.0), None, None, None],
        ];
        let spreads = RowSpreads::of(&rows);
        assert!(spreads.p(0, 1).is_none() && spreads.p(1, 2).is_none());
        assert!(RowSpreads::of(&[]).variances.is_empty());
    }
}
