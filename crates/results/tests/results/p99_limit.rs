//! Cases judged by a limit of their 99th percentile.

use crate::sample::{case, identity};
use ipcmark_results::*;

#[test]
fn a_case_keeps_to_a_limit_or_does_not_or_is_not_known_to() {
    let verdict = |case: &Case| LimitVerdict::of(case, 1_000.0);
    assert_eq!(verdict(&case("pipe", &[900; 400])), Some(LimitVerdict::Within));
    assert_eq!(verdict(&case("pipe", &[1_100; 400])), Some(LimitVerdict::Beyond));
    assert_eq!(verdict(&case("pipe", &[900; 367])), Some(LimitVerdict::Unknown), "one too few");
    let outcome = |outcome| Case { identity: identity("pipe"), outcome };
    let reason = || "it hung".to_string();
    let failed = outcome(Outcome::Failed { reason: reason() });
    assert_eq!(verdict(&failed), Some(LimitVerdict::Failed));
    assert_eq!(verdict(&outcome(Outcome::Unsupported { reason: reason() })), None);
    assert_eq!(verdict(&outcome(Outcome::Unavailable { reason: reason() })), None);
}
