//! The entries that github-action-benchmark reads as `customSmallerIsBetter`. A stream is ranked by the time per
//! message, because for messages a second a larger value would be better.

use ipcmark_results::{Figure, RunResult};
use serde_json::{Value, json};

use crate::{
    format::Format,
    series::{Series, series},
};

fn entries(result: &RunResult) -> String {
    let entries: Vec<Value> =
        series(result).iter().filter_map(|series| entry(result, series)).collect();
    format!("{:#}\n", Value::Array(entries))
}

fn entry(result: &RunResult, series: &Series) -> Option<Value> {
    let location = series.location()?;
    let mut entry = json!({
        "name": series.name,
        "unit": "ns",
        "value": location.value,
        "extra": extra(result, series),
    });
    if let Some(range) = range(location) {
        entry["range"] = range.into();
    }
    Some(entry)
}

/// The 95 % confidence interval of the value.
fn range(location: Figure) -> Option<String> {
    location.interval.map(|bounds| format!("{} to {}", bounds.low, bounds.high))
}

/// The text that a chart shows beside the value.
fn extra(result: &RunResult, series: &Series) -> String {
    let trials = format!("trials: {}", series.case.trials().len());
    let rate =
        series.messages_per_second().map(|rate| format!("messages a second: {}", rate.value));
    let machine = format!("ipcmark {} on {}", result.run.version, result.environment.cpu_model);
    [Some(trials), rate, Some(machine)].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// One entry a row for github-action-benchmark.
pub(super) const FORMAT: Format = Format {
    name: "github-action-benchmark",
    summary: "entries for github-action-benchmark, customSmallerIsBetter",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(entries(result)),
};
