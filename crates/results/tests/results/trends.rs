//! A row over many runs, and its change points.

use crate::sample::{identity, measured, placed, run, trial};
use ipcmark_results::{stats::Verdict, *};

/// A run in which the row took this long at the nearer distance, in each of four trials.
fn at(number: usize, location: f64) -> RunResult {
    let trials =
        (1..=4).map(|trial_| placed(trial(trial_, &[location as u64]), location, 2.0 * location));
    let mut result =
        run(vec![Case { identity: identity("pipe"), outcome: measured(trials.collect()) }]);
    result.run.id = number.to_string();
    result
}

/// Runs that took `times` µs, with typical noise of up to ± 0.2 %.
fn runs(times: &[f64]) -> Vec<RunResult> {
    let noise = |at: usize| 1.0 + 0.002 * ((at * 7919 % 13) as f64 / 6.0 - 1.0);
    times.iter().enumerate().map(|(n, time)| at(n, 1_000.0 * time * noise(n))).collect()
}

/// The trend of runs with these labels; without labels each run has its own.
fn trend_of(runs: &[RunResult], labels: &[&str]) -> Trend {
    let moment = |(at, run): (usize, &RunResult)| {
        let label = labels.get(at).copied();
        (label.map_or(run.run.id.clone(), String::from), run.clone())
    };
    let labelled: Vec<(String, RunResult)> = runs.iter().enumerate().map(moment).collect();
    let moments: Vec<TrendRun> =
        labelled.iter().map(|(label, run)| TrendRun { label, run }).collect();
    trend(&moments)
}

fn changes(trend: &Trend) -> Vec<(usize, Verdict)> {
    trend.changes.iter().map(|change| (change.at, change.comparison.verdict)).collect()
}

#[test]
fn a_change_needs_three_runs_on_both_sides() {
    let found = trend_of(&runs(&[1.0, 1.0, 1.0, 1.1, 1.1, 1.1]), &[]);
    assert_eq!((changes(&found), found.missing), (vec![(3, Verdict::Slower)], 0));
    let ratio = found.changes[0].comparison.ratio.unwrap();
    assert!((ratio.estimate - 1.1).abs() < 0.005, "{ratio:?}");
    assert_eq!((found.changes[0].base_runs, found.changes[0].new_runs), (3, 3));
    for (count, missing) in [(0, 6), (1, 5), (2, 4), (3, 3), (5, 1)] {
        let few = trend_of(&runs(&[1.0, 1.0, 1.0, 1.1, 1.1][..count]), &[]);
        assert_eq!((changes(&few), few.missing), (vec![], missing), "{count} runs");
    }
}

#[test]
fn several_changes_are_found_in_their_order() {
    let times = [[1.0; 6], [0.8; 6], [0.9; 6]].concat();
    let found = trend_of(&runs(&times), &[]);
    assert_eq!(changes(&found), [(6, Verdict::Faster), (12, Verdict::Slower)]);
    assert_eq!(found.points.len(), 18);
    // Each is compared with the runs between its neighbours: once the first was with all twelve later ones.
    for (change, ratio) in found.changes.iter().zip([0.8, 1.125]) {
        assert_eq!((change.base_runs, change.new_runs), (6, 6));
        let estimate = change.comparison.ratio.unwrap().estimate;
        assert!((estimate - ratio).abs() < 0.005, "{estimate}");
    }
}

#[test]
fn differences_within_two_percent_are_no_change() {
    let found = trend_of(&runs(&[[1.0; 8], [1.005; 8]].concat()), &[]);
    assert_eq!((changes(&found), found.missing), (vec![], 0));
}

#[test]
fn runs_of_a_label_are_one_point_wherever_they_stand() {
    let found = trend_of(&runs(&[1.0, 1.2, 1.0, 1.2, 1.0, 1.2]), &["a", "b", "a", "b", "a", "b"]);
    assert_eq!(changes(&found), [(1, Verdict::Slower)]);
    assert_eq!(found.points[0].runs, [0, 2, 4]);
    let figure = found.points[0].figure.unwrap();
    assert!((figure.value - 1_000.0).abs() < 3.0 && figure.interval.is_some(), "{figure:?}");
    let one_label = trend_of(&runs(&[1.0; 6]), &["a"; 6]);
    assert_eq!((one_label.points.len(), one_label.missing), (1, 3));
}

#[test]
fn a_run_at_another_distance_is_shown_and_not_compared() {
    let mut all = runs(&[1.0, 1.0, 1.0, 5.0, 1.1, 1.1, 1.1]);
    for distance in &mut all[3].distances.as_mut().unwrap().all {
        distance.floor_round_trip_ns *= 10.0;
    }
    let found = trend_of(&all, &[]);
    assert_eq!(found.floor_ns, Some(70.0));
    assert_eq!(changes(&found), [(4, Verdict::Slower)]);
    let point = &found.points[3];
    assert!(point.is_apart && point.figure.unwrap().value > 4_900.0, "{point:?}");
    assert!(found.points.iter().filter(|point| point.is_apart).count() == 1);
}

#[test]
fn a_run_that_failed_has_no_figure() {
    let mut all = runs(&[1.0; 7]);
    all[2].cases[0].outcome = Outcome::Failed { reason: "it was killed".into() };
    let found = trend_of(&all, &[]);
    assert_eq!((found.points[2].figure, found.points[2].is_apart), (None, false));
    assert_eq!((changes(&found), found.missing), (vec![], 0));
}
