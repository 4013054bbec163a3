//! The data of the charts: one entry a row, for the report's script.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{
    Change, GRID, Group, GroupKey, Row, RunResult, Times, compare_runs, curve, groups,
};
use serde::Serialize;

use crate::{
    columns::Scale,
    html::{
        definitions,
        source::Source,
        swept::{self, AxisPlace, DrawnAxis},
        timeline::{Timeline, timeline},
    },
    names,
    plain::plain,
    units,
};

/// All data that is drawn.
#[derive(Serialize)]
pub struct Charts {
    /// The points of the curves: see [`GRID`].
    grid: &'static [f64],
    /// Names of the files.
    files: Vec<String>,
    /// The statistics available for the axis of times.
    measures: Vec<Measure>,
    /// The properties over which there are lines.
    axes: Vec<DrawnAxis>,
    /// One entry a row of the tables.
    rows: Vec<Plotted>,
    /// The disturbances of the machine in each result.
    timelines: Vec<Timeline>,
}

/// A statistic of the round trips.
#[derive(Serialize)]
struct Measure {
    word: &'static str,
    key: String,
}

/// A row; its times are in ns and as in the tables: half of a round trip if the tables show half.
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
    /// Several followers or pairs as text; else empty.
    subscribers: String,
    /// The way messages are offered, as text.
    load: String,
    /// Its places on the axes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<AxisPlace>,
    /// Messages a second that a stream carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    carried: Option<f64>,
    /// The time of the sender's call, as a part of a message's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<f64>,
    trials: usize,
    /// The kind of its times: `½ round trip`.
    what: &'static str,
    /// One time for each measure.
    times: Vec<f64>,
    cpu: f64,
    curve: Vec<f64>,
    /// The verdict on its mean against that of the first file.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
}

/// The text for a closed loop.
const CLOSED: &str = "one after the other";

/// Thirty years, in ns.
const LONGEST: f64 = 1e18;

type Statistic = fn(&Times) -> f64;

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
    /// The data of these results. The error names the file and its case.
    pub fn of(sources: &[Source]) -> Result<Self, String> {
        let mut rows = Vec::new();
        let base = sources.first().map(|source| source.result);
        for (file, source) in sources.iter().enumerate() {
            let base = base.filter(|_| file > 0);
            let change = base.map(|base| compare_runs(&[base], &[source.result]));
            let plotted = plotted(file, source.result, change.as_ref())
                .map_err(|cause| format!("cannot draw {}: {cause}; measure again", source.name))?;
            rows.extend(plotted);
        }
        let axes = drawn(&mut rows);
        let measure = |(word, _): &(&'static str, _)| Measure { word, key: definitions::key(word) };
        Ok(Self {
            grid: &GRID,
            files: sources.iter().map(|source| plain(&source.name)).collect(),
            measures: MEASURES.iter().map(measure).collect(),
            axes,
            rows,
            timelines: sources
                .iter()
                .enumerate()
                .filter_map(|(file, source)| timeline(file, source.result))
                .collect(),
        })
    }

    /// The charts for which there are data, beside those of every page.
    pub fn further(&self) -> Vec<&'static str> {
        let has = |some: fn(&Plotted) -> bool| self.rows.iter().any(some);
        let each = [
            ("swept", !self.axes.is_empty()),
            ("throughput", has(|row| row.carried.is_some())),
            ("oneway", has(|row| row.send.is_some())),
            ("timeline", !self.timelines.is_empty()),
        ];
        each.into_iter().filter_map(|(id, is_there)| is_there.then_some(id)).collect()
    }

    /// The data as text that can be put into a `script` element: nothing in it ends the element, opens a comment or
    /// ends a line of JavaScript.
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

