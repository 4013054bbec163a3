//! Counts of passes of their own, as a row shows them.

use crate::sample::{identity, measured, trial};
use ipcmark_results::*;

/// The measurement of a pass in which each process made these calls and took these instructions.
fn pass(calls: &[(&str, u64, u64)], instructions: Option<u64>) -> Measurement {
    let mut trial = trial(1, &[1_000; 500]);
    let calls = calls.iter().map(|(name, made, failed)| CallRecord {
        name: name.to_string(),
        made: *made,
        failed: *failed,
        bytes: 0,
    });
    let calls: Vec<CallRecord> = calls.collect();
    for process in &mut trial.session.processes {
        process.calls = (!calls.is_empty()).then(|| calls.clone());
        process.processor = instructions.map(|instructions| ProcessorRecord {
            instructions,
            cycles: 2 * instructions,
            with_kernel: true,
        });
    }
    let Outcome::Ok { measurement } = measured(vec![trial]) else { panic!("it was measured") };
    measurement
}

fn counted(passes: &[(CountKind, Measurement)]) -> Case {
    let mut outcome = measured(vec![trial(1, &[1_000])]);
    let Outcome::Ok { measurement } = &mut outcome else { panic!("it was measured") };
    for (kind, pass) in passes {
        measurement.take_counts(*kind, pass);
    }
    Case { identity: identity("pipe"), outcome }
}

#[test]
fn counts_are_those_of_all_processes_per_message() {
    // 500 round trips are 1,000 messages. 90 calls are of the harness: 100 would be one in ten messages.
    let calls = pass(&[("write", 500, 0), ("read", 2_500, 2_000), ("poll", 90, 0)], None);
    let case =
        counted(&[(CountKind::Calls, calls), (CountKind::Processor, pass(&[], Some(4_000)))]);
    let row = Row::of(&case, None).unwrap();
    assert_eq!(row.calls_per_message(), Some(2.0));
    assert_eq!(row.instructions_per_message(), Some(8.0));
    assert_eq!(row.cycles_per_message(), Some(16.0));
}

#[test]
fn what_was_not_counted_is_absent() {
    let case = counted(&[]);
    assert_eq!(case.measurement().unwrap().counted(), None);
    let row = Row::of(&case, None).unwrap();
    assert_eq!((row.calls_per_message(), row.instructions_per_message()), (None, None));
    // A pass of which one process was not counted would show too little.
    let mut partly = pass(&[("write", 500, 0)], None);
    partly.trials_mut()[0].session.processes[1].calls = None;
    assert_eq!(counted(&[(CountKind::Calls, partly)]).measurement().unwrap().counted(), None);
}

#[test]
fn calls_of_a_short_pass_are_all_counted() {
    // A transport of 1 ms a message makes 100 of them in a pass.
    let mut slow = pass(&[("write", 50, 0)], None);
    slow.trials_mut()[0].session.messages = 100;
    let case = counted(&[(CountKind::Calls, slow)]);
    assert_eq!(Row::of(&case, None).unwrap().calls_per_message(), Some(1.0));
}

#[test]
fn counts_survive_further_trials_and_their_file() {
    let mut result = crate::sample::run(vec![]);
    result.cases = vec![counted(&[(CountKind::Processor, pass(&[], Some(7)))])];
    result.record(identity("pipe"), measured(vec![trial(2, &[1_000])]));
    let read = parse(to_json(&result).as_bytes()).unwrap();
    let kept = read.cases[0].measurement().unwrap().counted().unwrap();
    assert!(kept.calls.is_none());
    assert_eq!(kept.processor.as_ref().unwrap().processes[1].processor.unwrap().cycles, 14);
}
