//! `--count`: system calls, instructions and cycles of the measured rows, in passes of their own after the trials.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_engine::{Counting, Length, Plan, PlannedRow, Registry, Trials};
use ipcmark_machine::counters;
use ipcmark_results::{Case, CountKind, Outcome, RunResult, Status};

use super::{RunRequest, recorder::ResultRecorder, recorder::planned};
use crate::{arguments::run::RunArguments, interrupts::Interrupts};

/// The time of a pass for each row. A traced call takes tens of microseconds.
const LENGTH: Duration = Duration::from_millis(100);

/// Counts for each measured row, and notes which rows have no count, and why. What was measured stays as it is.
/// False if the system calls of a row could not be counted.
pub(super) fn count(
    arguments: &RunArguments,
    registry: &Registry,
    interrupts: &Interrupts,
    result: &mut RunResult,
) -> bool {
    let has_counters = counters::check().map_err(|error| error.to_string());
    let mut count = |kind, possible: Result<(), String>| match possible
        .and_then(|()| pass(kind, arguments, registry, interrupts, result))
    {
        Ok(pass) => take(kind, &pass, result),
        Err(cause) => {
            result.notes.push(format!("{} were not counted: {cause}", what(kind)));
            false
        }
    };
    let has_calls = count(CountKind::Calls, Ok(()));
    // Many machines have no counters for them.
    count(CountKind::Processor, has_counters);
    has_calls
}

fn what(kind: CountKind) -> &'static str {
    match kind {
        CountKind::Calls => "System calls",
        CountKind::Processor => "Instructions and cycles",
    }
}

/// The pass that counts, of the rows that `result` has measured.
fn pass(
    kind: CountKind,
    arguments: &RunArguments,
    registry: &Registry,
    interrupts: &Interrupts,
    result: &RunResult,
) -> Result<RunResult, String> {
    let mut request = RunRequest::new(arguments, registry)?;
    let (trials, length) = (Trials::Fixed(1), Some(Length::Time(LENGTH)));
    (request.plan.trials, request.plan.length) = (trials, length);
    request.options.counting = match kind {
        CountKind::Calls => Counting::Calls,
        CountKind::Processor => Counting::Cycles,
    };
    let mut plan = Plan::new(registry, &request.plan);
    leave_out_unmeasured(&mut plan, registry, result);
    let recorder = ResultRecorder::new(None);
    let pass = planned(&plan, &request.options, registry, interrupts, recorder);
    pass.map_err(|error| error.to_string())
}

/// Rows that could not be measured are not tried again.
fn leave_out_unmeasured(plan: &mut Plan, registry: &Registry, result: &RunResult) {
    let Plan { rows, sessions, .. } = plan;
    let is_measured = |row: &PlannedRow| {
        let (session, slot) = (&sessions[row.session], &row.slot);
        let name = registry[session.transport].definition().name.as_ref();
        let fits = |case: &&Case| {
            let identity = &case.identity;
            let own = (identity.pattern, identity.payload_bytes as usize, identity.touch);
            identity.transport == name
                && identity.wait == session.wait
                && own == (slot.pattern, slot.payload, slot.touch)
        };
        result.cases.iter().find(fits).is_some_and(|case| case.status() == Status::Ok)
    };
    for row in rows {
        if !is_measured(row) {
            row.verdict.get_or_insert(Outcome::Failed { reason: "it was not measured".into() });
        }
    }
}

/// Takes over the counts of a pass; notes the rows without, by their reasons. False if there are any.
fn take(kind: CountKind, pass: &RunResult, result: &mut RunResult) -> bool {
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in &mut result.cases {
        let name = format!("{} · {}", case.identity.transport, case.identity.wait);
        let Outcome::Ok { measurement } = &mut case.outcome else { continue };
        let counted = pass.case(&case.identity);
        let of_pass = counted.and_then(Case::measurement);
        if of_pass.is_some_and(|of_pass| measurement.take_counts(kind, of_pass)) {
            continue;
        }
        let reason = counted
            .map_or("the run was interrupted", |counted| counted.reason().unwrap_or(lost(kind)));
        let names = missed.entry(reason.into()).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let has_all = missed.is_empty();
    let note = |(reason, names): (String, Vec<String>)| {
        format!("{} of {} were not counted: {reason}", what(kind), names.join(", "))
    };
    result.notes.extend(missed.into_iter().map(note));
    has_all
}

/// Why a row that was measured in the pass has no count.
fn lost(kind: CountKind) -> &'static str {
    match kind {
        CountKind::Calls => "the process that counts ended before the row did",
        CountKind::Processor => {
            "another program used the processor's counters for a part of the time"
        }
    }
}
