//! Distances: the classes into which the probes of a run fall.
//!
//! A probe is the time of a floor round trip in a short burst of them. Two processors of a virtual
//! machine stand in one of a few physical relations at a time, which last for milliseconds, so the
//! probes of a run gather around a few values; see [`Distances::of`].
//!
//! A probe should be a mean over several cache lines that lie side by side, because their homes in the processor
//! differ, and without the longest times: with the mean of all, one interrupt of 33 µs turned 130 ns into 650 ns in 3 % of
//! the bursts, a class that never lasted, and 4 % of the blocks were mixed instead of 0.1 %.

use std::{fmt, ops::RangeInclusive};

use super::{density, location::median};

/// The longest probe, in ns a round trip, during which both processors ran at the same time. The
/// slowest cache line takes a microsecond; taking turns on one processor costs a context switch.
const APART_NS: f64 = 20_000.0;

/// The least share of all probes that makes a distance. A rarer class is a disturbance.
const LEAST_SHARE: f64 = 0.01;

/// One distance of a run: processors in one physical relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// The median of its probes, which is the bare round trip in ns.
    pub floor_ns: f64,
    /// The share of all probes of the run that belong to it.
    pub share_of_probes: f64,
    /// True if the two processors do not run at the same time.
    pub apart: bool,
    probes_ns: RangeInclusive<f64>,
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.apart { f.write_str("apart") } else { write!(f, "{:.0} ns", self.floor_ns) }
    }
}

/// The distances of a run, the nearest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distances {
    distances: Vec<Distance>,
}

/// The distribution of a set of blocks over the distances.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The share of all blocks at each distance, in the order of [`Distances::all`].
    pub at: Vec<f64>,
    /// The share of all blocks whose two probes differ or belong to no distance.
    pub mixed: f64,
}

impl Distances {
    /// Divides the probes of a whole run, in ns a round trip, in any order.
    ///
    /// The number of distances is not fixed: the density of the probes' logarithm is divided where
    /// it falls below three tenths of the lower of two neighbouring peaks, if chance can hardly
    /// explain the valley. So isolated values between two distances neither unite them nor make a
    /// third, and distances that differ by less than about a third are one. That is deliberate: the
    /// levels within one cache (75, 81 and 88 ns were observed) overlap because of the probe's own
    /// noise, and dividing them leaves half of the blocks with two different probes. A class with
    /// less than a hundredth of the probes is not a distance; neither is the thin tail of one.
    /// Probes beyond 20 µs are *apart*, however few. Probes that are not positive and finite are
    /// ignored.
    pub fn of(probes_ns: &[f64]) -> Self {
        let usable = probes_ns.iter().copied().filter(|probe| probe.is_finite() && *probe > 0.0);
        let (near, apart): (Vec<f64>, Vec<f64>) = usable.partition(|probe| *probe <= APART_NS);
        let total = near.len() + apart.len();
        let mut distances = near_distances(&near, total);
        distances.extend(distance(&apart, APART_NS..=f64::INFINITY, total));
        Self { distances }
    }

    /// All distances, the nearest first.
    pub fn all(&self) -> &[Distance] {
        &self.distances
    }

    /// The distance of one probe, as an index into [`Distances::all`].
    pub fn of_probe(&self, probe_ns: f64) -> Option<usize> {
        self.distances.iter().rposition(|distance| distance.probes_ns.contains(&probe_ns))
    }

    /// The distance of a block from the probes on both sides of it; `None` if it is mixed.
    pub fn of_block(&self, before_ns: f64, after_ns: f64) -> Option<usize> {
        self.of_probe(before_ns).filter(|before| self.of_probe(after_ns) == Some(*before))
    }

    /// The distance whose floor round trip is nearest to this one, as a ratio; none if all are apart.
    pub fn nearest(&self, floor_ns: f64) -> Option<usize> {
        // The ones that are apart come last.
        let near = self.distances.iter().filter(|distance| !distance.apart);
        nearest(near.map(|distance| distance.floor_ns), floor_ns)
    }

