//! Bencher Metric Format: one benchmark a row. `latency` is in nanoseconds and `throughput` in messages a second, the
//! units of Bencher's own measures with these names.

use ipcmark_results::{Figure, RunResult};
use serde_json::{Map, Value, json};

use crate::{
    format::Format,
    series::{Event, Series, series},
};

fn metrics(result: &RunResult) -> Result<String, String> {
    let measured =
        series(result).into_iter().filter_map(|series| Some((benchmark(&series)?, series.name)));
    let benchmarks: Map<String, Value> =
        measured.map(|(benchmark, name)| (name, benchmark)).collect();
    Ok(format!("{:#}\n", Value::Object(benchmarks)))
}

fn benchmark(series: &Series) -> Option<Value> {
    match series.event {
        Event::Message => Some(json!({ "throughput": metric(series.messages_per_second()?) })),
        _ => Some(json!({ "latency": metric(series.location()?) })),
    }
}

fn metric(figure: Figure) -> Value {
    match figure.interval {
        None => json!({ "value": figure.value }),
        Some(bounds) => json!({
            "value": figure.value, "lower_value": bounds.low, "upper_value": bounds.high,
        }),
    }
}

/// One benchmark a row for Bencher.
pub(super) const FORMAT: Format = Format {
    name: "bmf",
    summary: "Bencher Metric Format: latency or throughput of each row, with bounds",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| metrics(result),
};
