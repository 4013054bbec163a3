//! The parts of a message's time.

use ipcmark_results::*;

use crate::sample::{case, measured, placed, run, trial};

const CHARGES: UnitCosts = UnitCosts { call_ns: 100.0, copy_ns: 10.0 };

/// Nothing was counted.
const NONE: CountedTrials<'_> = CountedTrials { calls: None, work: None };

fn of_calls(trial: &Trial) -> CountedTrials<'_> {
    CountedTrials { calls: Some(trial), work: None }
}

/// A row whose round trips take 2000 ns: 1.5 times a bare hand-over if it sleeps.
fn row(wait: Wait, sleeps: u64) -> Case {
    let trial = placed(trial(1, &[2000; 100]), 2000.0, 4000.0);
    let mut case = case("pipe", &[]);
    case.identity.wait = wait;
    let mut trials = vec![trial];
    trials[0].session.processes[0].context_switches.voluntary = sleeps;
    case.outcome = measured(trials);
    case
}

/// The trial of a pass in which each end made these calls for its 100 messages.
fn counted(calls: &[(&str, u64, u64, u64)]) -> Trial {
    let mut trial = trial(1, &[9000; 100]);
    for process in &mut trial.session.processes {
        let record = |(name, made, failed, bytes): &(&str, u64, u64, u64)| CallRecord {
            name: (*name).into(),
            made: *made,
            failed: *failed,
            bytes: *bytes,
        };
        process.calls = Some(calls.iter().map(record).collect());
    }
    trial
}

fn parts(explanation: &Explanation) -> Vec<(PartKind, f64, f64)> {
    explanation.parts.iter().map(|part| (part.kind, part.count, part.each_ns)).collect()
}

#[test]
fn a_sleeping_row_is_a_wake_up_its_copies_and_the_rest() {
    let case = row(Wait::Block, 200);
    let row = Row::of(&case, Some(0)).unwrap();
    let trial = counted(&[("write", 100, 0, 6400), ("read", 110, 10, 6400), ("mmap", 3, 0, 0)]);
    let explanation = explain(row, of_calls(&trial), CHARGES).unwrap();
    assert_eq!(explanation.hop.value, 1000.0);
    // 1000 ns are 1.5 hand-overs, whose cost includes two calls.
    let hand_over = 1000.0 / 1.5;
    assert_eq!(
        parts(&explanation),
        [
            (PartKind::WakeUp, 1.0, hand_over),
            (PartKind::Payload, 1.0, 20.0),
            (PartKind::Copies, 2.0, 10.0)
        ]
    );
    assert!((explanation.rest_ns() - (1000.0 - hand_over - 40.0)).abs() < 1e-9);
    assert_eq!(explanation.further_sleeps, 0.0);
    let read = &explanation.sides[1].calls[0];
    assert_eq!((read.done, read.failed, read.bytes), (1.0, 0.1, 64.0));
    assert!(
        explanation.sides[0].calls.iter().all(|call| call.name != "mmap"),
        "once is no message"
    );
}

/// Regression: both ends in one process had half of their calls and copies.
#[test]
fn one_process_with_both_ends_makes_the_calls_of_both() {
    let case = row(Wait::Spin, 0);
    let of_each = counted(&[("write", 100, 0, 6400), ("read", 100, 0, 6400)]);
    let mut of_both = counted(&[("write", 200, 0, 12800), ("read", 200, 0, 12800)]);
    let other = of_both.session.processes.pop().expect("there are two");
    of_both.session.processes[0].ends.extend(other.ends);
    let row = Row::of(&case, Some(0)).unwrap();
    let parts_of = |trial: &Trial| parts(&explain(row, of_calls(trial), CHARGES).unwrap());
    assert!(parts_of(&of_each).contains(&(PartKind::Calls, 2.0, 100.0)));
    assert_eq!(parts_of(&of_both), parts_of(&of_each));
}

#[test]
fn the_largest_counts_of_sleeps_do_not_overflow() {
    let mut case = row(Wait::Block, 0);
    let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was not measured") };
    for process in &mut measurement.trials_mut()[0].session.processes {
        process.context_switches.voluntary = u64::MAX;
    }
    let explanation = explain(Row::of(&case, Some(0)).unwrap(), NONE, CHARGES).unwrap();
    assert!(explanation.further_sleeps > 1e15, "{}", explanation.further_sleeps);
}

#[test]
fn a_row_without_a_block_at_the_distance_is_explained_all_the_same() {
    let case = row(Wait::Block, 200);
    let explanation = explain(Row::of(&case, Some(7)).unwrap(), NONE, CHARGES).unwrap();
    assert_eq!(explanation.row.distance, None);
    assert!(explanation.parts.iter().all(|part| part.kind != PartKind::Line));
}

/// Half of the messages came before a processor had gone idle. Once each was charged a whole hand-over, so that the rest
/// of `varlink` was a quarter of its time below 0.
#[test]
fn a_thread_whose_processor_is_not_idle_is_in_the_rest() {
    let mut case = row(Wait::Block, 200);
    let Outcome::Ok { measurement } = &mut case.outcome else { panic!("it was not measured") };
    for process in &mut measurement.trials_mut()[0].session.processes {
        process.ends[0].thread.sleeps = 100;
        process.ends[0].thread.idles = Some(50);
    }
    let result = run(vec![case]);
    let row = Row { rounds: &result.rounds, ..Row::of(&result.cases[0], Some(0)).unwrap() };
    let explanation = explain(row, NONE, CHARGES).unwrap();
    assert_eq!((explanation.further_sleeps, explanation.parts[0].count), (0.5, 0.5));
}

#[test]
fn further_threads_that_sleep_are_in_the_rest() {
    let case = row(Wait::Block, 700);
    let explanation = explain(Row::of(&case, Some(0)).unwrap(), NONE, CHARGES).unwrap();
    assert_eq!((explanation.further_sleeps, explanation.parts[0].count), (2.5, 1.0));
    assert!(explanation.sides.is_empty() && explanation.rest_ns() > 0.0);
}

#[test]
fn a_spinning_row_is_a_line_and_its_payload_beside_a_bare_buffer() {
    let case = row(Wait::Spin, 0);
    let trial = counted(&[]);
    let explanation = explain(Row::of(&case, Some(0)).unwrap(), of_calls(&trial), CHARGES);
    let explanation = explanation.unwrap();
    // A line takes 1/20 of the hop at this distance, a bare buffer 1/10.
    assert_eq!(parts(&explanation), [(PartKind::Line, 1.0, 50.0), (PartKind::Payload, 1.0, 50.0)]);
    assert_eq!(explanation.rest_ns(), 900.0);
}

#[test]
fn instructions_and_cycles_are_those_of_a_message() {
    let case = row(Wait::Block, 200);
    let mut trial = trial(1, &[9000; 100]);
    let (instructions, cycles, with_kernel) = (300_000, 200_000, false);
    trial.session.processes[0].processor =
        Some(ProcessorRecord { instructions, cycles, with_kernel });
    let counted = CountedTrials { calls: None, work: Some(&trial) };
    let explanation = explain(Row::of(&case, Some(0)).unwrap(), counted, CHARGES).unwrap();
    let [work] = &explanation.work[..] else { panic!("one end was counted: {explanation:?}") };
    assert_eq!((work.instructions, work.cycles, work.with_kernel), (3000.0, 2000.0, false));
    assert_eq!(work.instructions_per_cycle(), Some(1.5));
    let idle = SideWork { cycles: 0.0, ..work.clone() };
    assert_eq!(idle.instructions_per_cycle(), None);
}
