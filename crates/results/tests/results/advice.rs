//! Advice: the chosen row, and the classification of the others.

use ipcmark_results::*;

use crate::sample::{identity, measured, run, trial};

/// A row with three trials of this p50 and cores, with samples whose p99 is a tenth higher.
fn row(transport: &str, wait: Wait, p50: u64, cores: f64) -> Case {
    let samples: Vec<u64> = (0..2000).map(|n| p50 + p50 * (n % 100) / 1000).collect();
    let trials = (1..=3).map(|number| {
        let mut trial = trial(number, &samples);
        trial.session.turns_ns = 1_000_000_000;
        for process in &mut trial.session.processes {
            process.cpu_ns = (cores * 5e8) as u64;
            process.ends[0].thread.sleeps = if wait == Wait::Spin { 0 } else { 2000 };
        }
        // Different in every trial, so that there is an interval.
        trial.clock_free_mean_ns *= 1.0 + f64::from(number) * 1e-4;
        trial
    });
    let load = Load::Rate { per_second: 1000, arrivals: Arrivals::Fixed };
    Case {
        identity: Identity { wait, load, ..identity(transport) },
        outcome: measured(trials.collect()),
    }
}

fn question(p99_below_ns: Option<f64>, cores_below: Option<f64>) -> AdviceQuestion {
    AdviceQuestion {
        payload: 64,
        pattern: Pattern::Latency,
        load: Load::Rate { per_second: 1000, arrivals: Arrivals::Fixed },
        subscribers: 1,
        p99_below_ns,
        cores_below,
    }
}

fn rows() -> RunResult {
    run(vec![
        row("fast", Wait::Block, 10_000, 0.5),
        row("cheap", Wait::Block, 20_000, 0.1),
        row("slow", Wait::Block, 90_000, 0.05),
        row("spinner", Wait::Spin, 100, 2.0),
    ])
}

fn name(candidate: &Option<Candidate>) -> Option<String> {
    candidate.as_ref().map(|candidate| candidate.row.case.identity.transport.clone())
}

/// The choice, the runner-up, the spinning row beside it, and those that fall short.
fn answer(p99_below_ns: Option<f64>, cores_below: Option<f64>) -> [Vec<String>; 4] {
    let result = rows();
    let advice = advise(&result, &question(p99_below_ns, cores_below), |_| true);
    let short = advice.short.iter().map(|short| short.row.case.identity.transport.clone());
    let one = |candidate| name(candidate).into_iter().collect();
    [one(&advice.choice), one(&advice.runner_up), one(&advice.spinning), short.collect()]
}

#[test]
fn sleeping_rows_come_first_and_the_spinning_row_is_the_alternative() {
    assert_eq!(answer(None, None), [vec!["fast"], vec!["cheap"], vec!["spinner"], vec![]]);
}

#[test]
fn the_largest_counts_of_losses_do_not_overflow() {
    let mut result = rows();
    let Outcome::Ok { measurement } = &mut result.cases[0].outcome else {
        panic!("it was not measured")
    };
    measurement.trials_mut().iter_mut().for_each(|trial| trial.session.losses.lost = u64::MAX);
    let advice = advise(&result, &question(None, None), |_| true);
    assert_eq!(advice.choice.unwrap().lost(), u64::MAX);
}

#[test]
fn a_row_that_should_sleep_and_does_not_is_no_sleeping_row() {
    let mut result = rows();
    let mut eager = row("eager", Wait::Block, 300, 2.0);
    let Outcome::Ok { measurement: Measurement::RoundTrips(measured) } = &mut eager.outcome else {
        panic!("it was not measured")
    };
    for trial in &mut measured.trials {
        trial.session.processes.iter_mut().for_each(|process| process.ends[0].thread.sleeps = 0);
    }
    result.cases.push(eager);
    let advice = advise(&result, &question(None, None), |_| true);
    assert_eq!(name(&advice.choice).unwrap(), "fast", "eager keeps its processors busy too");
    assert_eq!(name(&advice.spinning).unwrap(), "spinner");
}

/// Its messages woke no processor; those of a program that is not a ping-pong will.
#[test]
fn a_row_whose_processors_hardly_go_idle_comes_after_the_others() {
    let mut result = rows();
    let mut light = row("light", Wait::Block, 5_000, 0.5);
    let Outcome::Ok { measurement } = &mut light.outcome else { panic!("it was not measured") };
    for trial in measurement.trials_mut() {
        let processes = &mut trial.session.processes;
        processes.iter_mut().for_each(|process| process.ends[0].thread.idles = Some(200));
    }
    result.cases.push(light);
    let advice = advise(&result, &question(None, None), |_| true);
    assert_eq!(name(&advice.choice).unwrap(), "fast");
    assert_eq!(name(&advice.runner_up).unwrap(), "cheap");
}

