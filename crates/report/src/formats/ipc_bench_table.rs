//! The Spectrum table of IPC-Bench: a line a method, a column a payload.
//!
//! A figure is the "message rate" of IPC-Bench's programs: round trips divided by the time that they took, one after
//! another. That is the inverse of a latency, and the heading says so. The methods are in IPC-Bench's order, and each
//! names its wait.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::RunResult;

use super::ipc_bench::rate;
use crate::{
    entries::{self, Entry, Section, conditions, conditions_in_words, notes, remarks, sections},
    format::Format,
    plain::markdown as escaped,
    units::{count, size},
};

/// The methods of IPC-Bench, in its order: our name, and its.
const METHODS: [(&str, &str); 9] = [
    ("signal", "Unix Signals"),
    ("zeromq-tcp", "ZeroMQ (TCP)"),
    ("tcp", "Internet sockets (TCP)"),
    ("uds-stream", "Domain sockets"),
    ("pipe", "Pipes"),
    ("sysv-mq", "Message Queues"),
    ("fifo", "FIFOs (named pipes)"),
    ("sysv-shm", "Shared Memory"),
    ("mmap-file", "Memory-Mapped Files"),
];

/// A table for each set of conditions except the wait.
fn tables(result: &RunResult) -> String {
    let mut tables: BTreeMap<_, Vec<Section>> = BTreeMap::new();
    for section in sections(result, |transport| entries::rank(transport, &METHODS)) {
        tables.entry(conditions(section[0].identity())).or_default().push(section);
    }
    let tables = tables.into_values().map(|rows| table(result, &rows));
    tables.collect::<Vec<_>>().join("\n") + &notes(result, "Note: ")
}

fn table(result: &RunResult, rows: &[Section]) -> String {
    let all = || rows.iter().flatten();
    let payloads: BTreeSet<u64> = all().map(|entry| entry.identity().payload_bytes).collect();
    let name = |entry: &Entry| entries::row(result, entry, &METHODS);
    let lines: String =
        rows.iter().map(|row| line(&escaped(&name(&row[0])), row, &payloads)).collect();
    let all: Vec<Entry> = all().copied().collect();
    let remarks =
        remarks(&all, |entry| format!("{} {}", name(entry), size(entry.identity().payload_bytes)));
    let remarks: String = remarks.iter().map(|remark| format!("\n{}\n", escaped(remark))).collect();
    let conditions = escaped(&conditions_in_words(all[0].identity()));
    format!(
        "### Ping-pong: 1 / average round trip (msg/s)\n\n{conditions}\n\n{}{lines}{remarks}",
        head(&payloads)
    )
}

fn head(payloads: &BTreeSet<u64>) -> String {
    let names: String = payloads.iter().map(|bytes| format!(" {:>25} |", column(*bytes))).collect();
    let rules: String = payloads.iter().map(|_| format!(" {:->25}:|", "")).collect();
    format!("| {:<30} |{names}\n| {:-<30} |{rules}\n", "Method", "")
}

/// `100 Byte Messages`; 1000 bytes are IPC-Bench's kilobyte.
fn column(bytes: u64) -> String {
    match bytes {
        1000 => "1 Kilo Byte Messages".into(),
        bytes => format!("{} Byte Messages", count(bytes)),
    }
}

fn line(name: &str, row: &[Entry], payloads: &BTreeSet<u64>) -> String {
    let cells = payloads.iter().map(|bytes| {
        let entry = row.iter().find(|entry| entry.identity().payload_bytes == *bytes);
        format!(" {:>25} |", entry.map_or("–".into(), cell))
    });
    format!("| {name:<30} |{}\n", cells.collect::<String>())
}

fn cell(entry: &Entry) -> String {
    match entry.figures() {
        Ok(trial) => format!("{} msg/s", count(rate(trial).round() as u64)),
        Err(absence) => absence.word.into(),
    }
}

/// The Spectrum table of IPC-Bench.
pub(super) const FORMAT: Format = Format {
    name: "ipc-bench-table",
    summary: "the table of IPC-Bench's methods and payloads, the inverse of a latency",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, _| Ok(tables(result)),
};
