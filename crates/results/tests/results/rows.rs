//! Rows, groups, and the caveats of a row.

use crate::sample::{between, distances, identity, measured, placed, run, trial};
use ipcmark_results::*;

fn with(identity: Identity, p50s: &[u64]) -> Case {
    let trials = p50s.iter().enumerate().map(|(at, p50)| {
        let time = *p50 as f64;
        placed(trial(at as u32 + 1, &[*p50]), time, 2.0 * time)
    });
    Case { identity, outcome: measured(trials.collect()) }
}

fn round_trips(case: &mut Case) -> &mut [Trial] {
    match &mut case.outcome {
        Outcome::Ok { measurement: Measurement::RoundTrips(measured) } => &mut measured.trials,
        other => panic!("it was not measured: {other:?}"),
    }
}

#[test]
fn incomparable_rows_never_share_a_group() {
    let base = identity("pipe");
    let apart = [
        Identity { wait: Wait::Block, ..base.clone() },
        Identity { touch: Touch::All, ..base.clone() },
        Identity { payload_bytes: 128, ..base.clone() },
        Identity { pattern: Pattern::FanOut, subscribers: 2, ..base.clone() },
        Identity { span: Span::Thread, ..base.clone() },
        Identity { pairs: 3, ..base.clone() },
        Identity { between: Some(between(0, 1)), ..base.clone() },
        Identity { between: Some(between(0, 2)), ..base.clone() },
        base.clone(),
    ];
    let result = run(apart.into_iter().map(|identity| with(identity, &[1_000])).collect());
    let groups = groups(&result);
    assert_eq!(groups.len(), 9);
    assert!(groups.iter().all(|group| group.rows.len() == 1));
    assert!(groups.is_sorted_by_key(|group| group.key));
}

#[test]
fn the_figures_of_a_row_are_divided_by_its_messages() {
    let mut one = with(identity("pipe"), &[1_000]);
    let session = &mut round_trips(&mut one)[0].session;
    (session.messages, session.processes[0].cpu_ns, session.processes[1].cpu_ns) = (4, 1_000, 200);
    session.processes[1].context_switches = ContextSwitches { voluntary: 3, involuntary: 3 };
    let row = Row::of(&one, None).unwrap();
    assert_eq!((row.cpu_per_message(), row.switches_per_message()), (300.0, 1.5));
}

/// Regression: they were divided by the turns, with all probes and all waits for lost confirmations, and were a fifth
/// of what the other figures of the row say.
#[test]
fn the_cores_of_a_stream_are_those_at_its_rate() {
    let cores = |pattern, wait| {
        let identity = Identity { pattern, wait, ..identity("udp") };
        let mut one = with(identity, &[1_000; 3]);
        for trial in round_trips(&mut one) {
            trial.session.turns_ns = 10_000;
            (trial.session.messages, trial.session.processes[0].cpu_ns) = (4, 3_000);
            trial.session.processes[1].cpu_ns = 3_000;
            trial.blocks.elapsed_ns = vec![1_000; 2];
        }
        Row::of(&one, None).unwrap().cores()
    };
    // 1,500 ns of CPU time a message, and a message in 1,000 ns.
    assert_eq!(cores(Pattern::Throughput, Wait::Block), Some(1.5));
    assert_eq!(cores(Pattern::FanIn, Wait::Block), Some(1.5));
    assert_eq!(cores(Pattern::Throughput, Wait::Spin), None, "its ends also spin between messages");
    assert_eq!(cores(Pattern::OneWay, Wait::Spin), None);
    assert_eq!(cores(Pattern::Latency, Wait::Spin), Some(0.6));
}

/// Rows at two distances: the first row is faster at the nearer and slower at the farther one.
fn two_distances() -> RunResult {
    let row = |name, near, far| {
        let trials = (1..=5).map(|number| placed(trial(number, &[near as u64]), near, far));
        Case { identity: identity(name), outcome: measured(trials.collect()) }
    };
    run(vec![row("slow", 300.0, 600.0), row("fast", 200.0, 900.0)])
}

