//! The figures in the formats for other tools equal those of the table and of the file.

use std::collections::BTreeMap;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use ipcmark_report::{Terminal, format, row_names};
use ipcmark_results::{Case, Row, RunResult, Trial, groups};
use proptest::prelude::*;
use serde_json::Value;

use super::syntax::{Sample, samples};
use crate::{arbitrary, shown};

/// The rows of the table, by their names in the formats for other tools.
fn rows(result: &RunResult) -> BTreeMap<String, Row<'_>> {
    let names = row_names(result);
    let all: Vec<Row> = groups(result).into_iter().flat_map(|group| group.rows).collect();
    let row = |case: &Case| all.iter().copied().find(|row| std::ptr::eq(row.case, case));
    let cases = names.into_iter().zip(&result.cases);
    cases.filter_map(|(name, case)| Some((name, row(case)?))).collect()
}

fn json(result: &RunResult, name: &str) -> Value {
    serde_json::from_str(&shown(result, name)).expect("it is JSON")
}

/// The rows that have a figure in the table.
fn located(result: &RunResult) -> BTreeMap<String, Row<'_>> {
    let mut rows = rows(result);
    rows.retain(|_, row| row.location().is_some());
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn names_are_unique_words(result in arbitrary::result()) {
        let names = row_names(&result);
        prop_assert_eq!(names.len(), result.cases.len());
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        prop_assert_eq!(unique.len(), names.len());
        let is_word = |name: &String| !name.contains([' ', ',', '\n']);
        prop_assert!(names.iter().all(is_word), "{names:?}");
    }

    #[test]
    fn bmf_has_the_figures_and_intervals_of_the_table(result in arbitrary::result()) {
        let (all, rows) = (json(&result, "bmf"), located(&result));
        prop_assert_eq!(all.as_object().unwrap().len(), rows.len());
        for (name, row) in rows {
            let location = row.location().unwrap();
            let (metric, value) = match row.case.identity.pattern.is_stream() {
                true => (&all[&name]["throughput"], row.messages_per_second().unwrap()),
                false => (&all[&name]["latency"], location.value),
            };
            prop_assert_eq!(metric["value"].as_f64(), Some(value));
            if let (Some(low), Some(high)) = (metric["lower_value"].as_f64(), metric["upper_value"].as_f64()) {
                prop_assert!(low <= value * 1.000_001 && value <= high * 1.000_001, "{metric}");
            }
        }
    }

    #[test]
    fn github_action_benchmark_has_the_figures_and_intervals_of_the_table(result in arbitrary::result()) {
        let (all, rows) = (json(&result, "github-action-benchmark"), located(&result));
        prop_assert_eq!(all.as_array().unwrap().len(), rows.len());
        for entry in all.as_array().unwrap() {
            let location = rows[entry["name"].as_str().unwrap()].location().unwrap();
            prop_assert_eq!(entry["value"].as_f64(), Some(location.value));
            let range = location.interval.map(|bounds| format!("{} to {}", bounds.low, bounds.high));
            if let Some(shown) = entry["range"].as_str() {
                prop_assert_eq!(Some(shown), range.as_deref());
            }
        }
    }

    #[test]
    fn google_benchmark_has_every_trial(result in arbitrary::result()) {
        let document = json(&result, "google-benchmark");
        let entries = document["benchmarks"].as_array().unwrap();
        for (name, row) in rows(&result) {
            let trials: Vec<f64> = row.locations().into_iter().flatten().collect();
            let own = |kind: &str| -> Vec<&Value> {
                let is_own = |entry: &&Value| entry["run_name"] == name.as_str() && entry["run_type"] == kind;
                entries.iter().filter(is_own).collect()
            };
            let shown: Vec<f64> =
                own("iteration").iter().map(|entry| entry["real_time"].as_f64().unwrap()).collect();
            prop_assert_eq!(&shown, &trials);
            let mean = own("aggregate").first().map(|entry| entry["real_time"].as_f64().unwrap());
            prop_assert_eq!(mean, row.location().filter(|_| trials.len() > 1).map(|figure| figure.value));
        }
        let unmeasured = result.cases.iter().filter(|case| case.trials().is_empty()).count();
        prop_assert_eq!(document["context"]["not_measured"].as_object().unwrap().len(), unmeasured);
    }

    #[test]
    fn openmetrics_has_the_figures_of_the_table(result in arbitrary::result()) {
        let text = shown(&result, "openmetrics");
        let samples = samples(&text);
        let find = |name: &str, row: &str| {
            let is_it = |sample: &&Sample| sample.name == name && sample.labels.get("row").is_some_and(|of| of == row);
            samples.iter().find(is_it).map(|sample| sample.value)
        };
        for (name, row) in rows(&result) {
            prop_assert_eq!(find("ipcmark_row_measured", &name), Some(1.0));
            prop_assert_eq!(find("ipcmark_cpu_per_message_nanoseconds", &name), Some(row.cpu_per_message()));
            let event = name.rsplit('/').next().unwrap().split('#').next().unwrap();
            let shown = find(&format!("ipcmark_{event}_nanoseconds"), &name);
            prop_assert_eq!(shown, row.location().map(|figure| figure.value));
        }
        let measured = samples.iter().filter(|sample| sample.name == "ipcmark_row_measured");
        prop_assert_eq!(measured.count(), result.cases.len());
    }

    #[test]
    fn a_histogram_log_has_the_samples_of_the_file(result in arbitrary::result()) {
        let text = shown(&result, "hlog");
        let mut lines = text.lines().skip_while(|line| !line.starts_with('"')).skip(1);
        for (name, case) in row_names(&result).iter().zip(&result.cases) {
            for trial in case.trials() {
                let cells: Vec<&str> = lines.next().expect("a line a trial").split(',').collect();
                prop_assert_eq!(cells.len(), 5);
                prop_assert_eq!(cells[0], format!("Tag={name}"));
                prop_assert_eq!(cells[4], &trial.times_ns.histogram);
                prop_assert!(cells[1..4].iter().all(|cell| cell.parse::<f64>().is_ok()), "{cells:?}");
            }
        }
        prop_assert_eq!(lines.next(), None);
    }

    #[test]
    fn a_reader_of_histogram_logs_reads_it(result in arbitrary::result()) {
        let text = shown(&result, "hlog");
        let entries = IntervalLogIterator::new(text.as_bytes()).map(|entry| entry.expect("it is an entry"));
        let intervals = entries.filter_map(|entry| match entry {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
        let read: Vec<(String, f64)> = intervals
            .map(|interval| (interval.tag().unwrap().as_str().to_owned(), interval.max()))
            .collect();
        let in_ms = |trial: &Trial| format!("{:.6}", trial.times_ns.max as f64 / 1e6).parse().unwrap();
        let mut expected: Vec<(String, f64)> = Vec::new();
        for (name, case) in row_names(&result).iter().zip(&result.cases) {
            expected.extend(case.trials().iter().map(|trial| (name.clone(), in_ms(trial))));
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn a_distribution_counts_the_samples_of_its_row(result in arbitrary::result()) {
        for place in 0..result.cases.len() {
            let mut one = result.clone();
            one.cases = vec![result.cases[place].clone()];
            let terminal = Terminal { width: 80, color: false, ascii: false };
            let shown = format("hgrm").unwrap().render(&one, terminal);
            let samples = rows(&one).into_values().next().and_then(|row| row.histogram());
            let is_stream = one.cases[0].identity.pattern.is_stream();
            let Some(samples) = samples.filter(|_| !is_stream) else {
                prop_assert!(shown.is_err());
                continue;
            };
            let text = shown.unwrap();
            let lines = text.lines().filter(|line| !line.starts_with('#')).skip(2);
            let cells: Vec<Vec<f64>> = lines
                .map(|line| line.split_whitespace().map(|cell| cell.parse().unwrap()).collect())
                .collect();
            prop_assert!(cells.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][2] <= pair[1][2]));
            let last = cells.last().unwrap();
            prop_assert_eq!((last[1], last[2], last.len()), (1.0, samples.len() as f64, 3));
            prop_assert!(last[0] >= samples.max() as f64);
        }
    }
}
