//! Placing: after a run its probes are divided into distances, and the measurements of each trial are placed at them.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::{
    counting::Counting,
    model::{
        AtDistance, Blocks, Measurement, Outcome, RunDistance, RunDistances, RunResult, Times,
        Trial,
    },
    stats::{
        self, Distance, Distances,
        histogram::{decode, new_histogram},
    },
};

/// Samples of the blocks of a trial whose probes are nearly the same, in which the ends slept or not, on shared cores or not.
#[derive(Clone, Debug)]
pub struct PlacedSamples {
    /// The probes before and after its blocks, in either order; none if there are none.
    pub probes_ns: Option<[f64; 2]>,
    /// True if ends that sleep for an answer were awake, as in [`Blocks::is_awake`].
    pub awake: bool,
    /// True if another thread used the core of an end, as in [`Blocks::shared_core`].
    pub shared: bool,
    /// The samples in their text form.
    pub histogram: String,
}

/// Places a result: fills in its distances and the measurements of each trial at them. `samples` holds the samples of
/// each trial of each case, by case index, trial number and round.
///
/// # Errors
/// A histogram of `samples` cannot be read.
pub fn place(
    result: &mut RunResult,
    samples: &BTreeMap<(usize, u32, u32), Vec<PlacedSamples>>,
) -> Result<(), String> {
    let probes = probes(result);
    if probes.is_empty() {
        return Ok(());
    }
    let distances = Distances::of(&probes);
    result.distances = Some(summary(&distances, result));
    let references: BTreeMap<u32, Blocks> =
        result.rounds.iter().map(|round| (round.number, round.blocks.clone())).collect();
    for (at, case) in result.cases.iter_mut().enumerate() {
        let Outcome::Ok { measurement } = &mut case.outcome else { continue };
        let counting = Counting::of(measurement.trials());
        let elasticities = elasticities(&distances, counting, measurement.trials());
        let floors_an_event = floors_an_event(measurement);
        for trial in measurement.trials_mut() {
            let samples =
                samples.get(&(at, trial.number, trial.round)).map_or(&[][..], Vec::as_slice);
            let reference = references.get(&trial.round).filter(|blocks| !blocks.is_empty());
            let places = Places { distances: &distances, counting, elasticities: &elasticities };
            place_trial(trial, &places, reference, samples)?;
            for at in &mut trial.by_distance {
                at.floor_multiple = at
                    .floor_multiple
                    .zip(floors_an_event)
                    .map(|(multiple, floors)| multiple / floors);
            }
        }
    }
    Ok(())
}

/// The least share of a bare round trip that an event must take. A message of a stream need not wait for the line of
/// the message before, so a stream has no such minimum.
fn floors_an_event(measurement: &Measurement) -> Option<f64> {
    match measurement {
        Measurement::RoundTrips(_) => Some(1.0),
        Measurement::OneWay(_) => Some(0.5),
        Measurement::Stream(_) => None,
    }
}

fn trials(result: &RunResult) -> impl Iterator<Item = &Trial> {
    result.cases.iter().flat_map(|case| case.trials())
}

/// Every probe of the run.
pub(crate) fn probes(result: &RunResult) -> Vec<f64> {
    let blocks = trials(result).map(|trial| &trial.blocks);
    let blocks = blocks.chain(result.rounds.iter().map(|round| &round.blocks));
    blocks
        .flat_map(|blocks| blocks.probe_before_ns.iter().chain(&blocks.probe_after_ns))
        .copied()
        .collect()
}

fn summary(distances: &Distances, result: &RunResult) -> RunDistances {
    let blocks: Vec<Option<usize>> =
        trials(result).flat_map(|trial| classes(distances, &trial.blocks)).collect();
    let shares = distances.shares(&blocks);
    let all = distances.all().iter().zip(&shares.at).map(|(distance, share)| RunDistance {
        floor_round_trip_ns: distance.floor_ns,
        apart: distance.apart,
        share: *share,
    });
    RunDistances {
        all: all.collect(),
        reference: distances.reference(&blocks).map(|at| at as u32),
        mixed_share: shares.mixed,
    }
}

/// The distance of each block.
pub(crate) fn classes(distances: &Distances, blocks: &Blocks) -> Vec<Option<usize>> {
    let probes = blocks.probe_before_ns.iter().zip(&blocks.probe_after_ns);
    probes.map(|(before, after)| distances.of_block(*before, *after)).collect()
}

/// True if a block counts and is at this distance.
fn is_at(
    distances: &Distances,
    counting: Counting,
    blocks: &Blocks,
    block: usize,
    distance: usize,
) -> bool {
    let probes = blocks.probe_before_ns.get(block).zip(blocks.probe_after_ns.get(block));
    let at = probes.and_then(|(before, after)| distances.of_block(*before, *after));
    at == Some(distance) && counting.counts(blocks, block)
}

