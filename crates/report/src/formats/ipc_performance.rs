//! The table of IPC Performance Benchmarks: a line an implementation.
//!
//! Its programs show whole round trips in µs. Their throughput is the inverse of the average: both messages of a round
//! trip, divided by its time. The column heading says so, because with one message in transit the capacity of a
//! transport is unknown. Each payload has its own table, in the original order and not by speed: a row names its wait,
//! and spinning rows are not ranked above sleeping ones. Losses and cases that were not measured are listed below the
//! table.

use std::collections::BTreeMap;

use ipcmark_results::{RunResult, Trial};

use crate::{
    entries::{self, Entry, conditions, conditions_in_words, notes, remarks, sections},
    format::Format,
    plain::markdown as escaped,
    units::{count, size},
};

/// The implementations of the benchmarks: our name, and theirs.
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

fn tables(result: &RunResult) -> String {
    let mut tables: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
    for entry in sections(result, rank).into_iter().flatten() {
        let identity = entry.identity();
        let key = (conditions(identity), identity.payload_bytes);
        tables.entry(key).or_default().push(entry);
    }
    let tables = tables.into_values().map(|entries| table(result, &entries));
    tables.collect::<Vec<_>>().join("\n") + &notes(result, "Note: ")
}

fn rank(transport: &str) -> usize {
    entries::rank(transport, &NAMES)
}

fn table(result: &RunResult, entries: &[Entry]) -> String {
    let name = |entry: &Entry| entries::row(result, entry, &NAMES);
    let rows: String = entries.iter().map(|entry| row(&escaped(&name(entry)), entry)).collect();
    let remarks = remarks(entries, name).into_iter();
    let remarks: String = remarks.map(|remark| format!("\n{}\n", escaped(&remark))).collect();
    let identity = entries[0].identity();
    let (payload, conditions) =
        (size(identity.payload_bytes), escaped(&conditions_in_words(identity)));
    let head = head(identity.messages_per_publication());
    format!("### Latency (microseconds)\n\n{payload}, {conditions}\n\n{head}{rows}{remarks}")
}

/// The original columns; the last has a heading that says how it is calculated.
fn head(messages: u64) -> String {
    let rate = format!("{messages} / Average (msg/s)");
    format!(
        "| Implementation        | Average | P50    | P90    | P99     | Min    | Max     | {rate:<19} |\n\
         |-----------------------|---------|--------|--------|---------|---------|---------|{:-<21}|\n",
        ""
    )
}

fn row(name: &str, entry: &Entry) -> String {
    let [average, p50, p90, p99, min, max, rate] = match entry.figures() {
        Ok(trial) => cells(trial, entry.identity().messages_per_publication()),
        Err(absence) => [absence.word, "–", "–", "–", "–", "–", "–"].map(Into::into),
    };
    format!(
        "| {name:<21} | {average:<7} | {p50:<6} | {p90:<6} | {p99:<7} | {min:<7} | {max:<7} | \
         {rate:<19} |\n"
    )
}

fn cells(trial: &Trial, messages: u64) -> [String; 7] {
    let trip = &trial.times_ns;
    let us = |ns: f64| format!("{:.2}", ns / 1e3);
    let whole = |ns: u64| us(ns as f64);
    let rate = messages as f64 / trip.mean * 1e9;
    [
        us(trip.mean),
        whole(trip.p50),
        whole(trip.p90),
        whole(trip.p99),
        whole(trip.min),
        whole(trip.max),
        if rate.is_finite() { count(rate.round() as u64) } else { "–".into() },
    ]
}

/// The table of IPC Performance Benchmarks.
pub(super) const FORMAT: Format = Format {
    name: "ipc-performance",
    summary: "the table of IPC Performance Benchmarks",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, _| Ok(tables(result)),
};
