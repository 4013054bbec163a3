//! Results as users of other benchmarks know them: one file a style. Each shows what that tool's
//! figures meant, taken from ours, and a case that was not measured or lost something is said to be
//! so in a line of its own.

mod fastdds;
mod iceperf;
mod ipc_bench;
mod ipc_performance;

use std::collections::BTreeMap;

use ipcmark_results::{Case, Figures, RunResult, Status};

use crate::{caveats::caveats, plain::plain, remarks, rows};

pub use self::{
    fastdds::render as fastdds, iceperf::render as iceperf, ipc_bench::render as ipc_bench,
    ipc_performance::render as ipc_performance,
};

/// Patterns whose figures are round trips, which is what all four tools measure.
const PATTERNS: &[&str] = &["latency", "fan-out"];

/// Why a case has no figures in a style.
struct Absence {
    /// One word or two for a cell.
    word: &'static str,
    /// The sentence, which begins with that word.
    sentence: String,
}

/// The figures of a case, or why there are none to show.
fn figures(case: &Case) -> Result<&Figures, Absence> {
    let absence = |word, reason: &str| Absence { word, sentence: format!("{word}: {reason}") };
    match (&case.figures, case.status) {
        (Some(figures), Status::Ok) if PATTERNS.contains(&case.pattern.as_str()) => Ok(figures),
        (Some(_), Status::Ok) => Err(absence(
            "not shown",
            &format!("the pattern {} measures no round trips", plain(&case.pattern)),
        )),
        (_, status) => {
            let reason = plain(case.reason.as_deref().unwrap_or_default());
            let reason = if reason.is_empty() { "no reason was given" } else { &reason };
            Err(absence(status.as_str(), reason))
        }
    }
}

/// What must be said of these cases, each sentence once, behind the names of those that it is about.
fn remarks(cases: &[&Case], name: impl Fn(&Case) -> String) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for case in cases {
        let sentences =
            figures(case).map_or_else(|absence| vec![absence.sentence], |_| caveats(&[case]));
        for sentence in sentences {
            let name = name(case);
            match said.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, names)) => names.push(name),
                None => said.push((sentence, vec![name])),
            }
        }
    }
    said.into_iter().map(|(sentence, names)| format!("{}: {sentence}", names.join(", "))).collect()
}

/// The cases that differ in their payloads only, smallest first.
type Section<'a> = Vec<&'a Case>;

/// All cases, in sections ordered by `rank` and then by name.
fn sections(result: &RunResult, rank: fn(&str) -> usize) -> Vec<Section<'_>> {
    let mut found: BTreeMap<_, Section> = BTreeMap::new();
    for case in &result.cases {
        let key = (rank(&case.transport), &case.transport, &case.options, manner(case));
        found.entry(key).or_default().push(case);
    }
    let mut sections: Vec<Section> = found.into_values().collect();
    for section in &mut sections {
        section.sort_by_key(|case| case.payload_bytes);
    }
    sections
}

/// How a case was measured, as far as the transport and the payload do not say.
fn manner(case: &Case) -> (&str, &str, (u32, u32), &str, &str, u32) {
    let followers = (case.subscribers, case.silent_subscribers);
    (&case.pattern, &case.span, followers, &case.touch, &case.wait, case.trial)
}

/// A case in words: `pipe, wait spin, touch head`.
fn subject(result: &RunResult, case: &Case) -> String {
    format!("{}, {}{}", rows::transport_of(case), setting(case), trial(result, case))
}

/// How the ends wait, what they touch, and what is out of the ordinary.
fn setting(case: &Case) -> String {
    let mut parts = vec![format!("wait {}", case.wait), format!("touch {}", case.touch)];
    if case.subscribers > 1 {
        parts.push(rows::followers(case.subscribers, case.silent_subscribers));
    }
    match case.span.as_str() {
        "process" => {}
        "thread" => parts.push("one process".into()),
        "none" => parts.push("no hop: the harness itself".into()),
        other => parts.push(other.into()),
    }
    plain(&parts.join(", "))
}

/// The number of the trial, where there are several.
fn trial(result: &RunResult, case: &Case) -> String {
    let is_repeated = result.cases.iter().any(|case| case.trial > 1);
    if is_repeated { format!(", trial {}", case.trial) } else { String::new() }
}

/// What to know of the whole result, a line each behind `mark`; nothing where there is nothing.
fn notes(result: &RunResult, mark: &str) -> String {
    let notes = result.notes.iter().map(|note| plain(note));
    let lines = remarks::incomplete(result).into_iter().chain(notes);
    let text: String = lines.map(|line| format!("{mark}{line}\n")).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Half of a round trip in µs.
fn half_us(round_trip_ns: f64) -> f64 {
    round_trip_ns / 2e3
}

/// Round trips a second over the sampled pass.
fn round_trips_per_second(case: &Case, figures: &Figures) -> f64 {
    figures.messages_per_second / rows::messages_per_round_trip(&[case])
}