#[test]
fn rows_are_ranked_at_the_reference_distance() {
    let mut result = two_distances();
    let names = |result: &RunResult| {
        let [group] = &groups(result)[..] else { panic!("they are comparable") };
        let row = |row: &Row| (row.case.identity.transport.clone(), row.location().unwrap().value);
        group.rows.iter().map(row).map(|(name, at)| (name, at.round())).collect::<Vec<_>>()
    };
    assert_eq!(names(&result), [("fast".to_string(), 200.0), ("slow".to_string(), 300.0)]);
    result.distances.as_mut().unwrap().reference = Some(1);
    assert_eq!(names(&result), [("slow".to_string(), 600.0), ("fast".to_string(), 900.0)]);
}

/// Regression: rows were judged at the distance with most blocks, and those without a figure were forgotten.
#[test]
fn rows_are_precise_where_they_are_compared() {
    let times = |far: [f64; 3]| {
        let trials = (1..).zip(far).map(|(number, far)| placed(trial(number, &[100]), 100.0, far));
        measured(trials.collect())
    };
    let case = |name, far| Case { identity: identity(name), outcome: times(far) };
    let mut result = run(vec![case("steady", [200.0; 3]), case("wide", [200.0, 300.0, 400.0])]);
    assert_eq!(wider_than(&result, 0.02), 0, "near");
    result.distances.as_mut().unwrap().reference = Some(1);
    assert_eq!(wider_than(&result, 0.02), 1, "far");
    for trial in round_trips(&mut result.cases[0]) {
        trial.by_distance.truncate(1);
    }
    assert_eq!(wider_than(&result, 0.02), 2, "a row that is never far is not known there");
    result.cases.push(Case {
        identity: identity("gone"),
        outcome: Outcome::Failed { reason: "it hung".into() },
    });
    assert_eq!(wider_than(&result, 0.02), 2, "a row that failed does not hold the run up");
}

/// Regression: every clock was taken for one of steps of 1 ns, so that a median of 120 and 130 ns was one of the two.
#[test]
fn a_percentile_is_interpolated_over_the_clock_s_step() {
    let samples: Vec<u64> = [120, 130].into_iter().cycle().take(400).collect();
    let case = Case { identity: identity("pipe"), outcome: measured(vec![trial(1, &samples)]) };
    let mut result = run(vec![case]);
    result.distances = None;
    let p50 = |result: &RunResult| groups(result)[0].rows[0].percentile(0.5).unwrap().value;
    result.clock.step_ns = 10;
    assert_eq!(p50(&result), 125.0);
    result.clock.step_ns = 1;
    assert_eq!(p50(&result), 120.5);
}

/// Regression: the percentiles of a rate were those of the blocks at the reference distance, without the messages that
/// were never sent.
#[test]
fn percentiles_of_an_open_loop_are_of_all_messages() {
    let load = Load::Rate { per_second: 1_000, arrivals: Arrivals::Fixed };
    let mut one = placed(trial(1, &[9_000; 1_000]), 100.0, 200.0);
    one.by_distance[0].times_ns = trial(1, &[100; 1_000]).times_ns;
    let p50 = |load| {
        let identity = Identity { load, ..identity("pipe") };
        let case = Case { identity, outcome: measured(vec![one.clone()]) };
        Row::of(&case, Some(0)).unwrap().percentile(0.5).unwrap().value
    };
    assert_eq!(p50(Load::Closed), 100.0);
    assert!((p50(load) / 9_000.0 - 1.0).abs() < 0.01, "{}", p50(load));
}

#[test]
fn another_reference_distance_can_be_chosen() {
    let mut distances = crate::sample::distances();
    for (wanted, expected) in [(1.0, 0), (110.0, 0), (200.0, 1), (9_000.0, 1)] {
        distances.refer_to(wanted);
        assert_eq!(distances.reference, Some(expected), "{wanted}");
    }
    distances.all[1].apart = true;
    distances.refer_to(9_000.0);
    assert_eq!(distances.reference, Some(0), "where both never run at once nothing is compared");
}

