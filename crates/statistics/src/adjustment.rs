//! Adjusts a block's time to the value that it would have had with probes at the distance's median.
//!
//! Within one distance the floor still moves: levels of 126 and 140 ns, each for seconds, were observed under one
//! program, whose times followed them (250 and 280 ns). Dividing such levels into separate distances would leave rows
//! without blocks at the reference distance. Instead the block's own probes are a covariate, weighted by the row's
//! elasticity: with all blocks kept, the standard deviation of the medians of 100 ms fell from 5.8 % to 1.6 %.
//!
//! A probe must be comparable to those of other sessions. The floor of one cache line depends on its home in the
//! machine, so a probe takes the mean of lines that lie side by side.

use super::location::median;

/// The number of blocks in a stretch. The noise of single probes can hide a floor that moves as little as they do: where
/// it was 3 %, the floor moved by 2 % from trial to trial, a row followed it, and single blocks showed nothing of it.
const STRETCH: usize = 4;

/// The least difference between the probes of two stretches, on the logarithm, for which a slope is calculated.
const LEAST_CHANGE: f64 = 0.02;

/// The same in standard deviations of a stretch's probes: a smaller difference may be the probes' own noise, which biases
/// slopes towards 0. Where noise is all that there is, fewer than one pair in a thousand differs by this much.
const LEAST_DEVIATIONS: f64 = 3.0;

/// The fewest slopes that make an estimate: those of 40 blocks.
const LEAST_SLOPES: usize = 5;

/// The smallest part of all slopes that makes an estimate. Fewer come from the few most disturbed stretches, in which
/// whatever disturbed them slowed down the probes as well.
const LEAST_SHARE: f64 = 0.1;

/// The median of the absolute difference of two normal values, in standard deviations of one.
const MEDIAN_DIFFERENCE: f64 = 0.954;

/// A clock-free block with the probes around it, all in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbedBlock {
    /// The mean time of its round trips or messages.
    pub mean_ns: f64,
    /// The probe before it.
    pub before_ns: f64,
    /// The probe after it.
    pub after_ns: f64,
}

impl ProbedBlock {
    /// Logarithm of the geometric mean of its two probes.
    fn log_probe(&self) -> f64 {
        (self.before_ns.ln() + self.after_ns.ln()) / 2.0
    }
}

/// The change of a row's logarithm for a change of the probe's, from its blocks at one distance, session by session: 1
/// if its time consists only of cache lines in transit, 0 if it does not depend on them, or if the floor changed in less
/// than a tenth of the time.
///
/// A time of c + k · floor has a slope from 0 to 1, so the estimate is limited to that range. It is the weighted median
/// of the slopes between a stretch of the lower half of the probes and one of the upper half (Theil's incomplete method:
/// "A rank-invariant method of linear regression analysis", 1950), where the floor changed by more than the probes'
/// noise. Slopes are taken within sessions only: the intervals already account for differences between sessions.
/// The blocks of a session are in the order of time.
pub fn elasticity(sessions: &[Vec<ProbedBlock>]) -> f64 {
    let deviation = probe_deviation(sessions) / (STRETCH as f64).sqrt();
    let least = LEAST_CHANGE.max(LEAST_DEVIATIONS * deviation);
    let sessions: Vec<Vec<Stretch>> = sessions
        .iter()
        .map(|blocks| blocks.chunks_exact(STRETCH).map(Stretch::of).collect())
        .collect();
    let pairs: usize = sessions.iter().map(|stretches| stretches.len() / 2).sum();
    let slopes: Vec<(f64, f64)> =
        sessions.into_iter().flat_map(|stretches| slopes(stretches, least)).collect();
    if slopes.len() < LEAST_SLOPES || (slopes.len() as f64) < LEAST_SHARE * pairs as f64 {
        return 0.0;
    }
    weighted_median(slopes).unwrap_or(0.0).clamp(0.0, 1.0)
}

/// Blocks that follow one another, as logarithms.
struct Stretch {
    /// Median of their probes.
    probe: f64,
    /// Median of their mean times.
    mean: f64,
}

impl Stretch {
    fn of(blocks: &[ProbedBlock]) -> Self {
        let median_of = |log: fn(&ProbedBlock) -> f64| {
            median(&blocks.iter().map(log).collect::<Vec<_>>()).unwrap_or(0.0)
        };
        Self {
            probe: median_of(ProbedBlock::log_probe),
            mean: median_of(|block| block.mean_ns.ln()),
        }
    }
}

/// The standard deviation of a probe's noise, from the two probes of each block.
fn probe_deviation(sessions: &[Vec<ProbedBlock>]) -> f64 {
    let change = |block: &ProbedBlock| (block.after_ns / block.before_ns).ln().abs();
    let changes: Vec<f64> = sessions.iter().flatten().map(change).collect();
    median(&changes).unwrap_or(0.0) / MEDIAN_DIFFERENCE
}

