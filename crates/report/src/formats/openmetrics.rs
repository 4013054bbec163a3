//! OpenMetrics text exposition, for Prometheus and compatible tools. Times are in nanoseconds, as their names say. It
//! uses only features of Prometheus' older text format, because node_exporter reads nothing else: so the machine is a
//! gauge of 1 with labels, not of the type `info`.

use std::collections::BTreeMap;

use ipcmark_results::{Figure, RunResult, Status};

use crate::{
    format::Format,
    plain::plain,
    remarks,
    series::{EVENTS, Series, series},
};

/// Labels with their values.
type Labels = Vec<(&'static str, String)>;

/// A family of gauges, in the order in which they are written.
struct Family {
    name: String,
    unit: &'static str,
    help: &'static str,
    samples: Vec<String>,
}

fn exposition(result: &RunResult) -> String {
    let all = series(result);
    let families =
        [info(result), rows(&all), locations(&all), quantiles(&all), streams(&all), costs(&all)];
    let written = families.iter().flatten().filter(|family| !family.samples.is_empty());
    written.map(Family::text).collect::<String>() + "# EOF\n"
}

/// The run and the machine.
fn info(result: &RunResult) -> Vec<Family> {
    let (run, machine) = (&result.run, &result.environment);
    let run = [("id", &run.id), ("started_at", &run.started_at), ("version", &run.version)];
    let governor = machine.governor.clone().unwrap_or_default();
    let machine = [
        ("cpu_model", &machine.cpu_model),
        ("kernel", &machine.kernel),
        ("os", &machine.os),
        ("hypervisor", &machine.hypervisor),
        ("governor", &governor),
        ("placement", &machine.placement),
        ("sandbox", &machine.sandbox),
    ];
    [("ipcmark_run_info", "The run.", &run[..]), ("ipcmark_machine_info", "The machine.", &machine)]
        .map(|(name, help, labels)| {
            let mut family = Family::new(name, "", help);
            family.add(&labels.iter().map(|(label, value)| (*label, plain(value))).collect(), 1);
            family
        })
        .into()
}

/// 1 for a row that was measured, 0 for one that was not, with the reason.
fn rows(all: &[Series]) -> Vec<Family> {
    let help = "1 for a row that was measured, 0 for one that was not, with the reason.";
    let mut family = Family::new("ipcmark_row_measured", "", help);
    for series in all {
        let mut labels = identity(series);
        labels.push(("status", series.case.status().to_string()));
        if series.case.status() != Status::Ok {
            labels.push(("reason", remarks::reason(series.case)));
        }
        family.add(&labels, if series.row.is_some() { "1" } else { "0" });
    }
    vec![family]
}

/// The figure of the table and its interval: three families an event, because a time and its bounds are different
/// metrics.
fn locations(all: &[Series]) -> Vec<Family> {
    let mut families = Vec::new();
    for event in EVENTS {
        let of_event = all.iter().filter(|series| series.event == event);
        let found = of_event.filter_map(|series| Some((series, series.location()?))).collect();
        let base = format!("ipcmark_{}", event.as_str());
        families.extend(bounded(&base, "nanoseconds", event.meaning(), found));
    }
    families
}

/// Messages a second of streams.
fn streams(all: &[Series]) -> Vec<Family> {
    let found = all.iter().filter_map(|series| Some((series, series.messages_per_second()?)));
    let help = "Messages a second of a stream, as received.";
    bounded("ipcmark_stream", "messages_per_second", help, found.collect())
}

/// A family of figures, and one for each bound of their intervals.
fn bounded(
    base: &str,
    unit: &'static str,
    help: &'static str,
    found: Vec<(&Series, Figure)>,
) -> Vec<Family> {
    let family = |part: &str, help| Family::new(&format!("{base}{part}_{unit}"), unit, help);
    let mut value = family("", help);
    let mut low = family("_low", "Lower bound of the 95 % interval.");
    let mut high = family("_high", "Upper bound of the 95 % interval.");
    for (series, figure) in found {
        let labels = identity(series);
        value.add(&labels, figure.value);
        if let Some(interval) = figure.interval {
            low.add(&labels, interval.low);
            high.add(&labels, interval.high);
        }
    }
    vec![value, low, high]
}

/// The percentiles of the table.
fn quantiles(all: &[Series]) -> Vec<Family> {
    let mut families = BTreeMap::new();
    for series in all.iter().filter(|series| series.has_percentiles()) {
        let name = format!("ipcmark_{}_quantile_nanoseconds", series.event.as_str());
        let help = "Percentiles of the times of events, as far as the samples carry them.";
        let family =
            families.entry(name.clone()).or_insert_with(|| Family::new(&name, "nanoseconds", help));
        for (label, q) in [("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999)] {
            let Some(figure) = series.row.and_then(|row| row.percentile(q)) else { continue };
            let mut labels = identity(series);
            labels.push(("quantile", label.into()));
            family.add(&labels, figure.value);
        }
    }
    families.into_values().collect()
}

/// CPU time per message.
fn costs(all: &[Series]) -> Vec<Family> {
    let help = "CPU time of all processes a message, median over the trials.";
    let mut family = Family::new("ipcmark_cpu_per_message_nanoseconds", "nanoseconds", help);
    for (series, row) in all.iter().filter_map(|series| Some((series, series.row?))) {
        family.add(&identity(series), row.cpu_per_message());
    }
    vec![family]
}

fn identity(series: &Series) -> Labels {
    let identity = &series.case.identity;
    vec![
        ("row", series.name.clone()),
        ("transport", plain(&identity.transport)),
        ("pattern", identity.pattern.to_string()),
        ("payload_bytes", identity.payload_bytes.to_string()),
        ("wait", identity.wait.to_string()),
    ]
}

impl Family {
    fn new(name: &str, unit: &'static str, help: &'static str) -> Self {
        Self { name: name.into(), unit, help, samples: Vec::new() }
    }

    fn add(&mut self, labels: &Labels, value: impl ToString) {
        self.samples.push(format!("{}{} {}\n", self.name, braces(labels), value.to_string()));
    }

    fn text(&self) -> String {
        let Self { name, unit, help, .. } = self;
        let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
        format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}\n{}", self.samples.concat())
    }
}

fn braces(labels: &Labels) -> String {
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", labels.join(","))
}

/// The value of a label: backslash, quote and line feed are escaped, because they would end or change it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// OpenMetrics text exposition.
pub(super) const FORMAT: Format = Format {
    name: "openmetrics",
    summary: "OpenMetrics, for Prometheus: times, bounds, percentiles, CPU time",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(exposition(result)),
};
