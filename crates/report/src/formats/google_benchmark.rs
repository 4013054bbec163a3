//! The JSON of Google Benchmark: a repetition a trial, so that its `compare.py` tests the trials of two files against
//! each other. An iteration is an event; its CPU time is that of all processes.

use ipcmark_results::{Row, RunResult, Trial};
use serde_json::{Map, Value, json};

use crate::{
    format::Format,
    plain::plain,
    remarks,
    series::{Series, series},
};

fn document(result: &RunResult) -> String {
    let all = series(result);
    let benchmarks: Vec<Value> =
        all.iter().enumerate().flat_map(|(family, series)| entries(family, series)).collect();
    format!("{:#}\n", json!({ "context": context(result, &all), "benchmarks": benchmarks }))
}

/// The machine under the names of Google Benchmark; properties without a name there have names of ours.
fn context(result: &RunResult, all: &[Series]) -> Value {
    let (run, machine) = (&result.run, &result.environment);
    json!({
        "date": run.started_at,
        "executable": run.command.first(),
        "num_cpus": machine.cpus_usable,
        "cpu_scaling_enabled": machine.governor.as_ref().is_some_and(|name| name != "performance"),
        "caches": [],
        "library_build_type": "release",
        "ipcmark_version": run.version,
        "cpu_model": machine.cpu_model,
        "kernel": machine.kernel,
        "hypervisor": machine.hypervisor,
        "not_measured": not_measured(all),
    })
}

/// The reasons of the rows that have no entry: an entry without a time would spoil the geometric mean that `compare.py`
/// prints at the end.
fn not_measured(all: &[Series]) -> Map<String, Value> {
    let unmeasured = all.iter().filter(|series| series.row.is_none());
    let reason =
        |series: &Series| format!("{}: {}", series.case.status(), remarks::reason(series.case));
    unmeasured.map(|series| (series.name.clone(), reason(series).into())).collect()
}

/// The entries of a row: its trials, and the figure of the table if there are several.
fn entries(family: usize, series: &Series) -> Vec<Value> {
    let Some(row) = series.row else { return Vec::new() };
    let trials = row.trials.iter().zip(row.locations());
    let timed: Vec<(&Trial, f64)> =
        trials.filter_map(|(trial, location)| Some((trial, location?))).collect();
    let mut entries: Vec<Value> = timed
        .iter()
        .enumerate()
        .map(|(at, timed)| repetition(family, series, timed, at, &row))
        .collect();
    for entry in &mut entries {
        entry["repetitions"] = timed.len().into();
    }
    entries.extend(aggregate(family, series, timed.len(), &row));
    entries
}

fn repetition(
    family: usize,
    series: &Series,
    timed: &(&Trial, f64),
    at: usize,
    row: &Row,
) -> Value {
    let (trial, location_ns) = *timed;
    let mut entry = head(family, series);
    entry["name"] = series.name.clone().into();
    entry["run_type"] = "iteration".into();
    entry["repetition_index"] = at.into();
    entry["iterations"] = trial.times_ns.count.into();
    times(&mut entry, location_ns, trial.cpu_ns_per_message(), row);
    entry
}

/// The geometric mean over the trials, by which rows are ranked.
fn aggregate(family: usize, series: &Series, trials: usize, row: &Row) -> Option<Value> {
    let location = series.location().filter(|_| trials > 1)?;
    let mut entry = head(family, series);
    entry["name"] = format!("{}_geomean", series.name).into();
    entry["run_type"] = "aggregate".into();
    entry["aggregate_name"] = "geomean".into();
    entry["aggregate_unit"] = "time".into();
    entry["repetitions"] = trials.into();
    entry["iterations"] = trials.into();
    times(&mut entry, location.value, row.cpu_per_message(), row);
    Some(entry)
}

fn head(family: usize, series: &Series) -> Value {
    json!({
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": series.name,
        "threads": 1,
        "time_unit": "ns",
        "label": plain(&series.case.identity.family),
    })
}

fn times(entry: &mut Value, location_ns: f64, cpu_ns_per_message: f64, row: &Row) {
    let messages = row.case.identity.messages_per_publication();
    entry["real_time"] = location_ns.into();
    entry["cpu_time"] = (cpu_ns_per_message * messages as f64).into();
    if row.messages_per_second().is_some() {
        entry["items_per_second"] = (1e9 / location_ns).into();
    }
}

/// The JSON of Google Benchmark.
pub(super) const FORMAT: Format = Format {
    name: "google-benchmark",
    summary: "the JSON of Google Benchmark, for its compare.py",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(document(result)),
};
