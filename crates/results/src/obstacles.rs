//! Obstacles: reasons why the files of two sides do not allow a verdict. Two files are two moments of a machine.

use std::collections::BTreeSet;

use crate::{
    model::{RunDistances, RunResult},
    stats::LEAST_RUNS,
};

/// The greatest ratio between two bare round trips of the same distance.
pub(crate) const ONE_DISTANCE: f64 = 1.15;

/// A reason why no row of two sides can be called faster, slower or the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// A side has fewer runs than [`LEAST_RUNS`].
    FewRuns {
        /// Runs of the base.
        base: usize,
        /// Runs of the new side.
        new: usize,
    },
    /// The same run is on both sides.
    SharedRun,
    /// The runs differ in a property of the machine.
    Environment {
        /// The property.
        property: &'static str,
        /// Its values, at least two.
        values: BTreeSet<String>,
    },
    /// The runs have no distance between the processors in common.
    Distances {
        /// The bare round trip at the reference distance of each run of the base; none if the run was not probed.
        base: Vec<Option<f64>>,
        /// The same of the new side.
        new: Vec<Option<f64>>,
    },
}

/// A distance that all runs have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SharedDistance {
    /// The bare round trip at this distance: geometric mean over the runs. None if nothing was probed.
    pub floor_ns: Option<f64>,
    /// The index of this distance among the distances of each run of the base.
    pub base: Vec<Option<u32>>,
    /// The same of the new side.
    pub new: Vec<Option<u32>>,
}

/// All obstacles except the distances.
pub(crate) fn obstacles(base: &[&RunResult], new: &[&RunResult]) -> Vec<Obstacle> {
    let mut all = Vec::new();
    if base.len().min(new.len()) < LEAST_RUNS {
        all.push(Obstacle::FewRuns { base: base.len(), new: new.len() });
    }
    if base.iter().any(|run| new.iter().any(|other| is_same_run(run, other))) {
        all.push(Obstacle::SharedRun);
    }
    all.extend(environments(base, new));
    all
}

/// True if both are the result of one run.
pub(crate) fn is_same_run(one: &RunResult, other: &RunResult) -> bool {
    (&one.run.id, &one.run.started_at) == (&other.run.id, &other.run.started_at)
}