#[test]
fn multiples_use_the_probes_of_the_rows_own_blocks() {
    let result = two_distances();
    let rows = &groups(&result)[0].rows;
    assert_eq!((rows[0].floor_multiple(), rows[0].reference_multiple()), (Some(2.0), Some(1.0)));
    let mut sleeping = result.cases[0].clone();
    sleeping.identity.wait = Wait::Block;
    // A sleeping row has the same multiple at every distance.
    assert_eq!(Row::of(&sleeping, Some(0)).unwrap().reference_multiple(), Some(1.5));
}

#[test]
fn a_row_without_probes_stands_at_no_distance() {
    let mut one = with(identity("null"), &[1_000; 3]);
    for trial in round_trips(&mut one) {
        (trial.blocks.probe_before_ns, trial.blocks.probe_after_ns) = Default::default();
    }
    let row = Row::of(&one, Some(0)).unwrap();
    assert_eq!((row.distance, row.floor_multiple(), row.samples()), (None, None, 3));
    assert!((row.location().unwrap().value - 970.0).abs() < 1.0);
}

#[test]
fn a_percentile_that_the_samples_cannot_carry_is_none() {
    let samples: Vec<u64> = (1..=2_000).collect();
    let trials = (1..=3).map(|number| trial(number, &samples)).collect();
    let one = Case { identity: identity("pipe"), outcome: measured(trials) };
    let row = Row::of(&one, None).unwrap();
    let p50 = row.percentile(0.5).unwrap();
    assert!(
        (p50.value - 1_000.0).abs() < 5.0 && p50.relative_half_width().unwrap() < 0.01,
        "{p50:?}"
    );
    assert!(row.percentile(0.99).is_some());
    assert_eq!(row.percentile(0.9999), None);
    let alone = with(identity("pipe"), &[1_000]);
    let location = Row::of(&alone, None).unwrap().location().unwrap();
    assert_eq!(location.interval, None, "one trial has no interval");
}

#[test]
fn losses_of_all_trials_are_summed() {
    let mut one = with(identity("udp"), &[1_000, 1_000]);
    for trial in round_trips(&mut one) {
        trial.session.losses = Losses { sent: 3, received: 1, lost: 2, ..Losses::default() };
        trial.lost_wait_ns = 5;
    }
    assert_eq!(
        caveats(&Row::of(&one, Some(0)).unwrap()),
        [Caveat::Lost { lost: 4, sent: 6, wait_ns: 10, of_stream: false }]
    );
}

#[test]
fn an_undeclared_carrier_and_a_missing_sleep_are_caveats() {
    let mut one = with(Identity { wait: Wait::Block, ..identity("eager") }, &[1_000, 1_000]);
    assert_eq!(caveats(&Row::of(&one, Some(0)).unwrap()), [Caveat::StayedAwake]);
    round_trips(&mut one)[1].session.processes[0].ends[0].thread.sleeps = 1;
    assert_eq!(caveats(&Row::of(&one, Some(0)).unwrap()), [], "one of two trials slept");
    round_trips(&mut one)[1].session.carrier.found = Carrier::Network;
    let fell_back = Caveat::FellBack { declared: Carrier::Kernel, found: Carrier::Network };
    assert_eq!(caveats(&Row::of(&one, Some(0)).unwrap()), [fell_back]);
}

#[test]
fn an_impossible_time_and_an_unsettled_row_are_caveats() {
    let mut one = with(identity("pipe"), &[80; 3]);
    let told = |one: &Case| caveats(&Row::of(one, Some(0)).unwrap());
    let impossible = [Caveat::BelowFloor { multiple: 0.8 }, Caveat::BelowBare { multiple: 0.4 }];
    assert_eq!(told(&one), impossible);
    one.identity.span = Span::None;
    assert_eq!(told(&one), [], "nothing crosses between processes");
    round_trips(&mut one)[0].by_distance[0].settled = Some(false);
    assert_eq!(told(&one), [], "one of three");
    round_trips(&mut one)[1].by_distance[0].settled = None;
    round_trips(&mut one)[2].by_distance[0].settled = Some(false);
    assert_eq!(told(&one), [Caveat::Unsettled { trials: 2, of: 2 }]);
}

