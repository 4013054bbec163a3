//! The behaviour of the machine: the probes around the blocks of a row in each trial, one after the other.

use ipcmark_results::{Blocks, RunDistance, RunResult, Trial};
use serde::Serialize;

use crate::{names, units};

/// The largest number of points that are drawn for a result.
const MOST: usize = 3_000;

/// The blank space after each trial, as a share of its length.
const GAP: f64 = 0.05;

/// The blocks of a result in time.
#[derive(Serialize)]
pub struct Timeline {
    file: usize,
    /// The row that is shown for each trial.
    rows: Vec<String>,
    /// The distances as text, the nearest first.
    distances: Vec<String>,
    /// For each block the time in ms since the first, the mean of its probes in ns, and its distance; -1 if its probes
    /// differ.
    points: Vec<(f64, f64, i32)>,
}

/// The timeline of a result; none if nothing was probed.
pub fn timeline(file: usize, result: &RunResult) -> Option<Timeline> {
    let distances = &result.distances.as_ref()?.all;
    let (mut rows, mut points, mut offset) = (Vec::new(), Vec::new(), 0.0);
    for (row, trial) in longest(result) {
        let blocks = &trial.blocks;
        let of_trial: Vec<_> = (0..blocks.probe_before_ns.len())
            .filter_map(|at| point(blocks, distances, at, offset))
            .collect();
        let last = of_trial.last().map_or(offset, |point| point.0);
        offset = last + GAP * (last - offset);
        rows.push(row);
        points.extend(of_trial);
    }
    let step = points.len().div_ceil(MOST).max(1);
    let points: Vec<_> = points.into_iter().step_by(step).collect();
    let word = |distance: &RunDistance| match distance.apart {
        true => format!("{} and more: the two did not run at the same time", time(distance)),
        false => time(distance),
    };
    let distances = distances.iter().map(word).collect();
    (!points.is_empty()).then_some(Timeline { file, rows, distances, points })
}

fn time(distance: &RunDistance) -> String {
    units::duration(distance.floor_round_trip_ns)
}

/// The row with most blocks in each trial.
fn longest(result: &RunResult) -> Vec<(String, &Trial)> {
    let all =
        || result.cases.iter().flat_map(|case| case.trials().iter().map(move |one| (case, one)));
    let mut numbers: Vec<u32> = all().map(|(_, trial)| trial.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number| {
        let trials = all().filter(|(_, trial)| trial.number == number);
        let (case, trial) = trials.max_by_key(|(_, trial)| trial.blocks.probe_before_ns.len())?;
        Some((names::alone(&case.identity), trial))
    };
    numbers.into_iter().filter_map(of).collect()
}

fn point(
    blocks: &Blocks,
    distances: &[RunDistance],
    at: usize,
    offset: f64,
) -> Option<(f64, f64, i32)> {
    let [before, after] = [blocks.probe_before_ns.get(at)?, blocks.probe_after_ns.get(at)?];
    let [first, last] = [before, after].map(|probe| nearest(distances, *probe));
    let distance = if first == last { first? as i32 } else { -1 };
    let start_ms = *blocks.start_ns.get(at)? as f64 / 1e6;
    let probe = (before + after) / 2.0;
    (probe > 0.0 && probe.is_finite())
        .then(|| (offset + start_ms, (probe * 10.0).round() / 10.0, distance))
}

/// The distance whose bare round trip is nearest to this one, as a ratio.
fn nearest(distances: &[RunDistance], probe_ns: f64) -> Option<usize> {
    let far = |distance: &RunDistance| (probe_ns / distance.floor_round_trip_ns).ln().abs();
    (0..distances.len()).min_by(|a, b| far(&distances[*a]).total_cmp(&far(&distances[*b])))
}
