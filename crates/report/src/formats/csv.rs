//! One line a trial with every figure, in the units of the result file, for a spreadsheet or a program; a case that was
//! not measured has one line. Quoted according to RFC 4180.

use csv::{Terminator, WriterBuilder};
use ipcmark_results::{
    Between, Case, Counted, Measurement, Offered, OneWayParts, PlacementPolicy, ProcessRecord,
    Role, RunResult, StreamParts, Trial,
};

use crate::{
    entries::{Entry, entries},
    format::Format,
    plain::plain,
};

/// A column: its name, and its cell for one `T`.
type CsvColumn<T> = (&'static str, fn(&T) -> String);

/// The columns of every case.
const CASE: &[CsvColumn<Case>] = &[
    ("transport", |case| text(&case.identity.transport)),
    ("family", |case| text(&case.identity.family)),
    ("library_version", |case| optional(case.identity.library_version.as_ref())),
    ("pattern", |case| case.identity.pattern.to_string()),
    ("payload_bytes", |case| case.identity.payload_bytes.to_string()),
    ("wait", |case| case.identity.wait.to_string()),
    ("touch", |case| case.identity.touch.to_string()),
    ("load", |case| case.identity.load.to_string()),
    ("span", |case| case.identity.span.to_string()),
    ("subscribers", |case| case.identity.subscribers.to_string()),
    ("silent_subscribers", |case| case.identity.silent_subscribers.to_string()),
    ("pairs", |case| case.identity.pairs.to_string()),
    ("between_leader_rank", |case| end(case, |between| between.leader.rank.to_string())),
    ("between_leader_host", |case| end(case, |between| text(&between.leader.host))),
    ("between_follower_rank", |case| end(case, |between| between.follower.rank.to_string())),
    ("between_follower_host", |case| end(case, |between| text(&between.follower.host))),
    ("options", options),
    ("placement", placement),
    ("status", |case| case.status().to_string()),
    ("reason", |case| optional(case.reason())),
    ("calls_per_message", |case| {
        counted(case, |counted| counted.calls.as_ref()?.calls_per_message())
    }),
    ("instructions_per_message", |case| {
        counted(case, |counted| counted.processor.as_ref()?.instructions_per_message())
    }),
    ("cycles_per_message", |case| {
        counted(case, |counted| counted.processor.as_ref()?.cycles_per_message())
    }),
];

/// The columns of a trial: their names are those of the result file, joined by `_`.
const TRIAL: &[CsvColumn<Trial>] = &[
    ("trial", |trial| trial.number.to_string()),
    ("times_ns_count", |trial| trial.times_ns.count.to_string()),
    ("times_ns_mean", |trial| trial.times_ns.mean.to_string()),
    ("times_ns_stdev", |trial| trial.times_ns.stdev.to_string()),
    ("times_ns_min", |trial| trial.times_ns.min.to_string()),
    ("times_ns_p50", |trial| trial.times_ns.p50.to_string()),
    ("times_ns_p90", |trial| trial.times_ns.p90.to_string()),
    ("times_ns_p99", |trial| trial.times_ns.p99.to_string()),
    ("times_ns_p99_9", |trial| trial.times_ns.p99_9.to_string()),
    ("times_ns_p99_99", |trial| trial.times_ns.p99_99.to_string()),
    ("times_ns_max", |trial| trial.times_ns.max.to_string()),
    ("clock_free_mean_ns", |trial| trial.clock_free_mean_ns.to_string()),
    ("elapsed_ns", |trial| trial.elapsed_ns.to_string()),
    ("offered_intended", |trial| offered(trial, |offered| offered.intended)),
    ("offered_sent", |trial| offered(trial, |offered| offered.sent)),
    ("offered_received", |trial| {
        optional(trial.offered.as_ref().and_then(|offered| offered.received))
    }),
    ("offered_late", |trial| offered(trial, |offered| offered.late)),
    ("offered_elapsed_ns", |trial| offered(trial, |offered| offered.elapsed_ns)),
    ("offered_service_ns_p50", |trial| offered(trial, |offered| offered.service_ns.p50)),
    ("offered_service_ns_p99", |trial| offered(trial, |offered| offered.service_ns.p99)),
    ("offered_delay_ns_p50", |trial| offered(trial, |offered| offered.delay_ns.p50)),
    ("offered_delay_ns_p99", |trial| offered(trial, |offered| offered.delay_ns.p99)),
    ("first_answer_ns_p50", |trial| {
        optional(trial.first_answer_ns.as_ref().map(|first| first.p50))
    }),
    ("first_answer_ns_p99", |trial| {
        optional(trial.first_answer_ns.as_ref().map(|first| first.p99))
    }),
    ("one_way_send_ns_p50", |trial| one_way(trial, |parts| Some(parts.send_ns.p50 as i64))),
    ("one_way_send_ns_p99", |trial| one_way(trial, |parts| Some(parts.send_ns.p99 as i64))),
    ("one_way_round_trip_ns_p50", |trial| {
        one_way(trial, |parts| Some(parts.round_trip_ns.as_ref()?.p50 as i64))
    }),
    ("one_way_round_trip_ns_p99", |trial| {
        one_way(trial, |parts| Some(parts.round_trip_ns.as_ref()?.p99 as i64))
    }),
    ("one_way_wake_up_ns_p50", |trial| {
        one_way(trial, |parts| Some(parts.wake_up_ns.as_ref()?.p50 as i64))
    }),
    ("one_way_wake_up_ns_p99", |trial| {
        one_way(trial, |parts| Some(parts.wake_up_ns.as_ref()?.p99 as i64))
    }),
    ("one_way_clock_offset_ns", |trial| {
        one_way(trial, |parts| Some(parts.clock_offset?.estimate_ns))
    }),
    ("one_way_clock_offset_least_ns", |trial| {
        one_way(trial, |parts| Some(parts.clock_offset?.least_ns))
    }),
    ("one_way_clock_offset_most_ns", |trial| {
        one_way(trial, |parts| Some(parts.clock_offset?.most_ns))
    }),
    ("stream_counted", |trial| stream(trial, |parts| Some(parts.counted))),
    ("stream_depth_p50", |trial| stream(trial, |parts| Some(parts.depth?.p50))),
    ("stream_depth_max", |trial| stream(trial, |parts| Some(parts.depth?.max))),
    ("stream_least_published", |trial| {
        optional(trial.stream.as_ref().and_then(|parts| parts.least_published))
    }),
    ("stream_all_pairs_per_second", |trial| {
        optional(trial.stream.as_ref().and_then(|parts| parts.all_pairs_per_second))
    }),
    ("lost_wait_ns", |trial| trial.lost_wait_ns.to_string()),
    ("setup_ns", |trial| trial.session.setup_ns.to_string()),
    ("first_round_trip_ns", |trial| optional(trial.session.first_round_trip_ns)),
    ("round", |trial| trial.round.to_string()),
    ("reference_multiple", |trial| optional(trial.reference_multiple)),
    ("turns_ns", |trial| trial.session.turns_ns.to_string()),
    ("messages", |trial| trial.session.messages.to_string()),
    ("losses_sent", |trial| trial.session.losses.sent.to_string()),
    ("losses_received", |trial| trial.session.losses.received.to_string()),
    ("losses_lost", |trial| trial.session.losses.lost.to_string()),
    ("losses_late", |trial| trial.session.losses.late.to_string()),
    ("losses_duplicated", |trial| trial.session.losses.duplicated.to_string()),
    ("losses_reordered", |trial| trial.session.losses.reordered.to_string()),
    ("carrier_found", |trial| trial.session.carrier.found.to_string()),
    ("carrier_declared", |trial| optional(trial.session.carrier.declared)),
    ("carrier_loopback_bytes_per_message", |trial| {
        trial.session.carrier.loopback_bytes_per_message.to_string()
    }),
    ("carrier_shared_bytes", |trial| trial.session.carrier.shared_bytes.to_string()),
    ("cpus", cpus),
];

/// A figure of a process, with its name.
type ProcessFigure = (&'static str, fn(&ProcessRecord) -> u64);

/// The columns of a process. Each occurs twice: for the leader's process, and for all others together.
const PROCESS: &[ProcessFigure] = &[
    ("cpu_ns", |process| process.cpu_ns),
    ("user_ns", |process| process.user_ns),
    ("system_ns", |process| process.system_ns),
    ("context_switches_voluntary", |process| process.context_switches.voluntary),
    ("context_switches_involuntary", |process| process.context_switches.involuntary),
    ("page_faults_minor", |process| process.page_faults.minor),
    ("page_faults_major", |process| process.page_faults.major),
    ("peak_memory_bytes", |process| process.peak_memory_bytes),
    ("sent", |process| process.ends.iter().fold(0, |sum, end| end.sent.saturating_add(sum))),
    ("received", |process| {
        process.ends.iter().fold(0, |sum, end| end.received.saturating_add(sum))
    }),
];

/// A property of one of the two ranks between which a case was measured.
fn end(case: &Case, what: fn(&Between) -> String) -> String {
    case.identity.between.as_ref().map_or_else(String::new, what)
}

/// A figure of what was counted besides the trials.
fn counted(case: &Case, figure: fn(&Counted) -> Option<f64>) -> String {
    optional(case.measurement().and_then(Measurement::counted).and_then(figure))
}

/// A figure of an open loop.
fn offered(trial: &Trial, figure: fn(&Offered) -> u64) -> String {
    optional(trial.offered.as_ref().map(figure))
}

/// A figure of messages one way only.
fn one_way(trial: &Trial, figure: fn(&OneWayParts) -> Option<i64>) -> String {
    trial.one_way.as_ref().and_then(figure).map_or_else(String::new, |figure| figure.to_string())
}

/// A figure of a stream only.
fn stream(trial: &Trial, figure: fn(&StreamParts) -> Option<u64>) -> String {
    optional(trial.stream.as_ref().and_then(figure))
}

fn lines(result: &RunResult) -> Result<String, String> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let lines = entries(result).into_iter().map(|entry| cells(&entry));
    for line in std::iter::once(head()).chain(lines) {
        writer.write_record(line).map_err(|e| e.to_string())?;
    }
    let bytes = writer.into_inner().map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|e| e.to_string())
}