/// A property of the machine in which runs must agree to be compared.
type Property = (&'static str, fn(&RunResult) -> String);

const PROPERTIES: [Property; 7] = [
    ("processor", |result| result.environment.cpu_model.clone()),
    ("number of usable processors", |result| result.environment.cpus_usable.to_string()),
    ("number of usable cores", |result| result.environment.cores_usable.to_string()),
    ("kernel", |result| result.environment.kernel.clone()),
    ("hypervisor", |result| result.environment.hypervisor.clone()),
    ("governor", |result| result.environment.governor.clone().unwrap_or_default()),
    ("clock source", |result| result.clock.source.clone()),
];

/// The properties of the machine in which runs must agree to be compared, with their values.
pub fn circumstances(run: &RunResult) -> Vec<(&'static str, String)> {
    PROPERTIES.iter().map(|(property, of)| (*property, of(run))).collect()
}

fn environments(base: &[&RunResult], new: &[&RunResult]) -> impl Iterator<Item = Obstacle> {
    PROPERTIES.into_iter().filter_map(move |(property, of)| {
        let values: BTreeSet<String> = base.iter().chain(new).map(|run| of(run)).collect();
        (values.len() > 1).then_some(Obstacle::Environment { property, values })
    })
}

/// The distance that all runs have in common. Of several, the one that maximizes its smallest share of blocks in any
/// run.
pub(crate) fn shared_distance(
    base: &[&RunResult],
    new: &[&RunResult],
) -> Result<SharedDistance, Obstacle> {
    let runs: Vec<Option<&RunDistances>> =
        base.iter().chain(new).map(|run| run.distances.as_ref()).collect();
    if runs.iter().all(Option::is_none) {
        let unprobed = |side: &[&RunResult]| vec![None; side.len()];
        return Ok(SharedDistance { floor_ns: None, base: unprobed(base), new: unprobed(new) });
    }
    let probed: Option<Vec<&RunDistances>> = runs.into_iter().collect();
    let (floor_ns, mut places) = probed.and_then(|runs| shared(&runs)).ok_or_else(|| {
        let references = |side: &[&RunResult]| side.iter().map(|run| reference(run)).collect();
        Obstacle::Distances { base: references(base), new: references(new) }
    })?;
    let new = places.split_off(base.len());
    Ok(SharedDistance { floor_ns: Some(floor_ns), base: places, new })
}

/// The bare round trip at the distance at which the rows of a run are compared.
fn reference(run: &RunResult) -> Option<f64> {
    let distances = run.distances.as_ref()?;
    Some(distances.all.get(distances.reference? as usize)?.floor_round_trip_ns)
}

fn shared(runs: &[&RunDistances]) -> Option<(f64, Vec<Option<u32>>)> {
    let candidates = runs.first()?.all.iter().map(|distance| distance.floor_round_trip_ns);
    let places = candidates.filter_map(|floor_ns| places(runs, floor_ns));
    let share = |places: &Vec<usize>| {
        let shares = runs.iter().zip(places).map(|(run, at)| run.all[*at].share);
        shares.fold(f64::INFINITY, f64::min)
    };
    let best = places.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let logs = runs.iter().zip(&best).map(|(run, at)| run.all[*at].floor_round_trip_ns.ln());
    let floor_ns = (logs.sum::<f64>() / runs.len() as f64).exp();
    Some((floor_ns, best.into_iter().map(|at| Some(at as u32)).collect()))
}

/// The index in each run of the distance nearest to this floor, if all of these are the same distance, and rows can be
/// compared at it in every run.
fn places(runs: &[&RunDistances], floor_ns: f64) -> Option<Vec<usize>> {
    let places: Vec<usize> =
        runs.iter().map(|run| nearest(run, floor_ns)).collect::<Option<_>>()?;
    let floors = || runs.iter().zip(&places).map(|(run, at)| run.all[*at].floor_round_trip_ns);
    let (least, greatest) = (floors().fold(f64::MAX, f64::min), floors().fold(0.0, f64::max));
    let is_one = greatest <= least * ONE_DISTANCE;
    let can_compare = runs.iter().zip(&places).all(|(run, at)| can_compare_at(run, *at));
    (is_one && can_compare).then_some(places)
}

/// False for a distance without blocks. Probes of ends that do not run at the same time are all cut off at one time, so
/// their distance says nothing, unless the run has no better one.
fn can_compare_at(run: &RunDistances, at: usize) -> bool {
    let is_reference = run.reference.is_some_and(|reference| reference as usize == at);
    let distance = &run.all[at];
    distance.share > 0.0 && (!distance.apart || is_reference)
}

/// The index of the run's distance whose bare round trip is nearest to this one.
pub(crate) fn nearest(run: &RunDistances, floor_ns: f64) -> Option<usize> {
    let off = |at: &usize| (run.all[*at].floor_round_trip_ns / floor_ns).ln().abs();
    (0..run.all.len()).min_by(|one, other| off(one).total_cmp(&off(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunDistance;

    fn distances(all: &[(f64, f64)]) -> RunDistances {
        let at =
            |(floor_round_trip_ns, share)| RunDistance { floor_round_trip_ns, apart: false, share };
        RunDistances {
            all: all.iter().copied().map(at).collect(),
            reference: None,
            mixed_share: 0.0,
        }
    }

    #[test]
    fn the_shared_distance_is_the_one_that_no_run_lacks() {
        let one = distances(&[(28.0, 0.2), (75.0, 0.7), (437.0, 0.1)]);
        let other = distances(&[(81.0, 0.2), (430.0, 0.8)]);
        let (floor_ns, places) = shared(&[&one, &other]).unwrap();
        assert!((floor_ns - (75.0_f64 * 81.0).sqrt()).abs() < 1e-9, "{floor_ns}");
        assert_eq!(places, [Some(1), Some(0)]);
        let third = distances(&[(435.0, 1.0)]);
        assert_eq!(shared(&[&one, &other, &third]).unwrap().1, [Some(2), Some(1), Some(0)]);
        assert_eq!(shared(&[&one, &distances(&[(55.0, 1.0)])]), None);
    }

    /// Regression: runs at 280 and 195 ns were compared at the time at which probes give up.
    #[test]
    fn ends_that_do_not_run_at_the_same_time_are_at_no_shared_distance() {
        let with_apart = |floor_ns: f64, reference| {
            let mut run = distances(&[(floor_ns, 0.99), (200_000.0, 0.01)]);
            (run.all[1].apart, run.reference) = (true, Some(reference));
            run
        };
        assert_eq!(shared(&[&with_apart(280.0, 0), &with_apart(195.0, 0)]), None);
        let (_, places) = shared(&[&with_apart(280.0, 1), &with_apart(195.0, 1)]).unwrap();
        assert_eq!(places, [Some(1), Some(1)]);
        let empty = distances(&[(195.0, 0.0), (280.0, 1.0)]);
        assert_eq!(shared(&[&empty, &distances(&[(195.0, 1.0)])]), None);
    }
}
