//! Figures parsed back from each style: all of them, and no others.

use ipcmark_results::{Case, Measurement, RunResult, Trial};
use proptest::prelude::*;

use super::STYLES;
use crate::{arbitrary, shown};

/// A parsed line: its payload in bytes, and each figure's text.
struct Line {
    payload: u64,
    texts: Vec<String>,
}

/// The figures of a line, each with its rounding step.
type Expected = Vec<(f64, f64)>;

fn parsed<'a>(payload: u64, texts: impl Iterator<Item = &'a str>) -> Line {
    Line { payload, texts: texts.map(|text| text.trim().replace(',', "")).collect() }
}

/// True if a text is a figure rounded to a step.
fn holds(text: &str, (exact, step): (f64, f64)) -> bool {
    let read: f64 = text.parse().unwrap_or(f64::NAN);
    (read - exact).abs() <= step * 0.500_001 + exact.abs() * 1e-12
}

/// The trials that other benchmarks show: those of round trips. Messages at given times have response times.
fn shown_trials(case: &Case) -> &[Trial] {
    match case.measurement() {
        Some(Measurement::RoundTrips(all)) if !case.identity.load.is_open() => &all.trials,
        _ => &[],
    }
}

/// Fails unless each trial has its own line with its figures, and no other line exists.
fn check(result: &RunResult, mut lines: Vec<Line>, expected: fn(&Case, &Trial) -> Expected) {
    for case in &result.cases {
        for trial in shown_trials(case) {
            let wanted = expected(case, trial);
            let fits = |line: &Line| {
                let pairs = || line.texts.iter().zip(&wanted);
                line.payload == case.identity.payload_bytes
                    && line.texts.len() == wanted.len()
                    && pairs().all(|(text, figure)| holds(text, *figure))
            };
            let at = lines.iter().position(fits);
            lines.remove(at.unwrap_or_else(|| panic!("no line for {case:?}: {wanted:?}")));
        }
    }
    assert!(lines.is_empty(), "{} lines belong to no trial", lines.len());
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

fn iceperf(text: &str) -> Vec<Line> {
    let mut unit = None;
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        // A transport's name may contain such a mark too.
        let &["", payload, time, ""] = &cells[..] else { continue };
        match payload {
            "Payload Size [kB]" => unit = Some("kB"),
            "Payload Size" => unit = None,
            payload if time.starts_with(|first: char| first.is_ascii_digit()) => {
                let (number, named) = payload.split_once(' ').unwrap_or((payload, "kB"));
                let payload = bytes(number, unit.unwrap_or(named));
                lines.push(parsed(payload, std::iter::once(time)));
            }
            _ => {}
        }
    }
    lines
}

fn ipc_bench(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let blocks = text.split("\n============ RESULTS ================\n").skip(1);
    for block in blocks {
        let block = block.split("\n=====================================\n").next().unwrap();
        let values: Vec<&str> =
            block.lines().filter_map(|line| line.get(20..)?.split_whitespace().next()).collect();
        if values.len() == 8 {
            lines.push(parsed(values[0].parse().unwrap(), values[1..].iter().copied()));
        }
    }
    lines
}

fn fastdds(text: &str) -> Vec<Line> {
    let is_figures =
        |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
    let read = |line: &str| {
        let mut cells = line.split(',');
        let payload = cells.next().unwrap().trim().parse().unwrap();
        parsed(payload, cells)
    };
    text.lines().filter(is_figures).map(read).collect()
}

fn ipc_performance(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for table in text.split("### Latency (microseconds)\n\n").skip(1) {
        let title = table.lines().next().unwrap();
        let (number, rest) = title.split_once(' ').unwrap();
        let payload = bytes(number, rest.split(',').next().unwrap());
        for line in table.lines().filter(|line| line.starts_with("| ")) {
            let mut cells: Vec<&str> = line.trim_end_matches(" |").rsplit(" | ").take(7).collect();
            cells.reverse();
            if cells[0].trim().parse::<f64>().is_ok() {
                lines.push(parsed(payload, cells.into_iter()));
            }
        }
    }
    lines
}

/// The number of cases that a line reports without figures: the names before its reason.
fn cases_in(line: &str) -> usize {
    let words = ["not shown: ", "failed: ", "unavailable: ", "unsupported: "];
    let before = words.iter().filter_map(|word| Some(line.split_once(word)?.0)).next();
    before.map_or(0, |names| names.split(", ").count())
}

proptest! {
    #[test]
    fn iceperf_shows_half_of_the_undisturbed_mean(result in arbitrary::result()) {
        let lines = iceperf(&shown(&result, "iceperf"));
        check(&result, lines, |_, trial| vec![two_digits(trial.clock_free_mean_ns / 2e3)]);
    }

    #[test]
    fn ipc_bench_shows_round_trips(result in arbitrary::result()) {
        let lines = ipc_bench(&shown(&result, "ipc-bench"));
        check(&result, lines, |_, trial| {
            let (trip, elapsed_ns) = (&trial.times_ns, trial.elapsed_ns as f64);
            let count = trip.count as f64;
            vec![
                (count, 0.0),
                (elapsed_ns / 1e6, 0.001),
                us(trip.mean, 0.001),
                us(trip.min as f64, 0.001),
                us(trip.max as f64, 0.001),
                us(trip.stdev, 0.001),
                (if elapsed_ns > 0.0 { count / elapsed_ns * 1e9 } else { 0.0 }, 1.0),
            ]
        });
    }

    #[test]
    fn fastdds_shows_half_of_round_trips(result in arbitrary::result()) {
        let lines = fastdds(&shown(&result, "fastdds"));
        check(&result, lines, |_, trial| {
            let trip = &trial.times_ns;
            let whole = [trip.min, trip.p50, trip.p90, trip.p99, trip.p99_99, trip.max];
            let times = [trip.stdev, trip.mean].into_iter().chain(whole.map(|ns| ns as f64));
            let times = times.map(|ns| us(ns / 2.0, 0.001));
            std::iter::once((trip.count as f64, 0.0)).chain(times).collect()
        });
    }

    #[test]
    fn ipc_performance_shows_round_trips_and_their_inverse(result in arbitrary::result()) {
        let lines = ipc_performance(&shown(&result, "ipc-performance"));
        check(&result, lines, |case, trial| {
            let trip = &trial.times_ns;
            let whole = [trip.p50, trip.p90, trip.p99, trip.min, trip.max].map(|ns| ns as f64);
            let times = std::iter::once(trip.mean).chain(whole).map(|ns| us(ns, 0.01));
            // One message in each direction; or three out and two back.
            let messages = if case.identity.subscribers == 1 { 2.0 } else { 5.0 };
            times.chain([(messages * 1e9 / trip.mean, 1.0)]).collect()
        });
    }

    #[test]
    fn unmeasured_cases_are_shown(result in arbitrary::result()) {
        let unmeasured = result.cases.iter().filter(|case| shown_trials(case).is_empty()).count();
        for style in STYLES {
            let text = shown(&result, style);
            let said: usize = text.lines().map(cases_in).sum();
            prop_assert!(said >= unmeasured, "{style}: {text}");
            prop_assert!(result.complete || text.contains("incomplete: "), "{style}: {text}");
        }
    }

    #[test]
    fn no_control_character_but_line_ends_and_ipc_bench_s_tabs(result in arbitrary::result()) {
        for style in STYLES {
            let text = shown(&result, style);
            let raw = text.chars().find(|char| char.is_control() && !"\n\t".contains(*char));
            prop_assert_eq!(raw, None);
            prop_assert!(style == "ipc-bench" || !text.contains('\t'));
        }
    }
}
