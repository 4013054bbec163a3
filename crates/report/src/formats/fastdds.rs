//! The table of Fast DDS's LatencyTest: a line a payload, numbers separated by commas.
//!
//! Like LatencyTest, this halves the round trips and shows µs with three digits behind the point. LatencyTest subtracts
//! the clock's cost from each time; this format subtracts nothing. `Samples` counts the round trips of the other
//! columns: all that ended. Lost round trips, and cases that were not measured, are in lines that begin with `#`.

use ipcmark_results::{RunResult, Trial};

use crate::{
    entries::{Entry, half_us, notes, remarks, sections, subject},
    format::Format,
};

const HEAD: &str = "   \
    Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max\n\
    --------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n";

/// A table for each transport and set of conditions.
fn tables(result: &RunResult) -> String {
    let tables = sections(result, |_| 0).into_iter().map(|section| table(result, &section));
    tables.collect::<Vec<_>>().join("\n") + &notes(result, "# ")
}

fn table(result: &RunResult, entries: &[Entry]) -> String {
    let subject = subject(result, &entries[0]);
    let what = match entries[0].identity().subscribers {
        0 | 1 => "half of each round trip",
        _ => "half of the time to the last answer",
    };
    let mut text = match entries.iter().any(|entry| entry.figures().is_ok()) {
        true => format!("# {subject} ({what}, in us)\n{HEAD}"),
        false => format!("# {subject}\n"),
    };
    for entry in entries {
        text.extend(entry.figures().map(|trial| line(entry.identity().payload_bytes, trial)));
    }
    for remark in remarks(entries, |entry| format!("{} bytes", entry.identity().payload_bytes)) {
        text += &format!("# {remark}\n");
    }
    text
}

fn line(bytes: u64, trial: &Trial) -> String {
    let trip = &trial.times_ns;
    let whole = [trip.min, trip.p50, trip.p90, trip.p99, trip.p99_99, trip.max].map(|ns| ns as f64);
    let times = [trip.stdev, trip.mean].into_iter().chain(whole);
    let times: String = times.map(|ns| format!(",{:8.3}", half_us(ns))).collect();
    format!("{bytes:8},{:8}{times}\n", trip.count)
}

/// The table of LatencyTest.
pub(super) const FORMAT: Format = Format {
    name: "fastdds",
    summary: "the table of Fast DDS's LatencyTest",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, _| Ok(tables(result)),
};
