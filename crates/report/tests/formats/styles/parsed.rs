//! Figures parsed back from each style: all of them, and no others.

use ipcmark_report::Format;
use ipcmark_results::{Case, Figures, RunResult};
use proptest::prelude::*;

use super::{STYLES, styled};
use crate::arbitrary;

/// A result of which every third case has three followers, one of them silent.
fn any_result() -> impl Strategy<Value = RunResult> {
    arbitrary::result().prop_map(|mut result| {
        for case in result.cases.iter_mut().step_by(3) {
            case.pattern = "fan-out".into();
            (case.subscribers, case.silent_subscribers) = (3, 1);
        }
        result
    })
}

/// A row as it was read: its payload in bytes, and each figure's text.
struct Row {
    payload: u64,
    texts: Vec<String>,
}

/// What a row must hold: the figure, and the step between two texts of it.
type Expected = Vec<(f64, f64)>;

fn row<'a>(payload: u64, texts: impl Iterator<Item = &'a str>) -> Row {
    Row { payload, texts: texts.map(|text| text.trim().replace(',', "")).collect() }
}

/// Whether a text is what remains of a figure when it is rounded to a step.
fn holds(text: &str, (exact, step): (f64, f64)) -> bool {
    let read: f64 = text.parse().unwrap_or(f64::NAN);
    (read - exact).abs() <= step * 0.500_001 + exact.abs() * 1e-12
}

/// Fails unless each measured case has a row of its own with its figures, and no row is left.
fn check(result: &RunResult, mut rows: Vec<Row>, expected: fn(&Case, &Figures) -> Expected) {
    for case in &result.cases {
        let Some(figures) = &case.figures else { continue };
        let wanted = expected(case, figures);
        let fits = |row: &Row| {
            let pairs = || row.texts.iter().zip(&wanted);
            row.payload == case.payload_bytes
                && row.texts.len() == wanted.len()
                && pairs().all(|(text, figure)| holds(text, *figure))
        };
        let at = rows.iter().position(fits);
        rows.remove(at.unwrap_or_else(|| panic!("no row for {case:?}: {wanted:?}")));
    }
    assert!(rows.is_empty(), "{} rows belong to no case", rows.len());
}

fn us(ns: f64, step: f64) -> (f64, f64) {
    (ns / 1e3, step)
}

/// A figure rounded to two significant digits.
fn two_digits(exact: f64) -> (f64, f64) {
    (format!("{exact:.1e}").parse().expect("a number"), 0.0)
}

fn bytes(number: &str, unit: &str) -> u64 {
    let exponent = match unit.trim_matches(['[', ']']) {
        "B" => 0,
        "kB" | "KiB" => 10,
        "MB" | "MiB" => 20,
        "GiB" => 30,
        other => panic!("a payload in {other}"),
    };
    number.replace(',', "").parse::<u64>().unwrap() << exponent
}

fn iceperf(text: &str) -> Vec<Row> {
    let mut unit = None;
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // A transport's name may have such a mark in it too.
        let &["", payload, time, ""] = &cells[..] else { continue };
        match payload {
            "Payload Size [kB]" => unit = Some("kB"),
            "Payload Size" => unit = None,
            payload if time.starts_with(|first: char| first.is_ascii_digit()) => {
                let (number, named) = payload.split_once(' ').unwrap_or((payload, "kB"));
                let payload = bytes(number, unit.unwrap_or(named));
                rows.push(row(payload, std::iter::once(time)));
            }
            _ => {}
        }
    }
    rows
}

fn ipc_bench(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let blocks = text.split("\n============ RESULTS ================\n").skip(1);
    for block in blocks {
        let block = block.split("\n=====================================\n").next().unwrap();
        let values: Vec<&str> =
            block.lines().filter_map(|line| line.get(20..)?.split_whitespace().next()).collect();
        if values.len() == 8 {
            rows.push(row(values[0].parse().unwrap(), values[1..].iter().copied()));
        }
    }
    rows
}

fn fastdds(text: &str) -> Vec<Row> {
    let is_row = |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
    let read = |line: &str| {
        let mut cells = line.split(',');
        let payload = cells.next().unwrap().trim().parse().unwrap();
        row(payload, cells)
    };
    text.lines().filter(is_row).map(read).collect()
}

