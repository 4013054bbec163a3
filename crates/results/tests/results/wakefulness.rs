//! The blocks of a row that sleeps: those in which its ends slept, unless they hardly did.

use crate::sample::{identity, placed_row, run, trial};
use ipcmark_results::*;

/// A trial of 40 blocks, sampled and clock-free in turn. In `awake` of the sampled ones the ends do not sleep.
fn mixed(number: u32, awake: u32) -> Trial {
    const BLOCKS: u32 = 40;
    let is_awake = |at: &u32| at.is_multiple_of(2) && at / 2 < awake;
    let events = |at: u32| if is_awake(&at) { 1_500 } else { 50 };
    let column = |of: &dyn Fn(u32) -> u64| (0..BLOCKS).map(of).collect::<Vec<u64>>();
    let blocks = Blocks {
        turn: (0..BLOCKS).map(|at| at / 2).collect(),
        start_ns: vec![0; BLOCKS as usize],
        clock_free: (0..BLOCKS).map(|at| !at.is_multiple_of(2)).collect(),
        events: column(&|at| events(at)),
        elapsed_ns: vec![1_500_000; BLOCKS as usize],
        lost: vec![0; BLOCKS as usize],
        sleeps: column(&|at| if is_awake(&at) { 10 } else { 50 }),
        probe_before_ns: vec![80.0; BLOCKS as usize],
        probe_after_ns: vec![80.0; BLOCKS as usize],
        shared_core: Vec::new(),
    };
    Trial { blocks, round: 0, ..trial(number, &[1_000, 30_000]) }
}

/// The samples of such a trial.
fn samples(awake: u32) -> Vec<PlacedSamples> {
    let group = |awake, value, count| {
        let mut histogram = new_histogram();
        histogram.record_n(value, count).unwrap();
        PlacedSamples {
            probes_ns: Some([80.0; 2]),
            awake,
            shared: false,
            histogram: encode(&histogram),
        }
    };
    let asleep = u64::from(20 - awake);
    let groups = [group(false, 30_000, 50 * asleep), group(true, 1_000, 1_500 * u64::from(awake))];
    groups.into_iter().collect()
}

/// The result of a row that sleeps, with this number of awake blocks in each of three trials.
fn result(awake: u32) -> RunResult {
    let identity = Identity { wait: Wait::Block, ..identity("shm-ring") };
    placed_row(identity, |number| mixed(number, awake), &samples(awake))
}

#[test]
fn a_few_blocks_without_sleep_are_not_most_of_the_percentiles() {
    let result = result(4);
    let groups = groups(&result);
    let row = &groups[0].rows[0];
    assert_eq!(row.location().unwrap().value.round(), 30_000.0);
    assert!((row.percentile(0.5).unwrap().value / 30_000.0 - 1.0).abs() < 0.01);
    assert_eq!((row.samples(), row.trials[0].by_distance[0].blocks), (3 * 16 * 50, 36));
    let share = awake_share(row.trials).unwrap();
    assert_eq!(share.blocks, 0.1);
    assert!((share.round_trips - 6_000.0 / 7_800.0).abs() < 1e-9, "{share:?}");
    let question = AdviceQuestion {
        payload: 64,
        pattern: Pattern::Latency,
        load: Load::Closed,
        subscribers: 1,
        p99_below_ns: Some(1e6),
        cores_below: None,
    };
    let advice = advise(&result, &question, |_| true);
    let choice = advice.choice.unwrap();
    assert!(choice.cost.is_none(), "the CPU time is mostly that of messages without a wake-up");
    assert!((choice.p99.unwrap().value / 30_000.0 - 1.0).abs() < 0.01);
    let best = best(&result);
    assert!(best[0].cheapest.is_none(), "most of the messages that it counts had no wake-up");
    assert!(row.rank.is_some() && !row.stayed_awake());
    assert!(row.overall().samples() > 0, "all samples remain in the overall figures");
}

#[test]
fn a_row_that_hardly_sleeps_consists_of_its_other_blocks_and_has_no_rank() {
    let mut result = result(20);
    // In 21 of 40 blocks no end sleeps.
    let Outcome::Ok { measurement: Measurement::RoundTrips(measured) } =
        &mut result.cases[0].outcome
    else {
        panic!("it was not measured")
    };
    for trial in &mut measured.trials {
        (trial.blocks.events[1], trial.blocks.sleeps[1]) = (1_500, 0);
    }
    place(&mut result, &(1..=3).map(|number| ((0, number, 0), samples(20))).collect()).unwrap();
    let groups = groups(&result);
    let row = &groups[0].rows[0];
    assert_eq!(row.location().unwrap().value.round(), 1_000.0);
    assert!((row.percentile(0.5).unwrap().value / 1_000.0 - 1.0).abs() < 0.01);
    assert!(row.rank.is_none() && caveats(row).contains(&Caveat::StayedAwake));
    assert!(best(&result).is_empty(), "it is not the fastest of the rows that sleep");
}

