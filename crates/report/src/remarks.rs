//! What is said around the tables: the head, the cases that were not measured, the legend.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{Case, RunResult, Status};

use crate::{
    plain::plain,
    units::{count, duration, size},
};

/// What the columns mean.
pub const LEGEND: &str = "½ round trip: there and back, divided by two; no clock was compared \
between processes. CPU/msg: CPU time of both processes a message, in the unit of the group. \
× floor: p50 against the floor right before it.";

/// The first line: the program, and how much of the plan the result holds.
pub fn heading(result: &RunResult) -> String {
    let measured = result.cases.iter().filter(|case| case.status == Status::Ok).count();
    let cases = count(measured as u64);
    let planned = count(result.planned_cases);
    format!("ipcmark {} · {cases} of {planned} cases measured", plain(&result.run.version))
}

/// What is wrong with a result that does not hold the whole plan.
pub fn incomplete(result: &RunResult) -> Option<String> {
    let left = result.planned_cases.saturating_sub(result.cases.len() as u64);
    let sentence = format!("incomplete: {} of the cases were not reached", count(left));
    (!result.complete).then_some(sentence)
}

/// The machine and the two figures that all others stand on, each with its name.
pub fn facts(result: &RunResult) -> Vec<(&'static str, String)> {
    let place = &result.environment;
    let mut facts = vec![
        ("cpu", cpu(result)),
        ("kernel", joined(&[&place.kernel, &place.os])),
        ("hypervisor", plain(&place.hypervisor)),
        ("placement", plain(&place.placement)),
        ("floor", floor(result)),
        ("clock", clock(result)),
    ];
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

fn cpu(result: &RunResult) -> String {
    let place = &result.environment;
    let (cpus, cores) = (place.cpus_usable, place.cores_usable);
    let usable = format!("{cpus} CPUs on {cores} cores usable");
    let governor = place.governor.as_ref().map(|name| format!("governor {name}"));
    joined(&[&place.cpu_model, &usable, governor.as_deref().unwrap_or_default()])
}

fn floor(result: &RunResult) -> String {
    let Some(floor) = &result.floor else { return "not measured".into() };
    let [whole, half, lowest, highest] =
        [floor.round_trip_ns, floor.round_trip_ns / 2.0, floor.lowest_ns, floor.highest_ns]
            .map(duration);
    format!("{whole} a round trip ({lowest} to {highest} over the run), half {half}")
}

fn clock(result: &RunResult) -> String {
    let clock = &result.clock;
    let (cost, step) = (duration(clock.read_ns), clock.step_ns);
    format!("{}, {cost} a reading, in steps of {step} ns", plain(&clock.source))
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<String> =
        parts.iter().map(|part| plain(part)).filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// One status that is not `ok`, and what has it.
pub struct Unmeasured {
    /// `failed`, `unsupported` or `unavailable`.
    pub status: &'static str,
    /// One line a reason: `fifo · block: the leader was killed by signal 9`.
    pub lines: Vec<String>,
}

/// The cases that were not measured. Cases with the same reason share a line, which names the
/// payloads, touches, waits and trials only where others of the transport ended otherwise.
pub fn unmeasured(cases: &[Case]) -> Vec<Unmeasured> {
    let kinds = [
        ("failed", Status::Failed),
        ("unsupported", Status::Unsupported),
        ("unavailable", Status::Unavailable),
    ];
    kinds
        .into_iter()
        .map(|(word, status)| Unmeasured { status: word, lines: lines(cases, status) })
        .filter(|unmeasured| !unmeasured.lines.is_empty())
        .collect()
}

fn lines(cases: &[Case], status: Status) -> Vec<String> {
    let mut by_transport: BTreeMap<(&str, String), Vec<&Case>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.status == status) {
        let reason = plain(case.reason.as_deref().unwrap_or("no reason was given"));
        by_transport.entry((&case.transport, reason)).or_default().push(case);
    }
    let mut by_reason: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for ((transport, reason), these) in by_transport {
        let where_to = extent(cases, transport, &these);
        by_reason.entry((where_to, reason)).or_default().push(plain(transport));
    }
    let line = |((extent, reason), names): (_, Vec<String>)| {
        format!("{}{extent}: {reason}", names.join(", "))
    };
    let mut lines: Vec<String> = by_reason.into_iter().map(line).collect();
    lines.sort();
    lines
}

/// Which cases of a transport these are, as far as it has others: ` · 64 B, 4 KiB · spin`.
fn extent(cases: &[Case], transport: &str, these: &[&Case]) -> String {
    let all: Vec<&Case> = cases.iter().filter(|case| case.transport == transport).collect();
    [
        part(&all, these, |case| (case.payload_bytes, payload(case))),
        part(&all, these, |case| (0, plain(&case.wait))),
        part(&all, these, |case| (case.trial.into(), format!("trial {}", case.trial))),
    ]
    .concat()
}

fn payload(case: &Case) -> String {
    let size = size(case.payload_bytes);
    if case.touch == "head" { size } else { format!("{size} touch {}", plain(&case.touch)) }
}

/// The values that these cases have of a property, unless they are all there are.
fn part(all: &[&Case], these: &[&Case], value: fn(&Case) -> (u64, String)) -> String {
    let values = |cases: &[&Case]| cases.iter().map(|case| value(case)).collect::<BTreeSet<_>>();
    let here = values(these);
    if here == values(all) {
        return String::new();
    }
    let words: Vec<String> = here.into_iter().map(|(_, word)| word).collect();
    format!(" · {}", words.join(", "))
}
