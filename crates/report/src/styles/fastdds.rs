//! The table of Fast DDS's LatencyTest: a line a payload, numbers parted by commas.
//!
//! LatencyTest halves its round trips and shows µs with three digits behind the point, and so does
//! this. It takes the clock's cost off each time; here nothing is taken off. `Samples` are the round
//! trips that the other columns are made of, all that ended; what was lost, and cases that were not
//! measured, stand in lines that begin with `#`.

use ipcmark_results::{Case, Figures, RunResult};

use super::{figures, half_us, notes, remarks, sections, subject};

const HEAD: &str = "   \
    Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max\n\
    --------,--------,--------,--------,--------,--------,--------,--------,--------,--------,\n";

/// The whole result: a table for each transport and manner of measuring.
pub fn render(result: &RunResult) -> String {
    let result = result.settled();
    let tables = sections(&result, |_| 0).into_iter().map(|section| table(&result, &section));
    tables.collect::<Vec<_>>().join("\n") + &notes(&result, "# ")
}

fn table(result: &RunResult, cases: &[&Case]) -> String {
    let what = if cases[0].subscribers > 1 {
        "half of the time to the last answer"
    } else {
        "half of each round trip"
    };
    let subject = subject(result, cases[0]);
    let mut text = match cases.iter().any(|case| figures(case).is_ok()) {
        true => format!("# {subject} ({what}, in us)\n{HEAD}"),
        false => format!("# {subject}\n"),
    };
    for case in cases {
        text.extend(figures(case).ok().map(|figures| line(case.payload_bytes, figures)));
    }
    for remark in remarks(cases, |case| format!("{} bytes", case.payload_bytes)) {
        text += &format!("# {remark}\n");
    }
    text
}

fn line(bytes: u64, figures: &Figures) -> String {
    let trip = &figures.round_trip_ns;
    let whole = [trip.min, trip.p50, trip.p90, trip.p99, trip.p99_99, trip.max].map(|ns| ns as f64);
    let times = [trip.stdev, trip.mean].into_iter().chain(whole);
    let times: String = times.map(|ns| format!(",{:8.3}", half_us(ns))).collect();
    format!("{bytes:8},{:8}{times}\n", figures.round_trips)
}
