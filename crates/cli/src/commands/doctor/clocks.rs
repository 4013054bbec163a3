//! How far the clocks of two processors are apart.

use ipcmark_machine::clock_offset::Offset;
use ipcmark_report::duration;
use ipcmark_results::{ClockOffset, stats::percentile};

/// How far the clock of the second processor of a pair was ahead, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockSpread {
    /// The 5th percentile of the comparisons.
    pub p5_ns: f64,
    /// The median.
    pub p50_ns: f64,
    /// The 95th percentile.
    pub p95_ns: f64,
    /// The median of the largest possible errors.
    pub bound_ns: f64,
}

impl ClockSpread {
    /// None if the clocks were never compared.
    pub(super) fn of(offsets: &[Offset]) -> Option<Self> {
        let estimates: Vec<f64> = offsets.iter().map(|offset| offset.estimate_ns as f64).collect();
        let bound = |offset: &Offset| {
            let Offset { least_ns, estimate_ns, most_ns } = *offset;
            ClockOffset { least_ns, estimate_ns, most_ns }.bound_ns() as f64
        };
        let bounds: Vec<f64> = offsets.iter().map(bound).collect();
        Some(Self {
            p5_ns: percentile(&estimates, 0.05)?,
            p50_ns: percentile(&estimates, 0.5)?,
            p95_ns: percentile(&estimates, 0.95)?,
            bound_ns: percentile(&bounds, 0.5)?,
        })
    }

    /// The largest offset in either direction.
    pub(super) fn largest_ns(&self) -> f64 {
        self.p5_ns.abs().max(self.p95_ns.abs())
    }

    /// For people: `-12.0 ns to 15.0 ns, each known within 40.0 ns`.
    pub(super) fn words(&self) -> String {
        let [low, high] = [self.p5_ns, self.p95_ns].map(signed);
        format!("{low} to {high}, each known within {}", duration(self.bound_ns))
    }
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_shown_with_their_sign_and_bound() {
        let offset = |estimate_ns| Offset { least_ns: -50, estimate_ns, most_ns: 40 };
        let spread = ClockSpread::of(&[offset(-20), offset(0), offset(30)]).unwrap();
        assert_eq!((spread.p50_ns, spread.bound_ns), (0.0, 60.0));
        assert_eq!(spread.words(), "-18.0 ns to 27.0 ns, each known within 60.0 ns");
        assert!((spread.largest_ns() - 27.0).abs() < 1e-9);
        assert_eq!(ClockSpread::of(&[]), None);
    }
}
