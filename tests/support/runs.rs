//! Results of fictitious runs: a real result in which every trial's time is replaced by a given one.

use ipcmark_results::{
    AtDistance, Case, Measurement, Outcome, RunDistance, RunDistances, RunResult,
};

use super::run;

/// A small real result, used as a template.
pub fn measured() -> RunResult {
    run("run -t pipe,uds-stream -w block -s 64 -n 50 --trials 3 --format json").exits(0).result()
}

/// The result as another run on the same machine, in which each case takes its factor times 1 µs.
pub fn again(result: &RunResult, number: u32, factor: impl Fn(&Case) -> f64) -> RunResult {
    let mut again = result.clone();
    again.run.id = format!("run-{number}");
    let one = RunDistance { floor_round_trip_ns: 100.0, apart: false, share: 1.0 };
    again.distances = Some(RunDistances { all: vec![one], reference: Some(0), mixed_share: 0.0 });
    // No two runs on a machine have equal times.
    let noise = 1.0 + 0.001 * f64::from(number % 3);
    for case in &mut again.cases {
        let factor = factor(case);
        place(case, 1_000.0 * factor * noise);
    }
    again
}

/// Sets the time of every trial of the case, at one distance.
fn place(case: &mut Case, location_ns: f64) {
    let Outcome::Ok { measurement: Measurement::RoundTrips(measured) } = &mut case.outcome else {
        panic!("it was not measured: {case:?}")
    };
    for trial in &mut measured.trials {
        trial.blocks.probe_before_ns = vec![100.0; trial.blocks.len()];
        trial.blocks.probe_after_ns = vec![100.0; trial.blocks.len()];
        trial.by_distance = vec![AtDistance {
            distance: 0,
            blocks: 1,
            location_ns: Some(location_ns),
            floor_multiple: None,
            reference_multiple: None,
            settled: None,
            times_ns: trial.times_ns.clone(),
        }];
    }
}
