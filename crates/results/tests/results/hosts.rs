//! Maps of hosts: their rows, and their outliers.

use ipcmark_results::*;

use crate::sample::{between, identity, measured, run, trial};

/// Five ranks; each pair takes these times in its trials.
fn five(times: impl Fn((u32, u32)) -> Vec<u64>) -> RunResult {
    let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b)));
    let case = |pair: (u32, u32)| {
        let trials = (1..).zip(times(pair)).map(|(number, time)| trial(number, &[time; 100]));
        let between = Some(between(pair.0, pair.1));
        Case {
            identity: Identity { between, ..identity("tcp") },
            outcome: measured(trials.collect()),
        }
    };
    run(pairs.map(case).collect())
}

/// Times of a pair that differ a little from pair to pair, and from trial to trial.
fn usual((a, b): (u32, u32)) -> Vec<u64> {
    let about = 20_000 + 100 * u64::from((3 * a + b) % 4);
    vec![about - 40, about, about + 40]
}

fn named(result: &RunResult) -> Vec<(u32, u32)> {
    let maps = host_maps(result);
    assert_eq!(maps.len(), 1);
    maps[0].outliers().iter().map(|outlier| outlier.pair).collect()
}

#[test]
fn a_pair_slower_than_most_is_an_outlier() {
    assert!(named(&five(usual)).is_empty());
    let slow = |pair| if pair == (1, 3) { vec![29_900, 30_000, 30_100] } else { usual(pair) };
    assert_eq!(named(&five(slow)), [(1, 3)]);
    let outlier = host_maps(&five(slow))[0].outliers()[0];
    assert_eq!((outlier.among, outlier.is_one_host), (10, false));
    assert!((1.4..1.6).contains(&(outlier.time.value / outlier.usual_ns)), "{outlier:?}");
}

#[test]
fn a_pair_without_a_clear_interval_is_no_outlier() {
    let wide = |pair| if pair == (1, 3) { vec![15_000, 30_000, 60_000] } else { usual(pair) };
    assert!(named(&five(wide)).is_empty(), "its interval holds the median");
    let once = |pair| if pair == (1, 3) { vec![30_000] } else { usual(pair) };
    assert!(named(&five(once)).is_empty(), "one trial has no interval");
}

#[test]
fn each_row_has_a_map_and_pairs_on_one_host_are_judged_apart() {
    let mut result = five(usual);
    let further = result.cases.clone().into_iter().map(|mut case| {
        case.identity.wait = Wait::Block;
        case
    });
    result.cases.extend(further.collect::<Vec<_>>());
    assert_eq!(host_maps(&result).len(), 2);
    assert!(host_maps(&run(vec![])).is_empty());
    // One pair on one host is another kind, whatever its time.
    let mut beside = five(|pair| if pair == (0, 1) { vec![2_000; 3] } else { usual(pair) });
    beside.cases[0].identity.between.as_mut().unwrap().follower.host = "node0".into();
    assert!(named(&beside).is_empty());
    let maps = host_maps(&beside);
    assert_eq!((maps[0].ranks.len(), maps[0].pairs.len()), (5, 10));
}
