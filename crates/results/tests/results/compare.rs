//! Comparisons of two sides: files, and pairs of one sitting.

use crate::sample::{case, identity, measured, placed, run, trial};
use ipcmark_results::{
    stats::{Comparison, Verdict},
    *,
};

/// A row with these locations at the nearer distance, one a trial.
fn row(identity: Identity, locations: &[f64]) -> Case {
    let trials = locations.iter().enumerate().map(|(at, location)| {
        placed(trial(at as u32 + 1, &[*location as u64]), *location, 2.0 * location)
    });
    Case { identity, outcome: measured(trials.collect()) }
}

/// A run with its own number.
fn numbered(number: usize, cases: Vec<Case>) -> RunResult {
    let mut result = run(cases);
    result.run.id = number.to_string();
    result
}

/// Runs of one row, numbered from `first`.
fn side(first: usize, locations: &[f64]) -> Vec<RunResult> {
    let runs = locations.iter().enumerate();
    runs.map(|(at, location)| numbered(first + at, vec![row(identity("pipe"), &[*location; 4])]))
        .collect()
}

fn refs(results: &[RunResult]) -> Vec<&RunResult> {
    results.iter().collect()
}

fn compared<'a>(base: &'a [RunResult], new: &'a [RunResult]) -> Change<'a> {
    compare_runs(&refs(base), &refs(new))
}

#[track_caller]
fn only<'a>(change: &'a Change<'a>) -> &'a RowPair<'a> {
    let pairs: Vec<&RowPair> = change.pairs().collect();
    let [pair] = pairs[..] else { panic!("there are {} rows", pairs.len()) };
    pair
}

const BASE: [f64; 3] = [1_000.0, 1_002.0, 998.0];

#[test]
fn three_runs_a_side_give_a_verdict() {
    let base = side(1, &BASE);
    for (locations, expected) in [
        ([1_100.0, 1_103.0, 1_098.0], Verdict::Slower),
        ([900.0, 902.0, 899.0], Verdict::Faster),
        ([1_001.0, 999.0, 1_000.0], Verdict::Same),
    ] {
        let new = side(4, &locations);
        let change = compared(&base, &new);
        assert_eq!((&change.obstacles[..], change.is_paired), (&[][..], false));
        let pair = only(&change);
        assert_eq!(pair.comparison.verdict, expected);
        assert!((pair.ratio().unwrap() - locations[0] / 1_000.0).abs() < 0.005);
        assert!((pair.base_ns.unwrap() - 1_000.0).abs() < 1.0);
    }
}

#[test]
fn two_single_files_give_a_ratio_without_a_verdict() {
    let (base, new) = (side(1, &[1_000.0]), side(2, &[3_000.0]));
    let change = compared(&base, &new);
    assert_eq!(change.obstacles, [Obstacle::FewRuns { base: 1, new: 1 }]);
    let Comparison { verdict, ratio, .. } = only(&change).comparison;
    assert_eq!(verdict, Verdict::CannotTell { pairs_needed: 3 });
    assert!((ratio.expect("from the trials").estimate - 3.0).abs() < 1e-9);
}

#[test]
fn a_run_that_is_given_twice_counts_once_and_is_not_compared_with_itself() {
    let runs = side(1, &BASE);
    let thrice = [&runs[0]; 3];
    let change = compare_runs(&thrice, &thrice);
    let few = Obstacle::FewRuns { base: 1, new: 1 };
    assert_eq!(change.obstacles, [few, Obstacle::SharedRun]);
    let change = compared(&runs, &runs);
    assert_eq!(change.obstacles, [Obstacle::SharedRun]);
    assert!(matches!(only(&change).comparison.verdict, Verdict::CannotTell { .. }));
}

#[test]
fn another_machine_gives_no_verdict() {
    let (base, mut new) = (side(1, &BASE), side(4, &[2_000.0; 3]));
    new[1].environment.kernel = "Linux 9".into();
    let change = compared(&base, &new);
    let values = ["".to_string(), "Linux 9".into()].into();
    assert_eq!(change.obstacles, [Obstacle::Environment { property: "kernel", values }]);
    assert!(matches!(only(&change).comparison.verdict, Verdict::CannotTell { .. }));
}

