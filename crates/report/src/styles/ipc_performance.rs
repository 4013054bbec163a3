//! The table of IPC Performance Benchmarks: a line an implementation.
//!
//! Its programs show whole round trips in µs, and their throughput counts both messages of each,
//! as `messages_per_second` does: a row of 0.70 µs has 2.9 million messages a second. The table of
//! each payload and manner of measuring is one of its own, fastest first; what was not measured or
//! was lost is said below it.

use std::collections::BTreeMap;

use ipcmark_results::{Case, Figures, RunResult};

use super::{figures, manner, notes, remarks, setting, trial};
use crate::{
    markdown::escaped,
    rows::transport_of,
    units::{count, size},
};

const HEAD: &str = "\
| Implementation | Average | P50    | P90    | P99     | Min    | Max     | Throughput (msg/s) |
|---------------|---------|--------|--------|---------|---------|---------|-------------------|
";

/// What the benchmarks measure: our name, and theirs.
const NAMES: [(&str, &str); 10] = [
    ("shm-ring", "Shared Memory"),
    ("cpp-ipc-channel", "cpp-ipc chan"),
    ("cpp-ipc-route", "cpp-ipc route"),
    ("boost-mq", "Boost MQ"),
    ("boost-shm", "Boost SHM"),
    ("zeromq-ipc", "ZeroMQ (IPC)"),
    ("zeromq-tcp", "ZeroMQ (TCP)"),
    ("nng-ipc", "NNG (IPC)"),
    ("nng-tcp", "NNG (TCP)"),
    ("alephzero-rpc", "AlephZero"),
];

/// The whole result.
pub fn render(result: &RunResult) -> String {
    let result = result.settled();
    let mut tables: BTreeMap<_, Vec<&Case>> = BTreeMap::new();
    for case in &result.cases {
        let (pattern, span, followers, touch, wait, _) = manner(case);
        let key = (pattern, case.payload_bytes, span, followers, touch, wait);
        tables.entry(key).or_default().push(case);
    }
    let tables = tables.into_values().map(|cases| table(&result, cases));
    tables.collect::<Vec<_>>().join("\n") + &notes(&result, "Note: ")
}

fn table(result: &RunResult, mut cases: Vec<&Case>) -> String {
    let mean = |case: &Case| figures(case).map_or(f64::INFINITY, |f| f.round_trip_ns.mean);
    cases.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then_with(|| a.transport.cmp(&b.transport)));
    let name = |case: &Case| name(case) + &trial(result, case);
    let rows: String = cases.iter().map(|case| row(&escaped(&name(case)), case)).collect();
    let remarks = remarks(&cases, name).into_iter();
    let remarks: String = remarks.map(|remark| format!("\n{}\n", escaped(&remark))).collect();
    let (payload, setting) = (size(cases[0].payload_bytes), escaped(&setting(cases[0])));
    format!("### Latency (microseconds)\n\n{payload}, {setting}\n\n{HEAD}{rows}{remarks}")
}

/// Their name for it where they have one, and the settings that are not its defaults.
fn name(case: &Case) -> String {
    let name = transport_of(case);
    match NAMES.iter().find(|(ours, _)| *ours == case.transport) {
        Some((ours, theirs)) => name.replacen(ours, theirs, 1),
        None => name,
    }
}

fn row(name: &str, case: &Case) -> String {
    let [average, p50, p90, p99, min, max, rate] = match figures(case) {
        Ok(figures) => cells(figures),
        Err(absence) => [absence.word, "–", "–", "–", "–", "–", "–"].map(Into::into),
    };
    format!(
        "| {name:<13} | {average:<7} | {p50:<6} | {p90:<6} | {p99:<7} | {min:<7} | {max:<7} | \
         {rate:<17} |\n"
    )
}

fn cells(figures: &Figures) -> [String; 7] {
    let trip = &figures.round_trip_ns;
    let us = |ns: f64| format!("{:.2}", ns / 1e3);
    let whole = |ns: u64| us(ns as f64);
    [
        us(trip.mean),
        whole(trip.p50),
        whole(trip.p90),
        whole(trip.p99),
        whole(trip.min),
        whole(trip.max),
        count(figures.messages_per_second.round() as u64),
    ]
}