/// The clock-free blocks of a trial at a distance that count.
pub(crate) fn clock_free_at(
    distances: &Distances,
    counting: Counting,
    blocks: &Blocks,
    distance: usize,
) -> Vec<stats::ProbedBlock> {
    let at = (0..blocks.len()).filter(|at| is_at(distances, counting, blocks, *at, distance));
    at.filter_map(|at| {
        Some(stats::ProbedBlock {
            mean_ns: blocks.location_mean_ns(at)?,
            before_ns: blocks.probe_before_ns[at],
            after_ns: blocks.probe_after_ns[at],
        })
    })
    .collect()
}

/// The elasticity of a row's time with its probes, at each distance.
fn elasticities(distances: &Distances, counting: Counting, trials: &[Trial]) -> Vec<f64> {
    let of = |distance| {
        let sessions =
            trials.iter().map(|trial| clock_free_at(distances, counting, &trial.blocks, distance));
        stats::elasticity(&sessions.collect::<Vec<_>>())
    };
    (0..distances.all().len()).map(of).collect()
}

/// The places at which the blocks of a row count.
struct Places<'d> {
    distances: &'d Distances,
    counting: Counting,
    /// Of the row, at each distance.
    elasticities: &'d [f64],
}

fn place_trial(
    trial: &mut Trial,
    places: &Places<'_>,
    reference: Option<&Blocks>,
    samples: &[PlacedSamples],
) -> Result<(), String> {
    let Places { distances, counting, elasticities } = *places;
    let anywhere = |block, blocks: &Blocks| counting.counts(blocks, block);
    trial.reference_multiple =
        reference.and_then(|reference| multiple(&trial.blocks, reference, anywhere));
    trial.by_distance.clear();
    for (at, distance) in distances.all().iter().enumerate() {
        let here = |block, blocks: &Blocks| is_at(distances, counting, blocks, block, at);
        let blocks = (0..trial.blocks.len()).filter(|block| here(*block, &trial.blocks)).count();
        if blocks == 0 {
            continue;
        }
        let clock_free = clock_free_at(distances, counting, &trial.blocks, at);
        trial.by_distance.push(AtDistance {
            distance: at as u32,
            blocks: blocks as u64,
            location_ns: location(&clock_free, distance.floor_ns, elasticities[at]),
            floor_multiple: floor_multiple(distance, &clock_free),
            reference_multiple: reference.and_then(|blocks| multiple(&trial.blocks, blocks, here)),
            settled: settled(&clock_free),
            times_ns: Times::of(&samples_at(places, samples, at)?),
        });
    }
    Ok(())
}

fn settled(blocks: &[stats::ProbedBlock]) -> Option<bool> {
    let means: Vec<f64> = blocks.iter().map(|block| block.mean_ns).collect();
    stats::steadiness(&means).map(|steadiness| steadiness.settled)
}

/// The time of a block whose probes are the distance's median.
fn location(blocks: &[stats::ProbedBlock], floor_ns: f64, elasticity: f64) -> Option<f64> {
    stats::adjusted_location(blocks, floor_ns, elasticity).map(f64::exp)
}

/// The median of each block divided by its own probes. There is none if both processes take turns on one processor: the
/// spinning ends of a probe wait for the end of a time slice there, which ends that sleep do not.
fn floor_multiple(distance: &Distance, blocks: &[stats::ProbedBlock]) -> Option<f64> {
    if distance.apart {
        return None;
    }
    let multiples: Vec<f64> = blocks
        .iter()
        .map(|block| block.mean_ns / (block.before_ns * block.after_ns).sqrt())
        .collect();
    stats::median(&multiples)
}

/// The median ratio of the row's to the reference's clock-free mean, turn by turn, over the blocks for which `counts`
/// is true.
fn multiple(
    row: &Blocks,
    reference: &Blocks,
    counts: impl Fn(usize, &Blocks) -> bool,
) -> Option<f64> {
    let (row, reference) = (turns(row, &counts), turns(reference, &counts));
    let ratios: Vec<f64> =
        row.iter().filter_map(|(turn, mean)| Some((mean / reference.get(turn)?).ln())).collect();
    stats::median(&ratios).map(f64::exp)
}

/// The median clock-free mean of each turn.
fn turns(blocks: &Blocks, counts: &impl Fn(usize, &Blocks) -> bool) -> BTreeMap<u32, f64> {
    let mut means: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for at in (0..blocks.len()).filter(|at| counts(*at, blocks)) {
        if let Some(mean) = blocks.location_mean_ns(at) {
            means.entry(blocks.turn[at]).or_default().push(mean);
        }
    }
    means.into_iter().filter_map(|(turn, means)| Some((turn, stats::median(&means)?))).collect()
}

