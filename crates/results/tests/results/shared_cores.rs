//! Blocks in which another thread uses the core of an end do not count, unless they are most blocks of a row.

use crate::sample::{identity, placed_row, trial};
use ipcmark_results::*;

const BLOCKS: usize = 40;

/// A trial of 40 blocks, sampled and clock-free in turn. The last ones are on shared cores: they take 200 ns a round
/// trip, and the others 100.
fn shared(number: u32, blocks: usize) -> Trial {
    let is_shared = |at: usize| at >= BLOCKS - blocks;
    let blocks = Blocks {
        turn: vec![0; BLOCKS],
        start_ns: vec![0; BLOCKS],
        clock_free: (0..BLOCKS).map(|at| at % 2 == 1).collect(),
        events: vec![1_000; BLOCKS],
        elapsed_ns: (0..BLOCKS).map(|at| if is_shared(at) { 200_000 } else { 100_000 }).collect(),
        lost: vec![0; BLOCKS],
        sleeps: Vec::new(),
        probe_before_ns: vec![80.0; BLOCKS],
        probe_after_ns: vec![80.0; BLOCKS],
        shared_core: (0..BLOCKS).map(is_shared).collect(),
    };
    Trial { blocks, round: 0, ..trial(number, &[100, 200]) }
}

/// The samples of such a trial.
fn samples(blocks: usize) -> Vec<PlacedSamples> {
    let group = |shared, value, blocks: usize| {
        let mut histogram = new_histogram();
        histogram.record_n(value, blocks as u64 / 2 * 1_000).unwrap();
        PlacedSamples {
            probes_ns: Some([80.0; 2]),
            awake: false,
            shared,
            histogram: encode(&histogram),
        }
    };
    vec![group(false, 100, BLOCKS - blocks), group(true, 200, blocks)]
}

/// The result of a row with this number of blocks on shared cores in each of three trials.
fn result(blocks: usize) -> RunResult {
    placed_row(identity("shm-ring"), |number| shared(number, blocks), &samples(blocks))
}

#[test]
fn blocks_on_shared_cores_are_left_out() {
    let result = result(10);
    let groups = groups(&result);
    let row = &groups[0].rows[0];
    assert_eq!(row.location().unwrap().value.round(), 100.0);
    assert!((row.percentile(0.9).unwrap().value / 100.0 - 1.0).abs() < 0.01);
    assert_eq!(row.trials[0].by_distance[0].blocks, 30);
    assert_eq!(shared_core_share_of_run(&result), Some(0.25));
    assert!(row.overall().samples() > 0, "all samples remain in the overall figures");
}

#[test]
fn a_row_that_is_mostly_on_shared_cores_consists_of_all_blocks() {
    let result = result(22);
    let groups = groups(&result);
    let row = &groups[0].rows[0];
    assert_eq!(row.trials[0].by_distance[0].blocks, 40);
    assert_eq!(row.location().unwrap().value.round(), 200.0);
}

#[test]
fn pairs_of_trials_are_compared_without_these_blocks() {
    let alone = result(0);
    let disturbed = result(16);
    let compared = compare_pairs(&[&alone], &[&disturbed], None);
    let pair = &compared.groups[0].pairs[0];
    assert_eq!([pair.base_ns, pair.new_ns].map(|ns| ns.map(f64::round)), [Some(100.0); 2]);
}

#[test]
fn the_column_is_as_long_as_the_others_or_empty() {
    let mut result = result(10);
    assert!(result.check().is_ok());
    let Outcome::Ok { measurement: Measurement::RoundTrips(measured) } =
        &mut result.cases[0].outcome
    else {
        panic!("it was not measured")
    };
    measured.trials[0].blocks.shared_core.pop();
    let why = result.check().unwrap_err();
    assert!(why.contains("blocks.shared_core has 39 entries for 40 blocks"), "{why}");
}