#[test]
fn rows_are_compared_at_a_distance_that_all_runs_have() {
    let (base, mut new) = (side(1, &BASE), side(4, &BASE));
    // The reference of a run is its distance with most blocks: a different one here.
    new[2].distances.as_mut().unwrap().reference = Some(1);
    let change = compared(&base, &new);
    assert_eq!(only(&change).comparison.verdict, Verdict::Same);
    assert!((change.floor_ns.unwrap() - 70.0).abs() < 1e-9);
    for distance in &mut new[2].distances.as_mut().unwrap().all {
        distance.floor_round_trip_ns *= 1.3;
    }
    let change = compared(&base, &new);
    let floors = |last| vec![Some(70.0), Some(70.0), Some(last)];
    let differ = Obstacle::Distances { base: floors(70.0), new: floors(260.0 * 1.3) };
    assert_eq!(change.obstacles, [differ]);
    assert!(matches!(only(&change).comparison.verdict, Verdict::CannotTell { .. }));
}

#[test]
fn runs_without_probes_are_compared_as_they_are() {
    let unprobed = |first| {
        let mut runs = side(first, &BASE);
        runs.iter_mut().for_each(|run| run.distances = None);
        runs
    };
    let (base, new) = (unprobed(1), unprobed(4));
    assert_eq!(compared(&base, &new).obstacles, []);
    let probed = side(7, &BASE);
    assert!(matches!(compared(&base, &probed).obstacles[..], [Obstacle::Distances { .. }]));
}

#[test]
fn different_settings_are_compared_and_listed() {
    let with = |number, options: &[(&str, &str)], version: Option<&str>, module: &str| {
        let options = options.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let identity = Identity {
            options: options.collect(),
            library_version: version.map(Into::into),
            ..identity("tcp")
        };
        let mut result = numbered(number, vec![row(identity, &[1_000.0; 2])]);
        result.run.command.push(format!("--module={module}"));
        result
    };
    let base = [with(1, &[("buffer", "1")], Some("4.2"), "old.so")];
    let new = [with(2, &[], Some("4.3"), "new.so")];
    let change = compared(&base, &new);
    only(&change);
    let said: Vec<(&str, String, String)> = change
        .differences
        .iter()
        .map(|found| {
            let words = |values: &std::collections::BTreeSet<String>| {
                values.iter().cloned().collect::<Vec<_>>().join(";")
            };
            (&*found.setting, words(&found.base), words(&found.new))
        })
        .collect();
    let expected = [
        ("modules", "old.so", "new.so"),
        ("tcp library", "4.2", "4.3"),
        ("tcp options", "buffer=1", ""),
    ];
    assert_eq!(said, expected.map(|(what, base, new)| (what, base.into(), new.into())));
}

#[test]
fn a_row_in_several_settings_is_found_by_them() {
    let defaults = || Identity { options: Default::default(), ..identity("pipe") };
    let base = [numbered(1, vec![row(identity("pipe"), &[1_000.0; 2])])];
    let two = vec![row(defaults(), &[5_000.0; 2]), row(identity("pipe"), &[1_000.0; 2])];
    let new = [numbered(2, two)];
    let change = compared(&base, &new);
    assert_eq!(only(&change).new.case.identity, identity("pipe"));
    let [UnpairedRow { identity, base: Presence::Absent, new: Presence::Measured }] =
        change.unpaired[..]
    else {
        panic!("{:?}", change.unpaired)
    };
    assert_eq!(*identity, defaults());
}

#[test]
fn rows_of_one_side_and_failed_rows_are_listed_separately() {
    let failed = |name| Case {
        identity: identity(name),
        outcome: Outcome::Failed { reason: "it hung".into() },
    };
    let base = [
        numbered(1, vec![case("gone", &[1]), case("both", &[1]), case("fails", &[1])]),
        numbered(2, vec![case("fails", &[1]), case("both", &[1])]),
    ];
    let new = [numbered(3, vec![failed("fails"), case("both", &[1]), case("added", &[1])])];
    let change = compared(&base, &new);
    assert_eq!(only(&change).base.case.identity.transport, "both");
    let unpaired: Vec<String> = change
        .unpaired
        .iter()
        .map(|unpaired| {
            let word = |presence: &Presence| {
                match presence {
                    Presence::Measured => "measured",
                    Presence::Unmeasured(case) => case.reason().unwrap(),
                    Presence::Absent => "absent",
                }
                .to_owned()
            };
            format!(
                "{} {} {}",
                unpaired.identity.transport,
                word(&unpaired.base),
                word(&unpaired.new)
            )
        })
        .collect();
    assert_eq!(
        unpaired,
        ["added absent measured", "fails measured it hung", "gone measured absent"]
    );
    // One of three files has a failed trial: the row has failed.
    let later = [numbered(4, vec![case("both", &[1])]), numbered(5, vec![failed("both")])];
    assert_eq!(compared(&base, &later).pairs().count(), 0);
}