fn samples_at(
    places: &Places<'_>,
    samples: &[PlacedSamples],
    distance: usize,
) -> Result<Histogram<u64>, String> {
    let mut all = new_histogram();
    for group in samples {
        let of_block = |[one, other]: [f64; 2]| places.distances.of_block(one, other);
        let at = group.probes_ns.and_then(of_block);
        if at == Some(distance) && places.counting.includes(group.awake, group.shared) {
            let samples = decode(&group.histogram)?;
            all.add(&samples).map_err(|error| format!("its samples do not add up: {error}"))?;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(means: &[(u32, f64, f64)]) -> Blocks {
        let mut blocks = Blocks::default();
        for (turn, mean_ns, probe_ns) in means {
            blocks.turn.push(*turn);
            blocks.start_ns.push(0);
            blocks.clock_free.push(true);
            blocks.events.push(1000);
            blocks.elapsed_ns.push((mean_ns * 1000.0) as u64);
            blocks.lost.push(0);
            blocks.probe_before_ns.push(*probe_ns);
            blocks.probe_after_ns.push(*probe_ns);
        }
        blocks
    }

    #[test]
    fn a_multiple_is_of_neighbours_only() {
        // Every second turn is ten times slower for both, as in a disturbance of the machine.
        let row: Vec<_> =
            (0..20).map(|turn| (turn, if turn % 2 == 0 { 300.0 } else { 3000.0 }, 70.0)).collect();
        let bare: Vec<_> =
            (0..20).map(|turn| (turn, if turn % 2 == 0 { 100.0 } else { 1000.0 }, 70.0)).collect();
        let found = multiple(&blocks(&row), &blocks(&bare), |_, _| true).unwrap();
        assert!((found - 3.0).abs() < 1e-9, "{found}");
        assert_eq!(multiple(&blocks(&row[..2]), &blocks(&bare[5..]), |_, _| true), None);
    }

    #[test]
    fn a_location_is_a_time() {
        let distances = Distances::of(&[70.0; 100]);
        let nine = blocks(&[(0, 140.0, 70.0); 9]);
        let placed = clock_free_at(&distances, Counting::of([]), &nine, 0);
        let found = location(&placed, 70.0, 0.0).unwrap();
        assert!((found - 140.0).abs() < 1e-9, "{found}");
    }

    /// Regression: samples of blocks whose two probes differed by more than 22 % were nowhere.
    #[test]
    fn samples_are_where_their_blocks_are() {
        let probes = [72.0, 76.0, 81.0, 88.0, 94.0].repeat(100);
        let (near, distances) = (probes.len(), Distances::of(&[probes, vec![437.0; 500]].concat()));
        assert_eq!((distances.all().len(), near), (2, 500));
        let places =
            Places { distances: &distances, counting: Counting::of([]), elasticities: &[] };
        let mut histogram = new_histogram();
        histogram.record_n(200, 1_000).unwrap();
        let histogram = stats::histogram::encode(&histogram);
        let count = |probes_ns| {
            let group = PlacedSamples {
                probes_ns,
                awake: false,
                shared: false,
                histogram: histogram.clone(),
            };
            [0, 1].map(|at| samples_at(&places, std::slice::from_ref(&group), at).unwrap().len())
        };
        assert_eq!(count(Some([72.0, 94.0])), [1_000, 0]);
        assert_eq!(count(Some([437.0, 437.0])), [0, 1_000]);
        assert_eq!((count(Some([72.0, 437.0])), count(None)), ([0, 0], [0, 0]));
    }

    #[test]
    fn a_block_is_divided_by_its_own_probes() {
        let distances = Distances::of(&[70.0; 100]);
        let two = blocks(&[(0, 140.0, 70.0), (1, 140.0, 400.0)]);
        let placed = clock_free_at(&distances, Counting::of([]), &two, 0);
        assert_eq!(placed.len(), 1, "the other was measured elsewhere");
        assert_eq!(floor_multiple(&distances.all()[0], &placed), Some(2.0));
    }

    /// Regression: a row of 63 sleeping followers was at 0.886 of the floor.
    #[test]
    fn there_is_no_multiple_of_probes_whose_ends_take_turns() {
        let distances = Distances::of(&[200_000.0; 100]);
        let one = blocks(&[(0, 177_000.0, 200_000.0)]);
        let placed = clock_free_at(&distances, Counting::of([]), &one, 0);
        assert_eq!(placed.len(), 1);
        assert_eq!(floor_multiple(&distances.all()[0], &placed), None);
    }
}