/// Regression: the reference was built without optimisation, so that rows stood at a hundredth of it, and nothing said so.
#[test]
fn a_spinning_row_far_below_its_bare_reference_is_suspect() {
    let mut one = with(identity("memfd"), &[1_000]);
    let mut told = |multiple, wait| {
        one.identity.wait = wait;
        round_trips(&mut one)[0].by_distance[0].reference_multiple = Some(multiple);
        caveats(&Row::of(&one, Some(0)).unwrap())
    };
    assert_eq!(told(0.015, Wait::Spin), [Caveat::BelowBare { multiple: 0.015 }]);
    assert_eq!(told(0.5, Wait::Spin), []);
    assert_eq!(told(0.015, Wait::Block), [Caveat::StayedAwake], "a wake-up differs too much");
}

/// Regression: threads of the row's own library were called other programs.
#[test]
fn a_row_whose_library_takes_the_processors_has_no_rank_beside_others() {
    let row = |name, own_ns| {
        let mut one = with(identity(name), &[1_000; 3]);
        for trial in round_trips(&mut one) {
            let session = &mut trial.session;
            session.turns_ns = 1_000_000;
            session.processes[1].other_threads_ns = Some(own_ns);
            let thread = &mut session.processes[1].ends[0].thread;
            (thread.sleeps, thread.run_delay_ns) = (0, own_ns);
        }
        one
    };
    let ranked = |cases: Vec<Case>| {
        let mut result = run(cases);
        result.environment.cpus_usable = 2;
        let [group] = &groups(&result)[..] else { panic!("they are comparable") };
        group.rows.iter().map(|row| row.rank.map(|rank| rank.number)).collect::<Vec<_>>()
    };
    assert_eq!(ranked(vec![row("zenoh-tcp", 500_000), row("tcp", 0)]), [Some(1), None]);
    assert_eq!(ranked(vec![row("zenoh-tcp", 500_000), row("nng-tcp", 500_000)]), [Some(1); 2]);
}

#[test]
fn a_wait_for_the_library_s_own_threads_is_not_suspect() {
    let told = |wait, waited_ns, other_threads_ns: u64| {
        let mut one = with(Identity { wait, ..identity("zeromq") }, &[1_000; 3]);
        for trial in round_trips(&mut one) {
            let session = &mut trial.session;
            session.turns_ns = 1_000_000;
            let [leader, follower] = &mut session.processes[..] else { panic!("there are two") };
            (leader.other_threads_ns, follower.other_threads_ns) =
                (Some(other_threads_ns / 2), Some(other_threads_ns / 2));
            follower.ends[0].thread.run_delay_ns = waited_ns;
            leader.ends[0].thread.sleeps =
                if wait == Wait::Block { 2 * session.messages } else { 0 };
            follower.ends[0].thread.sleeps = leader.ends[0].thread.sleeps;
            follower.ends[0].thread.run_delay_ns += 10_000 * follower.ends[0].thread.sleeps;
        }
        caveats(&Row { cpus: 2, ..Row::of(&one, Some(0)).unwrap() })
    };
    let by_others = Caveat::Disturbed(Disturbance::Waited);
    let by_library = Caveat::OversubscribedByLibrary { cpus: 2 };
    assert_eq!(told(Wait::Spin, 5_000, 0), []);
    assert_eq!(told(Wait::Spin, 6_000, 0), [by_others]);
    assert_eq!(told(Wait::Spin, 6_000, 2_000), [], "a third of it for its own");
    assert_eq!(told(Wait::Spin, 50_000, 400_000), []);
    assert_eq!(told(Wait::Spin, 60_000, 400_000), [by_library]);
    assert_eq!(told(Wait::Spin, 90_000, 60_000), [by_library, by_others], "for both");
    assert_eq!(told(Wait::Block, 60_000, 400_000), [], "its ends leave room for its threads");
}

