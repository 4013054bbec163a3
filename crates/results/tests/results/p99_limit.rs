//! Cases judged by a limit of their 99th percentile.

use crate::sample::{identity, measured, trial};
use ipcmark_results::*;

fn judged(outcome: Outcome) -> Option<JudgedRate> {
    let load = Load::Rate { per_second: 1_000, arrivals: Arrivals::Poisson };
    let identity = Identity { load, ..identity("pipe") };
    JudgedRate::of(&Case { identity, outcome }, 1_000.0)
}

/// The verdict on trials of `samples` equal times each.
fn verdict(times: &[u64], samples: usize) -> (LimitVerdict, bool) {
    let trials = times.iter().enumerate();
    let trials = trials.map(|(at, time)| trial(at as u32 + 1, &vec![*time; samples]));
    let point = judged(measured(trials.collect())).unwrap();
    assert_eq!(point.per_second, 1_000);
    (point.verdict, point.is_certain)
}

#[test]
fn a_case_keeps_to_a_limit_or_does_not_or_is_not_known_to() {
    assert_eq!(verdict(&[900; 2], 200), (LimitVerdict::Within, true));
    assert_eq!(verdict(&[1_100; 2], 200), (LimitVerdict::Beyond, true));
    assert_eq!(verdict(&[900; 2], 183), (LimitVerdict::Unknown, false), "366 samples, two too few");
    let reason = || "it hung".to_string();
    let failed = judged(Outcome::Failed { reason: reason() }).unwrap();
    assert_eq!((failed.verdict, failed.is_certain), (LimitVerdict::Failed, true));
    assert_eq!(judged(Outcome::Unsupported { reason: reason() }), None);
    assert_eq!(judged(Outcome::Unavailable { reason: reason() }), None);
}

#[test]
fn a_verdict_is_certain_if_the_interval_does_not_contain_the_limit() {
    assert_eq!(verdict(&[700, 900, 1_200], 200), (LimitVerdict::Within, false));
    assert_eq!(verdict(&[800, 1_100, 1_500], 200), (LimitVerdict::Beyond, false));
    assert_eq!(verdict(&[690, 700, 710], 200), (LimitVerdict::Within, true));
    assert_eq!(verdict(&[700], 400), (LimitVerdict::Within, false), "one trial has no interval");
}

#[test]
fn a_case_without_a_rate_is_not_judged() {
    let outcome = measured(vec![trial(1, &[900; 400])]);
    assert_eq!(JudgedRate::of(&Case { identity: identity("pipe"), outcome }, 1_000.0), None);
}
