//! One line a case with every figure, in the units of the result file, for a spreadsheet or a
//! program. Quoted as RFC 4180 says; columns are only ever added at the right.

use csv::{Terminator, Writer, WriterBuilder};
use ipcmark_results::{Case, Figures, RunResult};

use crate::plain::plain;

/// What every case has.
const CASE: [&str; 13] = [
    "transport",
    "family",
    "library_version",
    "pattern",
    "payload_bytes",
    "wait",
    "touch",
    "span",
    "subscribers",
    "trial",
    "options",
    "status",
    "reason",
];

/// What a measured case has.
const FIGURES: [&str; 31] = [
    "round_trips",
    "round_trip_ns_mean",
    "round_trip_ns_stdev",
    "round_trip_ns_min",
    "round_trip_ns_p50",
    "round_trip_ns_p90",
    "round_trip_ns_p99",
    "round_trip_ns_p99_9",
    "round_trip_ns_p99_99",
    "round_trip_ns_max",
    "round_trip_ns_bulk_mean",
    "messages_per_second",
    "bytes_per_second",
    "lost",
    "lost_wait_ns",
    "cpu_ns_per_message_leader",
    "cpu_ns_per_message_follower",
    "context_switches_leader_voluntary",
    "context_switches_leader_involuntary",
    "context_switches_follower_voluntary",
    "context_switches_follower_involuntary",
    "peak_memory_bytes_leader",
    "peak_memory_bytes_follower",
    "setup_ns",
    "placement_leader_cpu",
    "placement_follower_cpus",
    "floor_round_trip_ns",
    "path_carrier",
    "path_declared",
    "path_loopback_bytes_per_message",
    "path_shared_bytes",
];

/// What came later stands at the right.
const LAST: &str = "silent_subscribers";

/// All cases of a result.
pub fn render(result: &RunResult) -> String {
    let result = result.settled();
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    write(&mut writer, CASE.iter().chain(&FIGURES).chain([&LAST]).map(ToString::to_string));
    for case in &result.cases {
        let figures = case.figures.as_ref().map_or_else(|| FIGURES.map(|_| String::new()), figures);
        let last = [case.silent_subscribers.to_string()];
        write(&mut writer, head(case).into_iter().chain(figures).chain(last));
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every field is text")
}

fn write(writer: &mut Writer<Vec<u8>>, record: impl Iterator<Item = String>) {
    writer.write_record(record).expect("memory takes every byte, and lines are of one length");
}

fn head(case: &Case) -> [String; CASE.len()] {
    let options: Vec<String> =
        case.options.iter().map(|(option, value)| format!("{option}={value}")).collect();
    [
        text(&case.transport),
        text(&case.family),
        text(case.library_version.as_deref().unwrap_or_default()),
        text(&case.pattern),
        case.payload_bytes.to_string(),
        text(&case.wait),
        text(&case.touch),
        text(&case.span),
        case.subscribers.to_string(),
        case.trial.to_string(),
        text(&options.join(" ")),
        case.status.to_string(),
        text(case.reason.as_deref().unwrap_or_default()),
    ]
}

fn figures(figures: &Figures) -> [String; FIGURES.len()] {
    let times = &figures.round_trip_ns;
    let cpu = &figures.cpu_ns_per_message;
    let (leader, follower) = (&figures.context_switches.leader, &figures.context_switches.follower);
    let (place, path) = (&figures.placement, &figures.path);
    let cpus: Vec<String> = place.follower_cpus.iter().map(ToString::to_string).collect();
    [
        figures.round_trips.to_string(),
        times.mean.to_string(),
        times.stdev.to_string(),
        times.min.to_string(),
        times.p50.to_string(),
        times.p90.to_string(),
        times.p99.to_string(),
        times.p99_9.to_string(),
        times.p99_99.to_string(),
        times.max.to_string(),
        times.bulk_mean.to_string(),
        figures.messages_per_second.to_string(),
        figures.bytes_per_second.to_string(),
        figures.lost.to_string(),
        figures.lost_wait_ns.to_string(),
        cpu.leader.to_string(),
        cpu.follower.to_string(),
        leader.voluntary.to_string(),
        leader.involuntary.to_string(),
        follower.voluntary.to_string(),
        follower.involuntary.to_string(),
        figures.peak_memory_bytes.leader.to_string(),
        figures.peak_memory_bytes.follower.to_string(),
        figures.setup_ns.to_string(),
        place.leader_cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
        cpus.join(" "),
        figures.floor_round_trip_ns.to_string(),
        text(&path.carrier),
        text(path.declared.as_deref().unwrap_or_default()),
        path.loopback_bytes_per_message.to_string(),
        path.shared_bytes.to_string(),
    ]
}

/// A text on one line that neither a terminal obeys nor a spreadsheet takes for a formula: one that
/// begins like a formula gets an apostrophe before it.
fn text(text: &str) -> String {
    let text = plain(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}