/// The location of a trial, as [`log_location`](super::log_location), at the `floor_ns` of its distance.
pub fn adjusted_location(blocks: &[ProbedBlock], floor_ns: f64, elasticity: f64) -> Option<f64> {
    let log =
        |block: &ProbedBlock| block.mean_ns.ln() - elasticity * (block.log_probe() - floor_ns.ln());
    median(&blocks.iter().map(log).collect::<Vec<_>>())
}

/// Slopes of one session with their weights, which are the differences of their probes.
fn slopes(mut stretches: Vec<Stretch>, least: f64) -> Vec<(f64, f64)> {
    stretches.sort_by(|a, b| a.probe.total_cmp(&b.probe));
    let half = stretches.len() / 2;
    let (low, high) = (&stretches[..half], &stretches[stretches.len() - half..]);
    let slope = |(low, high): (&Stretch, &Stretch)| {
        let weight = high.probe - low.probe;
        ((high.mean - low.mean) / weight, weight)
    };
    low.iter().zip(high).map(slope).filter(|(_, weight)| *weight >= least).collect()
}

/// The value at which the cumulative weight reaches half.
fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let reaches = |(_, weight): &&(f64, f64)| {
        sum += weight;
        sum >= half
    };
    values.iter().find(reaches).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Blocks whose mean follows `slope` of the probe, 120 to 140 ns.
    fn blocks(slope: f64) -> Vec<ProbedBlock> {
        let block = |at: u32| {
            let probe = 120.0 + f64::from(at / 2 * 7 % 21);
            ProbedBlock { mean_ns: 2.0 * probe.powf(slope), before_ns: probe, after_ns: probe }
        };
        (0..42).map(block).collect()
    }

    #[test]
    fn the_elasticity_is_the_slope() {
        for slope in [0.0, 0.3, 1.0] {
            assert!((elasticity(&[blocks(slope)]) - slope).abs() < 1e-9, "{slope}");
        }
    }

    #[test]
    fn the_elasticity_is_between_zero_and_one() {
        assert_eq!(elasticity(&[blocks(1.5)]), 1.0);
        assert_eq!(elasticity(&[blocks(-0.5)]), 0.0);
    }

    #[test]
    fn differences_between_sessions_do_not_change_the_elasticity() {
        let session = |probe: f64| {
            vec![ProbedBlock { mean_ns: probe, before_ns: probe, after_ns: probe }; 50]
        };
        assert_eq!(elasticity(&[session(100.0), session(120.0), session(140.0)]), 0.0);
        assert_eq!(elasticity(&[]), 0.0);
    }

    #[test]
    fn a_steady_floor_changes_nothing() {
        let block = |at: u32| ProbedBlock {
            mean_ns: 200.0 + f64::from(at),
            before_ns: 130.0,
            after_ns: 130.0 * (1.0 + 0.0001 * f64::from(at % 3)),
        };
        assert_eq!(elasticity(&[(0..50).map(block).collect()]), 0.0);
    }

    /// Regression: where the floor moved by less than single probes scatter, the elasticity was 0, and trials differed by
    /// as much as the floor did.
    #[test]
    fn a_floor_that_moves_as_little_as_single_probes_scatter_is_followed() {
        // Whole periods of a steady pattern, as much as 6 % apart.
        let scatter = |at: u32| 1.0 + 0.02 * (f64::from(at * 5 % 8) - 3.5) / 2.0;
        let block = |at: u32| {
            let floor = if (at / 40).is_multiple_of(2) { 120.0 } else { 126.0 };
            let probe = |at| floor * scatter(at);
            ProbedBlock { mean_ns: 2.0 * floor, before_ns: probe(at), after_ns: probe(at + 1) }
        };
        let found = elasticity(&[(0..400).map(block).collect()]);
        assert!((0.7..=1.0).contains(&found), "{found}");
    }

    #[test]
    fn a_few_disturbed_blocks_do_not_make_an_elasticity() {
        let steady = ProbedBlock { mean_ns: 160.0, before_ns: 65.0, after_ns: 65.0 };
        let disturbed = ProbedBlock { mean_ns: 200.0, before_ns: 81.25, after_ns: 81.25 };
        let session = |count| [vec![disturbed; count], vec![steady; 500 - count]].concat();
        assert_eq!(elasticity(&[session(24)]), 0.0);
        assert!((elasticity(&[session(28)]) - 1.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn blocks_are_located_at_the_floor(slope in 0.0..1.0, floor in 110.0..150.0_f64) {
            let found = adjusted_location(&blocks(slope), floor, slope).unwrap();
            prop_assert!((found - (2.0 * floor.powf(slope)).ln()).abs() < 1e-9);
        }
    }
}
