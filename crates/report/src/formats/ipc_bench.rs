//! The RESULTS block of IPC-Bench, one for each trial.
//!
//! A "duration" of IPC-Bench is a whole round trip, and its "message rate" counts round trips, not messages: the block
//! does the same. "Total duration" is the whole sampled pass, including waiting for lost messages. IPC-Bench prints no
//! name; here a name is above each block. In the block of a case without figures the reason replaces them.

use ipcmark_results::{RunResult, Trial};

use crate::{
    entries::{Entry, notes, sections, subject},
    format::Format,
};

fn blocks(result: &RunResult) -> String {
    let entries = sections(result, |_| 0).into_iter().flatten();
    let blocks: String = entries.map(|entry| block(result, &entry)).collect();
    blocks.trim_start_matches('\n').to_owned() + &notes(result, "Note: ")
}

fn block(result: &RunResult, entry: &Entry) -> String {
    let (lines, remarks) = match entry.figures() {
        Ok(trial) => (lines(trial), entry.remarks()),
        Err(absence) => (absence.sentence + "\n", Vec::new()),
    };
    let remarks: String = remarks.into_iter().map(|remark| remark + "\n").collect();
    format!(
        "\n{}\n============ RESULTS ================\n\
         Message size:       {}\n{lines}\
         =====================================\n{remarks}",
        subject(result, entry),
        entry.identity().payload_bytes
    )
}

fn lines(trial: &Trial) -> String {
    let trip = &trial.times_ns;
    let elapsed_ns = trial.elapsed_ns as f64;
    let rate = rate(trial);
    [
        format!("Message count:      {}\n", trip.count),
        line("Total duration:", elapsed_ns / 1e6, "ms"),
        line("Average duration:", trip.mean / 1e3, "us"),
        line("Minimum duration:", trip.min as f64 / 1e3, "us"),
        line("Maximum duration:", trip.max as f64 / 1e3, "us"),
        line("Standard deviation:", trip.stdev / 1e3, "us"),
        format!("{:<20}{rate:<11.0}\tmsg/s\n", "Message rate:"),
    ]
    .concat()
}

/// Round trips a second, which IPC-Bench calls messages a second.
pub(super) fn rate(trial: &Trial) -> f64 {
    match trial.elapsed_ns {
        0 => 0.0,
        elapsed_ns => trial.times_ns.count as f64 / elapsed_ns as f64 * 1e9,
    }
}

/// A figure with its unit, a tab between them as in IPC-Bench's own.
fn line(name: &str, value: f64, unit: &str) -> String {
    format!("{name:<20}{value:<11.3}\t{unit}\n")
}

/// The RESULTS block of IPC-Bench.
pub(super) const FORMAT: Format = Format {
    name: "ipc-bench",
    summary: "the RESULTS block of IPC-Bench",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, _| Ok(blocks(result)),
};