/// Regression: tables do not rank such a row, and it was the choice.
#[test]
fn a_row_whose_library_takes_the_processors_comes_after_the_others() {
    let mut result =
        run(vec![row("busy", Wait::Spin, 100, 2.0), row("calm", Wait::Spin, 500, 2.0)]);
    result.environment.cpus_usable = 2;
    let Outcome::Ok { measurement } = &mut result.cases[0].outcome else {
        panic!("it was measured")
    };
    for trial in measurement.trials_mut() {
        let follower = &mut trial.session.processes[1];
        follower.other_threads_ns = Some(500_000_000);
        follower.ends[0].thread.run_delay_ns = 500_000_000;
    }
    let advice = advise(&result, &question(None, Some(3.0)), |_| true);
    assert_eq!(name(&advice.choice).unwrap(), "calm");
    result.cases.push(row("sleeper", Wait::Block, 9_000, 0.1));
    let advice = advise(&result, &question(None, None), |_| true);
    assert_eq!(name(&advice.spinning).unwrap(), "calm", "not the one that is fast for a while");
}

#[test]
fn of_rows_within_the_latency_limit_the_cheapest_comes_first() {
    let found = answer(Some(50_000.0), None);
    assert_eq!(found, [vec!["cheap"], vec!["fast"], vec!["spinner"], vec!["slow"]]);
    // No sleeping row is fast enough.
    let found = answer(Some(1_000.0), None);
    assert_eq!(found, [vec!["spinner"], vec![], vec![], vec!["fast", "cheap", "slow"]]);
}

#[test]
fn without_a_rate_ties_are_those_of_the_cpu_time_of_a_message() {
    let closed = |name: &str, cores: f64| {
        let mut case = row(name, Wait::Block, 10_000, cores);
        case.identity.load = Load::Closed;
        let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was not measured") };
        for trial in measurement.trials_mut() {
            // All keep as many processors busy: one for half of the time takes half of the CPU time.
            trial.session.turns_ns = (1e9 * cores) as u64;
        }
        case
    };
    let rows = vec![closed("cheap", 0.1), closed("as cheap", 0.1), closed("dear", 0.2)];
    let result = RunResult { distances: None, ..run(rows) };
    let question = AdviceQuestion { load: Load::Closed, ..question(Some(1e6), None) };
    let advice = advise(&result, &question, |_| true);
    let busy = |candidate: &Candidate| candidate.cores.unwrap().value;
    let choice = advice.choice.as_ref().unwrap();
    assert!(advice.others.iter().all(|other| (busy(other) / busy(choice) - 1.0).abs() < 1e-6));
    assert_eq!((name(&advice.choice).as_deref(), advice.ties.len()), (Some("as cheap"), 1));
}

#[test]
fn a_p99_near_its_limit_is_not_relied_on() {
    // Cheap has a p99 of 22 µs.
    assert_eq!(answer(Some(24_000.0), None)[0], ["fast"]);
    // So near the limit, fast with its 11 µs is no choice either, and beside the spinning row.
    let result = rows();
    let advice = advise(&result, &question(Some(12_000.0), None), |_| true);
    assert_eq!(name(&advice.choice).as_deref(), Some("spinner"));
    assert_eq!(name(&advice.sleeping).as_deref(), Some("fast"));
    // Nothing else meets the conditions.
    let advice = advise(&result, &question(Some(12_000.0), Some(1.0)), |_| true);
    assert_eq!(name(&advice.choice).as_deref(), Some("fast"));
    assert!(advice.sleeping.is_none());
}

/// The names of the finalists among these rows.
fn finalists(rows: Vec<Case>, question: AdviceQuestion) -> Vec<String> {
    let result = run(rows);
    let advice = advise(&result, &question, |_| true);
    let finalists = advice.finalists(&question).into_iter();
    finalists.map(|row| row.row.case.identity.transport.clone()).collect()
}

/// A row with trials whose p50 differ by so much.
fn uncertain(transport: &str, p50: u64, apart: u64) -> Case {
    let mut case = row(transport, Wait::Block, p50, 0.1);
    let others = [p50 + apart, p50 - apart].map(|p50| row(transport, Wait::Block, p50, 0.1));
    let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was measured") };
    for (trial, other) in measurement.trials_mut().iter_mut().zip(&others) {
        let number = trial.number;
        *trial = other.trials()[0].clone();
        trial.number = number;
    }
    case
}

#[test]
fn rows_that_could_be_the_choice_are_finalists() {
    let open = || vec![uncertain("a", 10_000, 2000), uncertain("b", 11_000, 2000)];
    assert_eq!(finalists(open(), question(None, None)), ["a", "b"]);
    // Slower for certain, and one that comes after rows that sleep.
    let others = || [row("slow", Wait::Block, 90_000, 0.1), row("spinner", Wait::Spin, 100, 2.0)];
    let all = || open().into_iter().chain(others()).collect();
    assert_eq!(finalists(all(), question(None, None)), ["a", "b"]);
    // With cores to burn, the spinning row is the best for certain.
    assert!(finalists(all(), question(None, Some(3.0))).is_empty());
    let many = (0..9).map(|n| uncertain(&format!("row {n}"), 10_000 + n, 2000)).collect();
    assert_eq!(finalists(many, question(None, None)), ["row 0", "row 1", "row 2", "row 3"]);
}

