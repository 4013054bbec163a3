//! The knee of a row: the two rates between which its percentile crosses the limit.

/// Rates with a ratio below this are not distinguished.
const NEAR: f64 = 1.1;

/// More steps than bisection of a range of a million needs to come this near.
const MOST_STEPS: u32 = 12;

/// The state of a row: the highest rate that it holds, and the lowest rate above that which it does not
/// hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Knee {
    pub holds: Option<u64>,
    pub fails: Option<u64>,
    steps: u32,
}

impl Knee {
    /// From rates, each with true if the row held it. A rate that failed below one that held is a transient disturbance
    /// of the machine, or a lower rate that is slower: the knee is above the rates that held.
    pub(super) fn of(points: &[(u64, bool)]) -> Self {
        let holds = points.iter().filter(|(_, held)| *held).map(|(rate, _)| *rate).max();
        let above = |rate: u64| holds.is_none_or(|holds| rate > holds);
        let fails = points.iter().filter(|(rate, held)| !held && above(*rate));
        Self { holds, fails: fails.map(|(rate, _)| *rate).min(), steps: 0 }
    }

    /// The rate to measure next: halfway on a logarithmic scale, rounded to two digits; None if the knee is known, or
    /// lies outside the points.
    pub(super) fn next(&mut self) -> Option<u64> {
        let (holds, fails) = (self.holds?, self.fails?);
        self.steps += 1;
        if self.steps > MOST_STEPS || fails as f64 <= holds as f64 * NEAR {
            return None;
        }
        let middle = two_digits((holds as f64 * fails as f64).sqrt());
        (holds < middle && middle < fails).then_some(middle)
    }

    /// Records whether the rate measured last was held.
    pub(super) fn found(&mut self, rate: u64, held: bool) {
        match held {
            true => self.holds = Some(rate),
            false => self.fails = Some(rate),
        }
    }
}

fn two_digits(rate: f64) -> u64 {
    let unit = 10_f64.powf(rate.log10().floor() - 1.0).max(1.0);
    ((rate / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates that are measured until the knee of a row that holds up to `most` is known, and the knee.
    fn walk(points: &[u64], most: u64) -> (Vec<u64>, Knee) {
        let judged: Vec<(u64, bool)> = points.iter().map(|rate| (*rate, *rate <= most)).collect();
        let (mut knee, mut rates) = (Knee::of(&judged), Vec::new());
        while let Some(rate) = knee.next() {
            knee.found(rate, rate <= most);
            rates.push(rate);
        }
        (rates, knee)
    }

    #[test]
    fn the_knee_is_found_by_halving() {
        let (rates, knee) = walk(&[1_000, 10_000, 100_000], 46_000);
        let (holds, fails) = (knee.holds.unwrap(), knee.fails.unwrap());
        assert!(holds <= 46_000 && fails > 46_000 && fails as f64 <= holds as f64 * NEAR);
        assert!(rates.len() <= 6, "{rates:?}");
        assert_eq!(rates[0], 32_000, "two digits are enough");
    }

    #[test]
    fn a_knee_beyond_the_points_is_not_searched() {
        assert_eq!(walk(&[1_000, 10_000], 10).1, Knee { fails: Some(1_000), ..Knee::default() });
        let (rates, knee) = walk(&[1_000, 10_000], 1_000_000);
        assert!(rates.is_empty() && knee.holds == Some(10_000) && knee.fails.is_none());
        assert!(Knee::of(&[]).next().is_none());
    }

    #[test]
    fn a_slow_lower_rate_does_not_hide_a_higher_one_that_holds() {
        let knee = Knee::of(&[(1_000, false), (10_000, true), (100_000, false)]);
        assert_eq!((knee.holds, knee.fails), (Some(10_000), Some(100_000)));
    }
}
