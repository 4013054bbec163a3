//! The knee of a row: the two rates between which its percentile crosses the limit.

use ipcmark_report::SweepFinding;
use ipcmark_results::{Identity, JudgedRate};

/// Rates with a ratio below this are not distinguished.
const NEAR: f64 = 1.1;

/// More steps than bisection of a range of a million needs to come this near.
const MOST_STEPS: u32 = 12;

/// The state of a row: the highest rate that it holds, and the lowest rate above that which it does not
/// hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Knee {
    pub holds: Option<JudgedRate>,
    pub fails: Option<JudgedRate>,
    /// Rates at which it was tried without a verdict.
    pub unjudged: Vec<u64>,
    steps: u32,
}

impl Knee {
    /// From the rates at which a row was tried. A rate that failed below one that held is a transient disturbance of
    /// the machine, or a lower rate that is slower: the knee is above the rates that held.
    pub(super) fn of(points: &[JudgedRate]) -> Self {
        let is = |held: Option<bool>| {
            points.iter().copied().filter(move |point| point.verdict.holds() == held)
        };
        let holds = is(Some(true)).max_by_key(|point| point.per_second);
        let is_above =
            |point: &JudgedRate| holds.is_none_or(|holds| point.per_second > holds.per_second);
        let fails = is(Some(false)).filter(is_above).min_by_key(|point| point.per_second);
        let unjudged = is(None).map(|point| point.per_second).collect();
        Self { holds, fails, unjudged, steps: 0 }
    }

    /// The rate to measure next: halfway on a logarithmic scale, rounded to two digits; None if the knee is known, lies
    /// outside the points, or there is no verdict halfway.
    pub(super) fn next(&mut self) -> Option<u64> {
        let (holds, fails) = (self.holds?.per_second, self.fails?.per_second);
        self.steps += 1;
        if self.steps > MOST_STEPS || fails as f64 <= holds as f64 * NEAR {
            return None;
        }
        let middle = two_digits((holds as f64 * fails as f64).sqrt());
        let is_new = holds < middle && middle < fails && !self.unjudged.contains(&middle);
        is_new.then_some(middle)
    }

    /// Records the verdict at the rate measured last.
    pub(super) fn found(&mut self, point: JudgedRate) {
        match point.verdict.holds() {
            Some(true) => self.holds = Some(point),
            Some(false) => self.fails = Some(point),
            None => self.unjudged.push(point.per_second),
        }
    }

    /// The answer for this row.
    pub(super) fn finding(self, row: Identity) -> SweepFinding {
        let Self { holds, fails, mut unjudged, .. } = self;
        unjudged.sort_unstable();
        SweepFinding { row, holds, fails, unjudged }
    }
}

fn two_digits(rate: f64) -> u64 {
    let unit = 10_f64.powf(rate.log10().floor() - 1.0).max(1.0);
    ((rate / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use ipcmark_results::LimitVerdict::{self, Beyond, Failed, Unknown, Within};

    use super::*;

    fn at(per_second: u64, verdict: LimitVerdict) -> JudgedRate {
        JudgedRate { per_second, verdict, is_certain: true }
    }

    /// The rates that are measured until the knee of a row that holds up to `most` is known, and the knee.
    fn walk(points: &[u64], most: u64) -> (Vec<u64>, Knee) {
        let judged = |rate: u64| at(rate, if rate <= most { Within } else { Beyond });
        let points: Vec<JudgedRate> = points.iter().copied().map(judged).collect();
        let (mut knee, mut rates) = (Knee::of(&points), Vec::new());
        while let Some(rate) = knee.next() {
            knee.found(judged(rate));
            rates.push(rate);
        }
        (rates, knee)
    }

    fn rates(knee: &Knee) -> (Option<u64>, Option<u64>) {
        let rate = |point: Option<JudgedRate>| point.map(|point| point.per_second);
        (rate(knee.holds), rate(knee.fails))
    }

    #[test]
    fn the_knee_is_found_by_halving() {
        let (steps, knee) = walk(&[1_000, 10_000, 100_000], 46_000);
        let (Some(holds), Some(fails)) = rates(&knee) else { panic!("{knee:?}") };
        assert!(holds <= 46_000 && fails > 46_000 && fails as f64 <= holds as f64 * NEAR);
        assert!(steps.len() <= 6, "{steps:?}");
        assert_eq!(steps[0], 32_000, "two digits are enough");
    }

    #[test]
    fn a_knee_beyond_the_points_is_not_searched() {
        assert_eq!(rates(&walk(&[1_000, 10_000], 10).1), (None, Some(1_000)));
        let (steps, knee) = walk(&[1_000, 10_000], 1_000_000);
        assert!(steps.is_empty());
        assert_eq!(rates(&knee), (Some(10_000), None));
        assert!(Knee::of(&[]).next().is_none());
    }

    #[test]
    fn a_slow_lower_rate_does_not_hide_a_higher_one_that_holds() {
        let points = [at(1_000, Beyond), at(10_000, Within), at(100_000, Beyond)];
        assert_eq!(rates(&Knee::of(&points)), (Some(10_000), Some(100_000)));
    }

    /// Regression: a rate at which the row failed was no rate, so the highest below it was "the highest that was
    /// measured".
    #[test]
    fn a_rate_at_which_the_row_failed_is_not_held() {
        let mut knee = Knee::of(&[at(1_000, Within), at(100_000, Failed)]);
        assert_eq!(rates(&knee), (Some(1_000), Some(100_000)));
        assert_eq!(knee.next(), Some(10_000));
        knee.found(at(10_000, Failed));
        assert_eq!(knee.fails, Some(at(10_000, Failed)));
    }

    /// Regression: a point without a p99 was no point.
    #[test]
    fn rates_without_a_verdict_are_kept_and_end_the_search() {
        let mut knee = Knee::of(&[at(1, Unknown), at(1_000, Within), at(100_000, Beyond)]);
        assert_eq!(knee.next(), Some(10_000));
        knee.found(at(10_000, Unknown));
        assert_eq!(knee.next(), None);
        assert_eq!(knee.unjudged, [1, 10_000]);
        assert_eq!(Knee::of(&[at(1, Unknown)]).unjudged, [1]);
    }
}
