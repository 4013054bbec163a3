//! The percentile distribution that HdrHistogram's plotter draws. The plotter draws one curve a file and would silently
//! join the lines of several rows into one curve, so a result with several rows is refused.

use hdrhistogram::Histogram;
use ipcmark_results::RunResult;

use crate::{
    format::Format,
    series::{Series, series},
};

/// Lines for each halving of the distance to 100 %, as HdrHistogram writes them.
const TICKS: u32 = 5;

/// The largest number of names in a refusal.
const MOST_NAMES: usize = 5;

fn distribution(result: &RunResult) -> Result<String, String> {
    let rows: Vec<Series> =
        series(result).into_iter().filter(|series| series.row.is_some()).collect();
    let [only] = &rows[..] else { return Err(refusal(&rows)) };
    let name = &only.name;
    if only.case.identity.pattern.is_stream() {
        return Err(format!(
            "cannot write hgrm: messages of a stream ({name}) are not timed individually"
        ));
    }
    let is_placed = only.row.is_some_and(|row| row.distance.is_some());
    let place = match is_placed && !only.case.identity.load.is_open() {
        true => "at the distance at which rows are compared",
        false => "at any distance",
    };
    let samples = only.row.and_then(|row| row.histogram());
    let samples =
        samples.ok_or_else(|| format!("cannot write hgrm: {name} has no samples {place}"))?;
    Ok(format!("#[{name}, in ns, {place}]\n{}", lines(&samples)))
}

fn refusal(rows: &[Series]) -> String {
    if rows.is_empty() {
        return "cannot write hgrm: no row was measured".into();
    }
    let names: Vec<&str> =
        rows.iter().take(MOST_NAMES).map(|series| series.name.as_str()).collect();
    let more = if rows.len() > MOST_NAMES { ", …" } else { "" };
    format!(
        "cannot write hgrm: it holds one row and this result has {}; name one of a saved result with `ipcmark show \
         RESULT.json --row NAME --format hgrm`: {}{more}",
        rows.len(),
        names.join(", ")
    )
}

fn lines(samples: &Histogram<u64>) -> String {
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut below = 0;
    for step in samples.iter_quantiles(TICKS) {
        below += step.count_since_last_iteration();
        text += &line(step.value_iterated_to(), step.quantile_iterated_to(), below);
    }
    text + &foot(samples)
}

/// The last line has no last column: its value would be infinite.
fn line(value: u64, quantile: f64, below: u64) -> String {
    let rest = 1.0 - quantile;
    let inverse = if rest > 0.0 { format!(" {:14.2}", 1.0 / rest) } else { String::new() };
    format!("{:12.3} {quantile:2.12} {below:10}{inverse}\n", value as f64)
}

fn foot(samples: &Histogram<u64>) -> String {
    format!(
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n",
        samples.mean(),
        samples.stdev(),
        samples.max() as f64,
        samples.len(),
        samples.buckets(),
        SUB_BUCKETS
    )
}

/// Sub-buckets of a histogram of three significant digits.
const SUB_BUCKETS: u32 = 2_048;

/// The percentile distribution for HdrHistogram's plotter.
pub(super) const FORMAT: Format = Format {
    name: "hgrm",
    summary: "the percentiles of one row, for HdrHistogram's plotter",
    for_terminals: true,
    for_programs: true,
    one_row: true,
    text: |result, _| distribution(result),
};