fn head() -> Vec<String> {
    let case = CASE.iter().map(|(name, _)| name.to_string());
    let trial = TRIAL.iter().map(|(name, _)| name.to_string());
    let process = |whose| PROCESS.iter().map(move |(name, _)| format!("{whose}_{name}"));
    case.chain(trial).chain(process("leader")).chain(process("others")).collect()
}

fn cells(entry: &Entry) -> Vec<String> {
    let case = CASE.iter().map(|(_, cell)| cell(entry.case));
    let trial = match entry.trial {
        Some(trial) => figures(trial),
        None => vec![String::new(); TRIAL.len() + 2 * PROCESS.len()],
    };
    case.chain(trial).collect()
}

fn figures(trial: &Trial) -> Vec<String> {
    let own = TRIAL.iter().map(|(_, cell)| cell(trial));
    let leader = sums(trial.session.leader().into_iter().collect());
    own.chain(leader).chain(sums(trial.session.others().collect())).collect()
}

/// The sums of the figures of some processes.
fn sums(processes: Vec<&ProcessRecord>) -> impl Iterator<Item = String> {
    PROCESS.iter().map(move |(_, figure)| {
        let sum = processes.iter().fold(0, |sum: u64, process| sum.saturating_add(figure(process)));
        sum.to_string()
    })
}