/// The result of a row whose ends slept for each message. This share of the messages came when a processor had gone idle,
/// and that share of the bare reference's.
fn slept(woken: Option<f64>, bare: Option<f64>) -> RunResult {
    let mut result = result(0);
    let Outcome::Ok { measurement } = &mut result.cases[0].outcome else {
        panic!("it was not measured")
    };
    for trial in measurement.trials_mut() {
        for end in trial.session.processes.iter_mut().flat_map(|process| &mut process.ends) {
            (end.received, end.thread.sleeps) = (1_000, 1_100);
            end.thread.idles = woken.map(|share| (share * 1_000.0) as u64);
        }
    }
    result.rounds = run(Vec::new()).rounds;
    result.rounds[0].reference_woken_share = bare;
    result
}

/// The result of a row with three followers, which slept for this many of 1,000 messages, and of which the leader slept
/// in no block.
fn three_followers(sleeps: u64) -> RunResult {
    let mut result = result(20);
    let identity = &mut result.cases[0].identity;
    (identity.pattern, identity.subscribers) = (Pattern::FanOut, 3);
    let Outcome::Ok { measurement } = &mut result.cases[0].outcome else {
        panic!("it was not measured")
    };
    for trial in measurement.trials_mut() {
        trial.blocks.sleeps.fill(0);
        let mut follower = trial.session.processes[1].clone();
        (follower.ends[0].received, follower.ends[0].thread.sleeps) = (1_000, sleeps);
        trial.session.processes.truncate(1);
        for number in 0..3 {
            follower.ends[0].role = Role::Follower(number);
            trial.session.processes.push(follower.clone());
        }
    }
    let samples = (1..=3).map(|number| ((0, number, 0), samples(20))).collect();
    place(&mut result, &samples).unwrap();
    result
}

/// Such a row was said to have hardly slept, and had no rank: the leader finds the answers of the first followers
/// waiting when it has sent to the last one.
#[test]
fn the_followers_tell_if_several_sleep() {
    let asleep = three_followers(950);
    let groups_of_asleep = groups(&asleep);
    let row = &groups_of_asleep[0].rows[0];
    assert!(row.rank.is_some() && !row.stayed_awake() && !row.is_mixed());
    assert!(!caveats(row).contains(&Caveat::StayedAwake));
    assert_eq!(row.trials[0].by_distance[0].blocks, 40, "all blocks count");
    let awake = three_followers(450);
    let row = &groups(&awake)[0].rows[0];
    assert!(row.rank.is_none() && row.stayed_awake(), "they slept for fewer than half");
}

/// Two microseconds of work after each send let a blocking pipe take a fifth of its time: the answer comes before the
/// processor is idle. Such rows once were the fastest of those that sleep.
#[test]
fn a_row_whose_processors_hardly_go_idle_has_no_rank() {
    let light = slept(Some(0.3), Some(0.95));
    let groups_of_light = groups(&light);
    let row = &groups_of_light[0].rows[0];
    assert!((row.slept_lightly().unwrap() - 0.7).abs() < 1e-9);
    assert!(row.rank.is_none() && !row.stayed_awake());
    assert!(caveats(row).iter().any(|caveat| matches!(caveat, Caveat::SleptLightly { .. })));
    assert!(best(&light).is_empty(), "it is not the fastest of the rows that wake a processor");
}

#[test]
fn a_row_is_compared_with_the_bare_reference() {
    let ranked = [
        (Some(0.95), Some(0.95), "most rows"),
        (Some(0.7), Some(0.95), "not far from it"),
        (Some(0.1), Some(0.7), "something else keeps the processors busy"),
        (Some(0.1), None, "there was no reference"),
        (None, Some(0.95), "the kernel does not count"),
    ];
    for (woken, bare, why) in ranked {
        let result = slept(woken, bare);
        let row = &groups(&result)[0].rows[0];
        assert!(row.rank.is_some() && row.slept_lightly().is_none(), "{why}");
    }
}

#[test]
fn the_column_of_sleeps_is_as_long_as_the_others_or_empty() {
    let mut result = result(4);
    assert!(result.check().is_ok());
    let Outcome::Ok { measurement: Measurement::RoundTrips(measured) } =
        &mut result.cases[0].outcome
    else {
        panic!("it was not measured")
    };
    measured.trials[0].blocks.sleeps.pop();
    let why = result.check().unwrap_err();
    assert!(why.contains("blocks.sleeps has 39 entries for 40 blocks"), "{why}");
}
