//! HdrHistogram's interval log: one line a trial, tagged with the name of its row, with every sample at all distances.

use std::time::{Duration, UNIX_EPOCH};

use ipcmark_results::{RunResult, Trial};

use crate::{format::Format, series::series};

/// Readers of the log expect the longest time of an interval in milliseconds.
const NS_PER_MS: f64 = 1e6;

fn log(result: &RunResult) -> String {
    let mut text = head(result);
    let mut start_ns = 0;
    for series in series(result) {
        for trial in series.case.trials() {
            text += &line(&series.name, trial, start_ns);
            start_ns = trial.elapsed_ns.saturating_add(start_ns);
        }
    }
    text
}

/// The start in seconds since the epoch, the legend and the column names.
fn head(result: &RunResult) -> String {
    let started = humantime::parse_rfc3339(&result.run.started_at).unwrap_or(UNIX_EPOCH);
    let since_epoch = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since_epoch.as_secs_f64();
    let date =
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(since_epoch.as_secs()));
    format!(
        "#[Histogram log format version 1.3]\n\
         #[StartTime: {seconds:.3} (seconds since epoch), {date}]\n\
         #[histograms in ns, Interval_Max in ms; the sampled blocks of the trials, one trial behind the other]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

fn line(name: &str, trial: &Trial, start_ns: u64) -> String {
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
    let times = &trial.times_ns;
    format!(
        "Tag={name},{:.9},{:.9},{:.6},{}\n",
        seconds(start_ns),
        seconds(trial.elapsed_ns),
        times.max as f64 / NS_PER_MS,
        times.histogram
    )
}

/// HdrHistogram's interval log.
pub(super) const FORMAT: Format = Format {
    name: "hlog",
    summary: "HdrHistogram's log: every sample, one line a trial, tagged with its row",
    for_terminals: true,
    for_programs: true,
    one_row: false,
    text: |result, _| Ok(log(result)),
};