/// A result of one trial, whose blocks take `factor` times their probes, which are at `floor_ns`.
fn sitting(factor: f64, floor_ns: f64) -> RunResult {
    let mut one = trial(1, &[1_000]);
    let count = 40;
    let probes: Vec<f64> =
        (0..count).map(|at| floor_ns * (1.0 + 0.001 * f64::from(at % 5))).collect();
    one.blocks = Blocks {
        turn: (0..count).collect(),
        start_ns: vec![0; count as usize],
        clock_free: vec![true; count as usize],
        events: vec![1_000; count as usize],
        elapsed_ns: probes.iter().map(|probe| (factor * probe * 1_000.0) as u64).collect(),
        lost: vec![0; count as usize],
        sleeps: Vec::new(),
        probe_before_ns: probes.clone(),
        probe_after_ns: probes,
        shared_core: Vec::new(),
    };
    let row = Case { identity: identity("pipe"), outcome: measured(vec![one]) };
    RunResult { rounds: Vec::new(), distances: None, ..run(vec![row]) }
}

/// Ten pairs; every third was measured at a far distance.
fn pairs(factor: f64) -> (Vec<RunResult>, Vec<RunResult>) {
    let floor = |at: u32| if at % 3 == 2 { 400.0 } else { 80.0 };
    let noise = |at: u32| 1.0 + 0.002 * f64::from(at % 4);
    let side = |factor: f64, shift: u32| {
        (0..24).map(|at| sitting(factor * noise(at + shift), floor(at))).collect()
    };
    (side(10.0, 0), side(10.0 * factor, 1))
}

#[test]
fn pairs_are_compared_at_the_distance_they_have_in_common() {
    for (factor, expected) in
        [(1.05, Verdict::Slower), (0.9, Verdict::Faster), (1.0, Verdict::Same)]
    {
        let (base, new) = pairs(factor);
        let change = compare_pairs(&refs(&base), &refs(&new), None);
        let pair = only(&change);
        assert_eq!(pair.comparison.verdict, expected);
        assert_eq!((pair.comparison.pairs, change.is_paired), (16, true), "the near ones");
        assert!((change.floor_ns.unwrap() - 80.0).abs() < 1.0);
        assert!((pair.ratio().unwrap() / factor - 1.0).abs() < 0.005);
        assert!((pair.base_ns.unwrap() / 800.0 - 1.0).abs() < 0.02);
    }
}

#[test]
fn pairs_are_compared_at_the_distance_that_was_requested() {
    let (base, new) = pairs(1.05);
    let change = compare_pairs(&refs(&base), &refs(&new), Some(437.0));
    let pair = only(&change);
    assert_eq!(pair.comparison.pairs, 8, "the far ones");
    assert!((change.floor_ns.unwrap() - 400.0).abs() < 1.0);
    assert!((pair.base_ns.unwrap() / 4000.0 - 1.0).abs() < 0.02);
}

#[test]
fn a_difference_that_fresh_data_do_not_show_is_not_reported() {
    let ((base, new), (again, same)) = (pairs(1.05), pairs(1.0));
    let slower = || compare_pairs(&refs(&base), &refs(&new), None);
    let mut confirmed = slower();
    confirmed.confirm(&slower());
    assert_eq!(only(&confirmed).comparison.verdict, Verdict::Slower);
    let mut refuted = slower();
    refuted.confirm(&compare_pairs(&refs(&again), &refs(&same), None));
    assert_eq!(only(&refuted).comparison.verdict, Verdict::Same);
    let mut left = slower();
    left.confirm(&compare_pairs(&[], &[], None));
    assert_eq!(only(&left).comparison.verdict, Verdict::CannotTell { pairs_needed: 32 });
}
