//! The RESULTS block of IPC-Bench, one for each case.
//!
//! A "duration" of IPC-Bench is a whole round trip, and its "message rate" counts round trips, not
//! messages: the block shows them so. "Total duration" is the whole sampled pass, waiting for lost
//! messages included. IPC-Bench prints no name; here one stands over each block, and in the block of
//! a case without figures the reason stands in their place.

use ipcmark_results::{Case, Figures, RunResult};

use crate::caveats::caveats;

use super::{figures, notes, round_trips_per_second, sections, subject};

/// The whole result.
pub fn render(result: &RunResult) -> String {
    let result = result.settled();
    let cases = sections(&result, |_| 0).into_iter().flatten();
    let blocks: String = cases.map(|case| block(&result, case)).collect();
    blocks.trim_start_matches('\n').to_owned() + &notes(&result, "Note: ")
}

fn block(result: &RunResult, case: &Case) -> String {
    let (lines, remarks) = match figures(case) {
        Ok(figures) => (lines(case, figures), caveats(&[case])),
        Err(absence) => (absence.sentence + "\n", Vec::new()),
    };
    let remarks: String = remarks.into_iter().map(|remark| remark + "\n").collect();
    format!(
        "\n{}\n============ RESULTS ================\n\
         Message size:       {}\n{lines}\
         =====================================\n{remarks}",
        subject(result, case),
        case.payload_bytes
    )
}

fn lines(case: &Case, figures: &Figures) -> String {
    let trip = &figures.round_trip_ns;
    let rate = round_trips_per_second(case, figures);
    let seconds = if rate > 0.0 { figures.round_trips as f64 / rate } else { 0.0 };
    [
        format!("Message count:      {}\n", figures.round_trips),
        line("Total duration:", seconds * 1e3, "ms"),
        line("Average duration:", trip.mean / 1e3, "us"),
        line("Minimum duration:", trip.min as f64 / 1e3, "us"),
        line("Maximum duration:", trip.max as f64 / 1e3, "us"),
        line("Standard deviation:", trip.stdev / 1e3, "us"),
        format!("{:<20}{:<11.0}\tmsg/s\n", "Message rate:", rate),
    ]
    .concat()
}

/// A figure with its unit, a tab between them as in IPC-Bench's own.
fn line(name: &str, value: f64, unit: &str) -> String {
    format!("{name:<20}{value:<11.3}\t{unit}\n")
}