/// After the final, rows that were not in it are faster for the moments in which they were measured.
#[test]
fn the_choice_is_a_finalist() {
    let mut result = rows();
    result.cases.push(row("faster", Wait::Block, 9_000, 0.5));
    let last = RoundRecord { number: 9, trial: 4, is_final: true, ..result.rounds[0].clone() };
    result.rounds.push(last);
    let chosen = |result: &RunResult| name(&advise(result, &question(None, None), |_| true).choice);
    assert_eq!(chosen(&result).as_deref(), Some("faster"));
    let fast = result.cases.iter_mut().find(|case| case.identity.transport == "fast");
    let Outcome::Ok { measurement } = &mut fast.unwrap().outcome else { panic!("it was measured") };
    measurement.trials_mut()[2].round = 9;
    assert_eq!(chosen(&result).as_deref(), Some("fast"));
    // Unless it does not meet the conditions.
    let advice = advise(&result, &question(Some(10_500.0), None), |_| true);
    assert_ne!(name(&advice.choice).as_deref(), Some("fast"), "its p99 is 11 µs");
}

#[test]
fn a_row_just_beyond_a_limit_is_a_finalist() {
    // Cheap has a p99 of 22 µs, fast one of 11 µs and a higher cost.
    assert_eq!(finalists(rows().cases, question(Some(21_000.0), None)), ["fast", "cheap"]);
    assert!(finalists(rows().cases, question(Some(15_000.0), None)).is_empty(), "far beyond");
    // None meets the limit of 9.5 µs but the spinning row, or none at all.
    assert_eq!(finalists(rows().cases, question(Some(9_500.0), None)), ["spinner", "fast"]);
    assert_eq!(finalists(rows().cases, question(Some(9_500.0), Some(1.0))), ["fast"]);
    assert!(finalists(rows().cases, question(Some(50.0), Some(1.0))).is_empty(), "none is near");
    let mut late = row("late", Wait::Block, 10_000, 0.1);
    fall_behind(&mut late);
    assert!(finalists(vec![late], question(None, None)).is_empty(), "it does not keep up");
}

#[test]
fn of_rows_within_the_cpu_limit_the_fastest_comes_first() {
    let found = answer(None, Some(0.3));
    assert_eq!(found, [vec!["cheap"], vec!["slow"], vec![], vec!["fast", "spinner"]]);
    let found = answer(Some(50_000.0), Some(0.3));
    assert_eq!(found, [vec!["cheap"], vec![], vec![], vec!["fast", "slow", "spinner"]]);
    // A user with enough cores states a limit.
    assert_eq!(answer(None, Some(2.5))[0], ["spinner"]);
}

#[test]
fn a_p99_that_the_samples_do_not_carry_meets_no_limit() {
    let few = |number| trial(number, &[10, 11, 12]);
    let mut case = row("few", Wait::Block, 10, 0.1);
    case.outcome = measured((1..=3).map(few).collect());
    let result = run(vec![case]);
    let advice = advise(&result, &question(Some(1e9), None), |_| true);
    assert!(advice.choice.is_none());
    assert_eq!(advice.short[0].shortfalls, [Shortfall::TooFewSamples]);
}

#[test]
fn a_row_that_does_not_keep_up_is_no_answer() {
    let mut case = row("late", Wait::Block, 10, 0.1);
    fall_behind(&mut case);
    let result = run(vec![case]);
    let advice = advise(&result, &question(None, None), |_| true);
    assert_eq!(advice.short[0].shortfalls, [Shortfall::Slow { sent_per_second: 700.0 }]);
}

/// Makes a row send only seven of ten messages in time.
fn fall_behind(case: &mut Case) {
    let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was measured") };
    for trial in measurement.trials_mut() {
        let times = trial.times_ns.clone();
        trial.offered = Some(Offered {
            intended: 1000,
            sent: 700,
            received: Some(700),
            late: 500,
            elapsed_ns: 1_000_000_000,
            service_ns: times.clone(),
            delay_ns: times,
        });
    }
}

#[test]
fn rows_of_another_kind_and_those_that_are_not_wanted_do_not_count() {
    let result = rows();
    let other = AdviceQuestion { payload: 128, ..question(None, None) };
    let advice = advise(&result, &other, |_| true);
    assert!(advice.choice.is_none() && advice.short.is_empty());
    let advice =
        advise(&result, &question(None, None), |row| row.case.identity.transport != "fast");
    assert_eq!(name(&advice.choice).as_deref(), Some("cheap"));
}