    /// The shares of a set of blocks, such as those of a row or a run.
    pub fn shares(&self, blocks: &[Option<usize>]) -> Shares {
        let counts = self.counts(blocks);
        let part = |count: usize| count as f64 / blocks.len().max(1) as f64;
        let mixed = blocks.iter().filter(|block| block.is_none()).count();
        Shares { at: counts.into_iter().map(part).collect(), mixed: part(mixed) }
    }

    /// The distance at which rows are compared: the one with most of the `blocks` of all rows, the
    /// nearer one in a tie. Blocks *apart* measure the scheduler and not the transport, so they are
    /// the reference only if all other distances together hold less than a tenth.
    pub fn reference(&self, blocks: &[Option<usize>]) -> Option<usize> {
        let counts = self.counts(blocks);
        let near = self.distances.iter().filter(|distance| !distance.apart).count();
        let placed: usize = counts.iter().sum();
        let is_near = 10 * counts[..near].iter().sum::<usize>() >= placed;
        let candidates = if is_near { 0..near } else { 0..counts.len() };
        candidates.rev().max_by_key(|at| counts[*at]).filter(|at| counts[*at] > 0)
    }

    fn counts(&self, blocks: &[Option<usize>]) -> Vec<usize> {
        let mut counts = vec![0; self.distances.len()];
        blocks.iter().flatten().for_each(|at| counts[*at] += 1);
        counts
    }
}

/// The index of the time that is nearest to this one, as a ratio.
pub fn nearest(times_ns: impl IntoIterator<Item = f64>, wanted_ns: f64) -> Option<usize> {
    let away = times_ns.into_iter().map(|time| (time / wanted_ns).ln().abs()).enumerate();
    away.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
}

/// The distances among probes that are not apart. The most frequent class always is a distance,
/// however few probes there are.
fn near_distances(probes: &[f64], total: usize) -> Vec<Distance> {
    let logs: Vec<f64> = probes.iter().map(|probe| probe.ln()).collect();
    let members = |class: &RangeInclusive<f64>| -> Vec<f64> {
        probes.iter().zip(&logs).filter(|(_, log)| class.contains(log)).map(|(ns, _)| *ns).collect()
    };
    let mut distances: Vec<Distance> = density::classes(&logs)
        .into_iter()
        .filter_map(|class| {
            distance(&members(&class), class.start().exp()..=class.end().exp(), total)
        })
        .collect();
    let most = distances.iter().map(|distance| distance.share_of_probes).fold(0.0, f64::max);
    distances.retain(|distance| distance.share_of_probes >= LEAST_SHARE.min(most));
    distances
}