fn options(case: &Case) -> String {
    let options = case.identity.options.iter();
    let options: Vec<String> = options.map(|(option, value)| format!("{option}={value}")).collect();
    text(&options.join(" "))
}

fn placement(case: &Case) -> String {
    match &case.identity.placement {
        PlacementPolicy::Auto => "auto".into(),
        PlacementPolicy::All => "all".into(),
        PlacementPolicy::Cpus(cpus) => {
            cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
        }
        PlacementPolicy::Near(nearness) => text(nearness),
        PlacementPolicy::Off => "off".into(),
    }
}

/// The processors of the ends that were pinned: the leader's first.
fn cpus(trial: &Trial) -> String {
    let ends = || trial.session.processes.iter().flat_map(|process| &process.ends);
    let leader = ends().filter(|end| end.role == Role::Leader);
    let all = leader.chain(ends().filter(|end| end.role != Role::Leader));
    let cpus: Vec<String> = all.filter_map(|end| end.cpu).map(|cpu| cpu.to_string()).collect();
    cpus.join(" ")
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| text(&value.to_string()))
}

/// A text on one line without terminal control characters. If it begins like a formula, an apostrophe before it keeps a
/// spreadsheet from evaluating it.
fn text(text: &str) -> String {
    let text = plain(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// One line a trial, with every figure.
pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "one line a trial, with every figure",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| lines(result),
};