fn plotted(
    file: usize,
    result: &RunResult,
    change: Option<&Change>,
) -> Result<Vec<Plotted>, String> {
    let mut plotted = Vec::new();
    for group in groups(result) {
        let scale = Scale::of(&group);
        for new in &group.rows {
            let pair = change.and_then(|change| change.of_new(&new.case.identity));
            let verdict = pair.map(|pair| names::verdict(&pair.comparison).to_owned());
            plotted.push(Plotted { verdict, ..plot(file, &group, scale, new)? });
        }
    }
    Ok(plotted)
}

fn several(group: &Group) -> String {
    let GroupKey { pattern, subscribers, silent_subscribers, pairs, .. } = group.key;
    let followers = names::followers(pattern, subscribers, silent_subscribers);
    let pairs = names::pairs(pairs);
    let row = group.rows.first();
    let ends = row.and_then(|row| row.case.identity.between.as_ref()).map(names::between);
    followers.into_iter().chain(pairs).chain(ends).collect::<Vec<_>>().join(", ")
}

fn plot(file: usize, group: &Group, scale: Scale, row: &Row) -> Result<Plotted, String> {
    let identity = &row.case.identity;
    let points = curve(row.trials)
        .map_err(|cause| format!("the histogram of {} is {cause}", identity.transport))?;
    let carried = row.messages_per_second().filter(|figure| figure.is_finite());
    let has_figure = carried.is_some() || !identity.pattern.is_stream();
    Ok(Plotted {
        file,
        name: names::transport(identity),
        family: plain(&identity.family),
        pattern: identity.pattern.to_string(),
        payload: identity.payload_bytes,
        size: units::size(identity.payload_bytes),
        wait: identity.wait.to_string(),
        touch: identity.touch.to_string(),
        span: identity.span.to_string(),
        subscribers: several(group),
        load: names::load(identity.load).unwrap_or_else(|| CLOSED.into()),
        places: if has_figure { swept::places(identity) } else { Vec::new() },
        carried,
        send: row.send_ns().filter(|figure| figure.is_finite()),
        trials: row.trials.len(),
        what: scale.what(),
        times: MEASURES.iter().map(|(_, of)| rounded(time(row, *of) * scale.factor())).collect(),
        cpu: rounded(row.cpu_per_message()),
        curve: points.into_iter().map(|ns| ns as f64 * scale.factor()).collect(),
        verdict: None,
    })
}

/// The median over the trials of a row.
fn time(row: &Row, statistic: Statistic) -> f64 {
    row.median(|trial| statistic(&trial.times_ns))
}

/// Rounds to tenths of a ns, which is finer than any clock. A time longer than any run is limited, because a file from
/// elsewhere may hold any number.
fn rounded(ns: f64) -> f64 {
    (ns.min(LONGEST) * 10.0).round() / 10.0
}

/// The line of a row on an axis: rows that differ in nothing but their place.
type LineKey = (DrawnAxis, (usize, u64), [String; 5]);

fn key(row: &Plotted, place: &AxisPlace) -> LineKey {
    let drawn = DrawnAxis { axis: place.axis, stream: row.carried.is_some() };
    let traits = [&row.name, &row.wait, &row.touch, &row.span, &place.line].map(String::clone);
    (drawn, (row.file, row.payload), traits)
}

/// The axes with a line of several points, or with single points that say something. Removes all other places from the
/// rows.
fn drawn(rows: &mut [Plotted]) -> Vec<DrawnAxis> {
    let mut lines: BTreeMap<LineKey, BTreeSet<u64>> = BTreeMap::new();
    for row in rows.iter() {
        for place in &row.places {
            lines.entry(key(row, place)).or_default().insert(place.at);
        }
    }
    lines.retain(|(drawn, ..), points| points.len() > 1 || drawn.axis.has_single_points());
    for row in rows {
        let mut places = std::mem::take(&mut row.places);
        places.retain(|place| lines.contains_key(&key(row, place)));
        row.places = places;
    }
    let axes: BTreeSet<DrawnAxis> = lines.into_keys().map(|(drawn, ..)| drawn).collect();
    axes.into_iter().collect()
}
