//! What the charts draw: one entry a row, as data for the report's script.

use ipcmark_results::{Case, RoundTrip, RunResult};
use serde::Serialize;

use crate::{
    columns::Scale,
    html::{
        Source,
        changes::{self, Index},
        curve, definitions,
    },
    plain::plain,
    rows::{self, Group, Row},
    units,
};

/// Everything that is drawn.
#[derive(Serialize)]
pub struct Charts {
    /// Where the curves have their points: see [`curve::GRID`].
    grid: &'static [f64],
    /// Names of the files.
    files: Vec<String>,
    /// What can stand on the axis of times.
    measures: Vec<Measure>,
    /// One entry a row of the tables.
    rows: Vec<Plotted>,
}

/// A statistic of the round trips.
#[derive(Serialize)]
struct Measure {
    word: &'static str,
    key: String,
}

/// A row; its times are in ns and what the tables show: half of a round trip where they do.
#[derive(Serialize)]
struct Plotted {
    file: usize,
    name: String,
    family: String,
    pattern: String,
    payload: u64,
    size: String,
    wait: String,
    touch: String,
    span: String,
    /// Several followers in words, or nothing.
    subscribers: String,
    trials: usize,
    /// What its times are: `½ round trip`.
    what: &'static str,
    /// One time for each measure.
    times: Vec<f64>,
    cpu: f64,
    curve: Vec<f64>,
    /// What can be said of its p50 against that of the first file.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
}

/// Thirty years, in ns.
const LONGEST: f64 = 1e18;

type Statistic = fn(&RoundTrip) -> f64;

const MEASURES: &[(&str, Statistic)] = &[
    ("p50", |times| times.p50 as f64),
    ("p90", |times| times.p90 as f64),
    ("p99", |times| times.p99 as f64),
    ("p99.9", |times| times.p99_9 as f64),
    ("p99.99", |times| times.p99_99 as f64),
    ("max", |times| times.max as f64),
    ("mean", |times| times.mean),
];

impl Charts {
    /// What the charts draw of these results. The error names the file and its case.
    pub fn of(sources: &[Source]) -> Result<Self, String> {
        let mut rows = Vec::new();
        let base = sources.first().map_or_else(Vec::new, |source| rows::groups(source.result));
        let base = changes::index(&base);
        for (file, source) in sources.iter().enumerate() {
            let plotted = plotted(file, source.result, &base)
                .map_err(|cause| format!("cannot draw {}: {cause}; measure again", source.name))?;
            rows.extend(plotted);
        }
        let measure = |(word, _): &(&'static str, _)| Measure { word, key: definitions::key(word) };
        Ok(Self {
            grid: &curve::GRID,
            files: sources.iter().map(|source| plain(&source.name)).collect(),
            measures: MEASURES.iter().map(measure).collect(),
            rows,
        })
    }

    /// The data as text that can stand within a `script` element: nothing in it ends the element,
    /// opens a comment or ends a line of JavaScript.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("the data has text keys and finite figures");
        let mut text = String::with_capacity(json.len());
        for char in json.chars() {
            match char {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    text += &format!("\\u{:04x}", char as u32);
                }
                char => text.push(char),
            }
        }
        text
    }
}

fn plotted(file: usize, result: &RunResult, base: &Index) -> Result<Vec<Plotted>, String> {
    let groups = rows::groups(result);
    let row = |group: &Group, row: &Row| {
        let old = base.get(&changes::identity(row)).filter(|_| file > 0);
        let verdict = old.map(|old| changes::verdict(old, row));
        Ok(Plotted { verdict, ..plot(file, Scale::of(group), row)? })
    };
    groups.iter().flat_map(|group| group.rows.iter().map(move |each| row(group, each))).collect()
}

fn plot(file: usize, scale: Scale, row: &Row) -> Result<Plotted, String> {
    let case: &Case = row.cases[0];
    let points = curve::curve(&row.cases)?;
    Ok(Plotted {
        file,
        name: rows::transport_of(case),
        family: plain(&case.family),
        pattern: plain(&case.pattern),
        payload: case.payload_bytes,
        size: units::size(case.payload_bytes),
        wait: plain(&case.wait),
        touch: plain(&case.touch),
        span: plain(&case.span),
        subscribers: match case.subscribers {
            0 | 1 => String::new(),
            several => rows::followers(several, case.silent_subscribers),
        },
        trials: row.trials,
        what: scale.what(),
        times: MEASURES.iter().map(|(_, of)| rounded(time(row, *of) * scale.factor())).collect(),
        cpu: rounded(row.cpu_per_message),
        curve: points.into_iter().map(|ns| ns as f64 * scale.factor()).collect(),
        verdict: None,
    })
}

/// The median over the trials of a row.
fn time(row: &Row, statistic: Statistic) -> f64 {
    let figures = row.cases.iter().filter_map(|case| case.figures.as_ref());
    rows::median(figures.map(|figures| statistic(&figures.round_trip_ns)))
}

/// Tenths of a ns: finer than any clock. What is longer than any run is drawn as that, for a file of
/// others may hold anything that is a number.
fn rounded(ns: f64) -> f64 {
    (ns.min(LONGEST) * 10.0).round() / 10.0
}
