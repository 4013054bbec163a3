//! iceperf's banners and its Markdown table.
//!
//! iceperf reads the clock before and after all round trips of a payload and divides by the number of messages, two a
//! round trip: its "average latency" is half of the mean round trip. The equivalent figure here is the mean of the
//! clock-free blocks; half of it is shown, in µs with two significant digits. If all payloads are whole kB, the table
//! has iceperf's column `Payload Size [kB]`; else each payload has its unit, as in later versions of iceperf.

use ipcmark_results::RunResult;

use crate::{
    entries::{Entry, half_us, notes, remarks, sections, subject},
    format::Format,
    plain::plain,
};

/// The transports of iceperf, in its order: our name, and its banner.
const BANNERS: [(&str, &str); 5] = [
    ("posix-mq", "   MESSAGE QUEUE    "),
    ("uds-dgram", " UNIX DOMAIN SOCKET "),
    ("iceoryx-cpp", "      ICEORYX       "),
    ("iceoryx-c", "   ICEORYX C API    "),
    ("iceoryx-waitset", "   ICEORYX WAITSET  "),
];

const KB: u64 = 1024;

/// A banner and a table for each transport and set of conditions.
fn tables(result: &RunResult) -> String {
    let parts = sections(result, rank).into_iter().map(|section| part(result, &section));
    parts.collect::<Vec<_>>().join("\n") + &notes(result, "Note: ")
}

fn rank(transport: &str) -> usize {
    BANNERS.iter().position(|(name, _)| *name == transport).unwrap_or(BANNERS.len())
}

fn part(result: &RunResult, entries: &[Entry]) -> String {
    let banner = iceperf_banner(&entries[0].identity().transport);
    let subject = subject(result, &entries[0]);
    let remarks = remarks(entries, |entry| iceperf_payload(entry.identity().payload_bytes));
    let remarks: String = remarks.into_iter().map(|remark| format!("\n{remark}\n")).collect();
    let measured = match entries.iter().any(|entry| entry.figures().is_ok()) {
        true => measurement(entries),
        false => String::new(),
    };
    format!("{banner}\n{subject}\n{measured}{remarks}\nFinished!\n")
}

/// The banner of a transport in iceperf's output.
pub fn iceperf_banner(transport: &str) -> String {
    format!("******{}********", title(transport))
}

/// The title of a transport; if iceperf does not have it, its name.
fn title(transport: &str) -> String {
    let known = BANNERS.iter().find(|(name, _)| *name == transport);
    known.map_or_else(
        || format!("{:^20}", plain(transport).to_uppercase()),
        |(_, banner)| (*banner).to_owned(),
    )
}

fn measurement(entries: &[Entry]) -> String {
    let in_kb = entries.iter().all(|entry| entry.identity().payload_bytes.is_multiple_of(KB));
    let payloads = entries.iter().map(|entry| payload(entry.identity().payload_bytes, in_kb));
    format!(
        "Waiting for: subscription, subscriber [ success ]\n\
         Measurement for: {}\n\
         Waiting for: unsubscribe  [ finished ]\n\n\
         #### Measurement Result ####\n{}\n\n{}",
        payloads.collect::<Vec<_>>().join(", "),
        round_trips(entries),
        table(entries, in_kb)
    )
}

/// `1 kB` if all are whole kB, else `16 [B]`.
fn payload(bytes: u64, in_kb: bool) -> String {
    if in_kb { format!("{} kB", bytes / KB) } else { iceperf_payload(bytes) }
}

/// A payload in iceperf's output: `16 [B]`.
pub fn iceperf_payload(bytes: u64) -> String {
    let (number, unit) = scaled(bytes);
    format!("{number} {unit}")
}

/// A payload in the largest unit that represents it exactly.
fn scaled(bytes: u64) -> (u64, &'static str) {
    match bytes {
        0 => (0, "[B]"),
        bytes if bytes.is_multiple_of(KB * KB) => (bytes / (KB * KB), "[MB]"),
        bytes if bytes.is_multiple_of(KB) => (bytes / KB, "[kB]"),
        bytes => (bytes, "[B]"),
    }
}

/// The number of round trips, which differs between payloads if time was the limit.
fn round_trips(entries: &[Entry]) -> String {
    let counts = || entries.iter().filter_map(|entry| Some(entry.figures().ok()?.times_ns.count));
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let number = if least == most { most.to_string() } else { format!("{least} to {most}") };
    format!("{number} round trips for each payload.")
}

fn table(entries: &[Entry], in_kb: bool) -> String {
    let mut text = String::from(if in_kb {
        "| Payload Size [kB] | Average Latency [µs] |\n|------------------:|---------------------:|\n"
    } else {
        "| Payload Size | Average Latency [µs] |\n|-------------:|---------------------:|\n"
    });
    for entry in entries {
        let latency = entry.figures().map_or_else(
            |absence| absence.word.to_owned(),
            |trial| general(half_us(trial.clock_free_mean_ns)),
        );
        text += &format!("| {} | {latency:>20} |\n", cell(entry.identity().payload_bytes, in_kb));
    }
    text
}

fn cell(bytes: u64, in_kb: bool) -> String {
    if in_kb {
        return format!("{:17}", bytes / KB);
    }
    let (number, unit) = scaled(bytes);
    format!("{number:7} {unit:<4}")
}

/// A number as C's `%.2g` writes it: `0.73`, `13`, `1.6e+02`.
fn general(value: f64) -> String {
    let scientific = format!("{value:.1e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..2).contains(&exponent) {
        return shortened(&format!("{value:.*}", (1 - exponent).unsigned_abs() as usize))
            .to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", shortened(mantissa), exponent.unsigned_abs())
}

/// The number without trailing zeros.
fn shortened(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// iceperf's banners and tables.
pub(super) const FORMAT: Format = Format {
    name: "iceperf",
    summary: "iceperf's banners and its Markdown table",
    for_terminals: true,
    for_programs: false,
    one_row: false,
    text: |result, _| Ok(tables(result)),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_iceperf_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (0.000_012_3, "1.2e-05"),
            (0.000_123, "0.00012"),
            (0.6, "0.6"),
            (0.734, "0.73"),
            (3.08, "3.1"),
            (9.96, "10"),
            (13.2, "13"),
            (99.7, "1e+02"),
            (160.0, "1.6e+02"),
            (1_200.0, "1.2e+03"),
            (1.25e12, "1.2e+12"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn banners_are_as_wide_as_iceperf_s() {
        assert!(BANNERS.iter().all(|(_, banner)| banner.len() == 20));
        assert_eq!(title("pipe"), "        PIPE        ");
    }
}
