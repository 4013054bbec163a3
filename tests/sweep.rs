//! `ipcmark sweep`: rates, pauses, payloads and subscribers.

use ipcmark_results::{Case, Load, Row, RunResult, groups};
use tempfile::tempdir;

use crate::support::{assert_valid, refused, run};

ipcmark_harness::tests![
    the_highest_rate_that_holds_is_found,
    a_row_that_holds_no_rate_is_reported,
    a_knee_is_searched_between_two_rates,
    each_row_is_bisected_by_its_own_p99,
    pauses_payloads_and_subscribers_can_be_swept,
    a_sweep_is_a_result,
    trials_of_a_point_and_their_length_are_the_users,
    flags_that_a_sweep_sets_are_rejected,
];

fn the_highest_rate_that_holds_is_found() {
    let words = "sweep rate -t pipe,udp -w block -s 64 --at 1k/s,2k/s --p99-below 10s";
    let table = run(words).exits(0).stdout;
    let found: Vec<&str> =
        table.lines().filter(|line| line.contains("2,000/s, the highest")).collect();
    assert_eq!(found.len(), 2, "{table}");
    assert!(table.contains("latency · 64 B · block   response from the intended time"), "{table}");
    for name in ["pipe p50", "pipe p99", "udp p50", "udp p99"] {
        assert!(table.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {table}");
    }
}

fn a_row_that_holds_no_rate_is_reported() {
    let words = "sweep rate -t pipe -w block -s 64 --at 2k/s --p99-below 100ns";
    let table = run(words).exits(0).stdout;
    assert!(table.contains("below 2,000/s, the lowest that was measured"), "{table}");
}

/// At an impossible rate, messages are late by most of a trial: ten thousand times a message's
/// time.
fn a_knee_is_searched_between_two_rates() {
    let words = "sweep rate -t pipe -w spin -s 64 --at 1k/s,100M/s --p99-below 5ms --format json";
    let result = run(words).exits(0).result();
    let rates: Vec<u64> = result
        .cases
        .iter()
        .filter_map(|case| match case.identity.load {
            Load::Rate { per_second, .. } => Some(per_second),
            _ => None,
        })
        .collect();
    assert_eq!(rates[..2], [1_000, 100_000_000]);
    let between = rates[2..].iter().all(|rate| (1_000..100_000_000).contains(rate));
    assert!(between && rates.len() <= 14, "{rates:?}");
}

/// Regression: each step measured all rows again, and judged one of them by the fastest.
fn each_row_is_bisected_by_its_own_p99() {
    let words = "sweep rate -t pipe,tcp -w block,block -s 64 --at 1k/s,100M/s,1000/s --p99-below 5ms --trials 1 \
                 -d 500ms --format json";
    let result = run(words).exits(0).result();
    for transport in ["pipe", "tcp"] {
        let own = result.cases.iter().filter(|case| case.identity.transport == transport);
        let rates: Vec<(u64, bool)> = own.map(|case| at_rate(case, 5e6)).collect();
        let (points, steps) = rates.split_at(2);
        assert_eq!(points.iter().map(|(rate, _)| *rate).collect::<Vec<_>>(), [1_000, 100_000_000]);
        let [(least, true), (most, false)] = *points else {
            assert!(steps.is_empty(), "no knee lies between: {rates:?}");
            continue;
        };
        let (mut holds, mut fails) = (least, most);
        for (rate, held) in steps {
            assert!(holds < *rate && *rate < fails, "{transport}: {rates:?}");
            *(if *held { &mut holds } else { &mut fails }) = *rate;
        }
        assert!(fails as f64 <= holds as f64 * 1.2, "{transport}: {rates:?}");
    }
}

/// The rate of a case that was measured once, and true if its p99 is within the limit.
fn at_rate(case: &Case, limit_ns: f64) -> (u64, bool) {
    let Load::Rate { per_second, .. } = case.identity.load else { panic!("{case:?}") };
    assert_eq!(case.trials().len(), 1, "at {per_second}/s");
    let p99 = Row::of(case, None).and_then(|row| row.percentile(0.99)).unwrap();
    (per_second, p99.value <= limit_ns)
}

fn pauses_payloads_and_subscribers_can_be_swept() {
    for (words, labels) in [
        ("interval -t pipe -w block -s 64 --at 1ms,3ms", ["1ms", "3ms"]),
        ("payload -t pipe -w block --at 64,1k -p throughput", ["64 B", "1 KiB"]),
        ("subscribers -t pipe -w block -s 64 --at 1,2", ["1", "2"]),
        ("subscribers -t pipe -w block -s 64 -p fan-out --at 1,2", ["1", "2"]),
        ("pairs -t pipe -w block -s 64 --at 1,2", ["1", "2"]),
    ] {
        let table = run(&format!("sweep {words}")).exits(0).stdout;
        let head = table.lines().find(|line| line.trim_start().starts_with("transport"));
        let head = head.unwrap_or_else(|| panic!("{table}"));
        assert!(labels.iter().all(|label| head.contains(label)), "{words}: {table}");
        assert!(table.lines().any(|line| line.trim_start().starts_with("pipe")), "{table}");
    }
}

fn a_sweep_is_a_result() {
    let directory = tempdir().unwrap();
    let (file, page) = (directory.path().join("s.json"), directory.path().join("s.html"));
    let words = format!(
        "sweep rate -t pipe,null -w block -s 64 --at 1k/s,3k/s -o {} --export html={}",
        file.display(),
        page.display()
    );
    // Named, but without a sleep to use: the exit status says so.
    run(&words).exits(1);
    assert!(std::fs::metadata(page).unwrap().len() > 0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_valid(&serde_json::from_str(&text).unwrap());
    let result: RunResult = ipcmark_results::read(&file).unwrap();
    assert!(result.complete && result.planned_cases == result.cases.len() as u64);
    let numbers: Vec<u32> = result.rounds.iter().map(|round| round.number).collect();
    assert!(numbers.iter().enumerate().all(|(at, number)| at as u32 == *number), "{numbers:?}");
    for case in &result.cases {
        let rounds = case.trials().iter().map(|trial| trial.round as usize);
        assert!(rounds.into_iter().all(|round| round < result.rounds.len()));
    }
    assert_eq!(groups(&result).len(), 2, "each rate has its group");
}

/// Regression: they were no flags of a sweep.
fn trials_of_a_point_and_their_length_are_the_users() {
    let words = "sweep payload -t pipe -w block --at 64,1k --trials 2 -d 30ms --format json";
    let result = run(words).exits(0).result();
    let trials: Vec<usize> = result.cases.iter().map(|case| case.trials().len()).collect();
    assert_eq!(trials, [2, 2]);
}

fn flags_that_a_sweep_sets_are_rejected() {
    for (words, said) in [
        ("sweep rate --rate 5k/s", "--at"),
        ("sweep payload --sizes 64", "--at"),
        ("sweep payload --p99-below 1ms", "ipcmark sweep rate"),
        ("sweep rate --at 5", "100/s"),
        ("sweep rate --at 1/s,1k/s --p99-below 1ms -d 2s", "needs 368 messages, and at 1/s"),
        ("sweep subscribers --at 65", "'--at <N>': 65 is not in 1..=64"),
        ("sweep payload --at 5M", "in --at 5M"),
        ("sweep rate --at x", "'--at <RATE"),
        ("sweep subscribers -p latency --at 1", "leave --patterns out"),
        ("sweep rate -p throughput", "as fast as it goes"),
        ("sweep", "OVER"),
        ("sweep speed", "rate"),
    ] {
        refused(words, said);
    }
}