#[test]
fn the_best_are_those_of_every_payload_between_processes() {
    let at = |name, bytes, times: [u64; 4]| {
        let mut one = with(Identity { payload_bytes: bytes, ..identity(name) }, &times);
        for trial in round_trips(&mut one) {
            trial.session.processes[0].cpu_ns = 10_000 - times[0];
        }
        one
    };
    let (near, same) = ([1_000, 1_010, 990, 1_000], [1_001, 1_009, 989, 1_002]);
    let mut cases = vec![at("slow", 64, [9_000; 4]), at("one", 64, near), at("other", 64, same)];
    cases.push(at("large", 128, [10; 4]));
    cases.push(with(Identity { span: Span::None, payload_bytes: 16, ..identity("null") }, &[1; 4]));
    let result = run(cases);
    let [small, large] = &best(&result)[..] else { panic!("there are two payloads") };
    let name = |row: &Row| row.case.identity.transport.clone();
    assert_eq!(small.fastest.iter().map(name).collect::<Vec<_>>(), ["one", "other"]);
    let cheapest = [small, large].map(|best| best.cheapest.as_ref().map(name));
    assert_eq!(cheapest, [Some("slow".into()), Some("large".into())]);
    let ranks = small.group.rows.iter().map(|row| row.rank.unwrap());
    let ranks: Vec<_> = ranks.map(|rank| (rank.number, rank.shared)).collect();
    assert_eq!(ranks, [(1, true), (1, true), (3, false)]);
}

#[test]
fn a_curve_pools_the_samples_of_all_trials() {
    let pooled = with(identity("pipe"), &[1_000, 2_000]);
    let points = curve(Row::of(&pooled, None).unwrap().trials).unwrap();
    assert_eq!((points[0], points.len()), (1_000, GRID.iter().filter(|at| **at <= 2.0).count()));
    let mut damaged = pooled;
    round_trips(&mut damaged)[1].times_ns.histogram = "AAAA".into();
    assert!(curve(Row::of(&damaged, None).unwrap().trials).is_err());
}

#[test]
fn rows_with_too_few_blocks_at_the_reference_distance_are_found() {
    let [scarce, full, few] = ["pipe", "fifo", "tcp"].map(identity);
    let mut cases = [
        with(scarce.clone(), &[1_000, 1_100, 1_200]),
        with(full, &[1_000, 1_100, 1_200]),
        with(few, &[1_000, 1_100]),
    ];
    round_trips(&mut cases[0])[1].by_distance.remove(0);
    let result = RunResult { distances: Some(distances()), ..run(cases.to_vec()) };
    assert_eq!(thin(&result, 3), [&scarce], "those measured in fewer trials are not thin, but few");
    let unprobed = RunResult { distances: None, ..result };
    assert!(thin(&unprobed, 3).is_empty(), "where nothing is probed every trial counts");
}

/// Regression: such a file ended `show` and `compare` with a panic.
#[test]
fn a_time_of_nothing_is_no_time() {
    let mut case = Case {
        identity: identity("pipe"),
        outcome: measured(
            (1..=3).map(|number| placed(trial(number, &[1_000]), 1_000.0, 2_000.0)).collect(),
        ),
    };
    let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was measured") };
    for trial in measurement.trials_mut() {
        trial.by_distance[0].location_ns = Some(0.0);
    }
    let row = Row::of(&case, Some(0)).unwrap();
    assert_eq!((row.locations(), row.location()), (vec![None; 3], None));
}

/// Regression: a pair of ranks on a host without the run's reference distance had no figures.
#[test]
fn a_pair_of_ranks_has_the_distance_of_its_host() {
    let mut one = placed(trial(1, &[1_000]), 1_000.0, 2_000.0);
    one.by_distance.retain(|at| at.distance == 1);
    let identity = Identity { between: Some(between(2, 3)), ..identity("pipe") };
    let case = Case { identity, outcome: measured(vec![one]) };
    let row = Row::of(&case, Some(0)).unwrap();
    assert!(row.distance == Some(1) && row.location().is_some(), "{:?}", row.distance);
}
