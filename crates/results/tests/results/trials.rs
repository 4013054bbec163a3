//! A run records trials, which become one case.

use crate::sample::{between, identity, measured, run, trial};
use ipcmark_results::*;

fn numbers(case: &Case) -> Vec<u32> {
    case.trials().iter().map(|trial| trial.number).collect()
}

fn failed(reason: &str) -> Outcome {
    Outcome::Failed { reason: reason.into() }
}

#[test]
fn every_trial_of_a_case_is_kept_in_its_order() {
    let mut result = run(vec![]);
    for number in 1..=3 {
        result
            .record(identity("pipe"), measured(vec![trial(number, &[u64::from(number) * 1_000])]));
        result.record(identity("fifo"), measured(vec![trial(number, &[7_000])]));
    }
    let names: Vec<&str> = result.cases.iter().map(|case| &*case.identity.transport).collect();
    assert_eq!(names, ["pipe", "fifo"]);
    assert_eq!(result.cases.iter().map(numbers).collect::<Vec<_>>(), [[1, 2, 3]; 2]);
    result.check().unwrap();
}

#[test]
fn cases_that_differ_in_anything_are_rows_of_their_own() {
    let base = identity("pipe");
    let others = [
        Identity { payload_bytes: 65, ..base.clone() },
        Identity { wait: Wait::Block, ..base.clone() },
        Identity { touch: Touch::All, ..base.clone() },
        Identity { subscribers: 2, pattern: Pattern::FanOut, ..base.clone() },
        Identity { options: Default::default(), ..base.clone() },
        Identity { pairs: 2, ..base.clone() },
        Identity { between: Some(between(0, 1)), ..base.clone() },
        Identity { library_version: Some("2".into()), ..base.clone() },
        Identity { placement: PlacementPolicy::Cpus(vec![0, 1]), ..base.clone() },
    ];
    let mut result = run(vec![]);
    for identity in others.iter().chain([&base]) {
        result.record(identity.clone(), measured(vec![trial(1, &[1_000])]));
    }
    assert_eq!(result.cases.len(), 10);
}

#[test]
fn a_case_of_which_one_trial_failed_has_failed() {
    let mut result = run(vec![]);
    result.record(identity("pipe"), measured(vec![trial(1, &[1_000])]));
    result.record(identity("pipe"), failed("it hung"));
    result.record(identity("pipe"), measured(vec![trial(3, &[1_000])]));
    result.record(identity("pipe"), failed("it was killed"));
    assert_eq!(result.cases.len(), 1);
    assert_eq!(result.cases[0].outcome, failed("it hung"));
}
