//! The gaps of an explanation, with the reasons.

use ipcmark_results::{Case, ProcessRecord, RunResult, Trial};
use ipcmark_transport::Error;

/// The trial of a case that has one.
pub(super) fn only(case: &Case) -> Option<&Trial> {
    case.trials().first()
}

/// The rows that could not be measured or counted, with the reasons.
pub(super) fn failures(timed: &RunResult, called: &RunResult) -> Vec<String> {
    let not_measured = reasons(timed, "could not be measured");
    if !not_measured.is_empty() {
        return not_measured;
    }
    let mut failures = reasons(called, "could not be counted");
    let ended = "could not be counted: the process that counts ended before it";
    failures.extend(missed(called, misses_calls, ended));
    failures
}

/// Why there are no instructions and cycles: in a line where this machine counts none at all.
pub(super) fn remarks(available: Result<(), Error>, worked: Option<&RunResult>) -> Vec<String> {
    if let Err(error) = available {
        return vec![format!("Instructions and cycles are left out: {error}")];
    }
    let Some(worked) = worked else { return Vec::new() };
    let mut remarks = reasons(worked, "has no instructions and cycles");
    let lent = "has no instructions and cycles: another program used the processor's counters for a part of the time";
    remarks.extend(missed(worked, misses_cycles, lent));
    remarks
}

/// Why cases were not measured.
fn reasons(result: &RunResult, what: &str) -> Vec<String> {
    let cases = result.cases.iter();
    cases.filter_map(|case| Some(format!("{} {what}: {}", name(case), case.reason()?))).collect()
}

/// A note for each case whose trial lacks a count.
fn missed(result: &RunResult, misses: fn(&Trial) -> bool, what: &str) -> Vec<String> {
    let missed = result.cases.iter().filter(|case| only(case).is_some_and(misses));
    missed.map(|case| format!("{} {what}", name(case))).collect()
}

fn name(case: &Case) -> String {
    format!("{} · {}", case.identity.transport, case.identity.wait)
}

/// True if the calls of an end are missing.
pub(super) fn misses_calls(trial: &Trial) -> bool {
    ends(trial).any(|process| process.calls.is_none())
}

/// True if the instructions and cycles of an end are missing.
pub(super) fn misses_cycles(trial: &Trial) -> bool {
    ends(trial).any(|process| process.processor.is_none())
}

/// The processes that serve ends.
fn ends(trial: &Trial) -> impl Iterator<Item = &ProcessRecord> {
    trial.session.processes.iter().filter(|process| !process.ends.is_empty())
}