fn distance(members: &[f64], probes_ns: RangeInclusive<f64>, total: usize) -> Option<Distance> {
    let floor_ns = median(members)?;
    let share_of_probes = members.len() as f64 / total as f64;
    Some(Distance { floor_ns, share_of_probes, apart: floor_ns > APART_NS, probes_ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn probes(groups: &[(f64, usize)]) -> Vec<f64> {
        groups.iter().flat_map(|(probe, count)| vec![*probe; *count]).collect()
    }

    #[test]
    fn distances_are_named_by_their_floor() {
        let distances = Distances::of(&probes(&[(75.2, 50), (437.0, 50), (250_000.0, 3)]));
        let names: Vec<String> = distances.all().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["75 ns", "437 ns", "apart"]);
        assert_eq!(distances.all()[1].floor_ns, 437.0);
        assert!((distances.all()[0].share_of_probes - 50.0 / 103.0).abs() < 1e-12);
    }

    #[test]
    fn few_values_between_two_distances_neither_unite_them_nor_make_a_third() {
        let mut probes = probes(&[(75.0, 600), (437.0, 390)]);
        probes.extend((0..10).map(|at| 100.0 + 30.0 * f64::from(at)));
        let distances = Distances::of(&probes);
        assert_eq!(distances.all().len(), 2);
        assert_eq!(distances.of_probe(200.0), None);
    }

    #[test]
    fn levels_within_a_quarter_are_one_distance() {
        let distances = Distances::of(&probes(&[(75.0, 300), (81.0, 300), (88.0, 300)]));
        assert_eq!(distances.all().len(), 1);
        assert_eq!(distances.all()[0].floor_ns, 81.0);
    }

    #[test]
    fn a_block_has_a_distance_if_both_probes_have_it() {
        let distances = Distances::of(&probes(&[(75.0, 50), (437.0, 50), (250_000.0, 3)]));
        assert_eq!(distances.of_block(74.0, 77.0), Some(0));
        assert_eq!(distances.of_block(430.0, 440.0), Some(1));
        assert_eq!(distances.of_block(74.0, 437.0), None);
        assert_eq!(distances.of_block(150.0, 150.0), None);
        assert_eq!(distances.of_block(f64::INFINITY, 30_000.0), Some(2));
        assert_eq!(distances.of_block(f64::NAN, f64::NAN), None);
    }

    #[test]
    fn shares_add_up() {
        let distances = Distances::of(&probes(&[(75.0, 50), (437.0, 50)]));
        let shares = distances.shares(&[Some(0), Some(0), None, Some(1)]);
        assert_eq!(shares, Shares { at: vec![0.5, 0.25], mixed: 0.25 });
        assert_eq!(distances.shares(&[]), Shares { at: vec![0.0, 0.0], mixed: 0.0 });
    }

    #[test]
    fn the_reference_has_most_blocks_and_is_apart_only_if_nearly_all_are() {
        let distances = Distances::of(&probes(&[(75.0, 50), (437.0, 50), (250_000.0, 50)]));
        let blocks = |counts: [usize; 3]| -> Vec<Option<usize>> {
            (0..3).flat_map(|at| vec![Some(at); counts[at]]).chain([None; 200]).collect()
        };
        assert_eq!(distances.reference(&blocks([3, 5, 0])), Some(1));
        assert_eq!(distances.reference(&blocks([5, 5, 0])), Some(0));
        assert_eq!(distances.reference(&blocks([10, 3, 87])), Some(0));
        assert_eq!(distances.reference(&blocks([5, 3, 92])), Some(2));
        assert_eq!(distances.reference(&[None]), None);
        assert_eq!(Distances::default().reference(&[]), None);
    }

    #[test]
    fn the_nearest_distance_is_nearest_as_a_ratio_and_never_apart() {
        let distances = Distances::of(&probes(&[(75.0, 50), (437.0, 50), (250_000.0, 50)]));
        assert_eq!(distances.nearest(170.0), Some(0));
        assert_eq!(distances.nearest(190.0), Some(1));
        assert_eq!(distances.nearest(1e6), Some(1));
        assert_eq!(Distances::of(&[250_000.0; 50]).nearest(75.0), None);
    }

    #[test]
    fn without_probes_there_is_no_distance() {
        assert!(Distances::of(&[]).all().is_empty());
        assert!(Distances::of(&[0.0, -1.0, f64::NAN]).all().is_empty());
        assert_eq!(Distances::of(&[72.0]).all().len(), 1);
    }

    proptest! {
        #[test]
        fn probes_are_in_one_distance_at_most_and_shares_agree(
            probes in prop::collection::vec(prop_oneof![60.0..90.0, 300.0..600.0, 1.0..1e6], 1..400),
        ) {
            let distances = Distances::of(&probes);
            let all = distances.all();
            prop_assert!(all.windows(2).all(|pair| pair[0].floor_ns < pair[1].floor_ns));
            let mut counts = vec![0; all.len()];
            probes.iter().filter_map(|probe| distances.of_probe(*probe)).for_each(|at| counts[at] += 1);
            for (distance, count) in all.iter().zip(counts) {
                let share = count as f64 / probes.len() as f64;
                prop_assert!((distance.share_of_probes - share).abs() <= 2.0 / probes.len() as f64);
                prop_assert_eq!(distance.apart, distance.floor_ns > APART_NS);
            }
        }

        #[test]
        fn neither_order_nor_unit_matters(
            mut probes in prop::collection::vec(prop_oneof![60.0..70.0, 200.0..220.0], 40..200),
        ) {
            let count = Distances::of(&probes).all().len();
            probes.reverse();
            probes.iter_mut().for_each(|probe| *probe *= 3.0);
            prop_assert_eq!(Distances::of(&probes).all().len(), count);
        }
    }
}