fn ipc_performance(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in text.split("### Latency (microseconds)\n\n").skip(1) {
        let title = table.lines().next().unwrap();
        let (number, rest) = title.split_once(' ').unwrap();
        let payload = bytes(number, rest.split(',').next().unwrap());
        for line in table.lines().filter(|line| line.starts_with("| ")) {
            let mut cells: Vec<&str> = line.trim_end_matches(" |").rsplit(" | ").take(7).collect();
            cells.reverse();
            if cells[0].trim().parse::<f64>().is_ok() {
                rows.push(row(payload, cells.into_iter()));
            }
        }
    }
    rows
}

/// How many cases a line says to have no figures: as many as it names before it says why.
fn cases_in(line: &str) -> usize {
    let words = ["failed: ", "unavailable: ", "unsupported: "];
    let before = words.iter().filter_map(|word| Some(line.split_once(word)?.0)).next();
    before.map_or(0, |names| names.split(", ").count())
}

proptest! {
    #[test]
    fn iceperf_shows_half_of_the_undisturbed_mean(result in any_result()) {
        let rows = iceperf(&styled(&result, Format::Iceperf));
        check(&result, rows, |_, figures| vec![two_digits(figures.round_trip_ns.bulk_mean / 2e3)]);
    }

    #[test]
    fn ipc_bench_shows_round_trips(result in any_result()) {
        let rows = ipc_bench(&styled(&result, Format::IpcBench));
        check(&result, rows, |case, figures| {
            let trip = &figures.round_trip_ns;
            // One message there and one back; or three there and two back.
            let messages = if case.pattern == "latency" { 2.0 } else { 5.0 };
            let rate = figures.messages_per_second / messages;
            let total = if rate > 0.0 { figures.round_trips as f64 / rate } else { 0.0 };
            vec![
                (figures.round_trips as f64, 0.0),
                (total * 1e3, 0.001),
                us(trip.mean, 0.001),
                us(trip.min as f64, 0.001),
                us(trip.max as f64, 0.001),
                us(trip.stdev, 0.001),
                (rate, 1.0),
            ]
        });
    }

    #[test]
    fn fastdds_shows_half_of_round_trips(result in any_result()) {
        let rows = fastdds(&styled(&result, Format::FastDds));
        check(&result, rows, |_, figures| {
            let trip = &figures.round_trip_ns;
            let whole = [trip.min, trip.p50, trip.p90, trip.p99, trip.p99_99, trip.max];
            let times = [trip.stdev, trip.mean].into_iter().chain(whole.map(|ns| ns as f64));
            let times = times.map(|ns| us(ns / 2.0, 0.001));
            std::iter::once((figures.round_trips as f64, 0.0)).chain(times).collect()
        });
    }

    #[test]
    fn ipc_performance_shows_round_trips_and_counts_messages(result in any_result()) {
        let rows = ipc_performance(&styled(&result, Format::IpcPerformance));
        check(&result, rows, |_, figures| {
            let trip = &figures.round_trip_ns;
            let whole = [trip.p50, trip.p90, trip.p99, trip.min, trip.max].map(|ns| ns as f64);
            let times = std::iter::once(trip.mean).chain(whole).map(|ns| us(ns, 0.01));
            // No counter holds more.
            let rate = figures.messages_per_second.min(u64::MAX as f64);
            times.chain([(rate, 1.0)]).collect()
        });
    }

    #[test]
    fn nothing_that_was_not_measured_vanishes(result in any_result()) {
        let unmeasured = result.cases.iter().filter(|case| case.figures.is_none()).count();
        for style in STYLES {
            let text = styled(&result, style);
            let said: usize = text.lines().map(cases_in).sum();
            prop_assert!(said >= unmeasured, "{style}: {text}");
            prop_assert!(result.complete || text.contains("incomplete: "), "{style}: {text}");
        }
    }

    #[test]
    fn no_control_character_but_line_ends_and_ipc_bench_s_tabs(result in any_result()) {
        for style in STYLES {
            let text = styled(&result, style);
            let raw = text.chars().find(|char| char.is_control() && !"\n\t".contains(*char));
            prop_assert_eq!(raw, None);
            prop_assert!(style == Format::IpcBench || !text.contains('\t'));
        }
    }
}
