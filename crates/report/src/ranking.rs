//! A run in progress, in short form: the current ranking of one group, and the distribution of a row's samples.

use ipcmark_results::{Group, Identity, Row, RunResult, groups};

use crate::{
    columns::{Scale, rank, uncertainty},
    names::{self, Titles},
    units::{count, duration, percent},
};

/// The current state of the group of a row.
pub struct CurrentRanking {
    /// The group: `latency · 64 B · spin`.
    pub title: String,
    /// The kind of its times: `½ round trip in µs`.
    pub caption: String,
    /// Its rows, the fastest first: rank, name, time, interval.
    pub rows: Vec<[String; 4]>,
    /// The current distances between the processors, with their shares.
    pub distances: String,
    /// The samples of the fastest row.
    pub samples: Option<RowSamples>,
}

/// The samples of a row, in the unit of the ranking: half of a round trip if half is shown.
pub struct RowSamples {
    /// The row, their number, median and 99th percentile.
    pub title: String,
    /// The shortest and the longest time that is drawn: 99 of 100 are shorter than the latter.
    pub ends: [String; 2],
    /// The number of samples in each of several ranges of equal ratio.
    pub bars: Vec<u64>,
}

/// The current state of the group of this row in a placed result, with this number of bars; none if the row was not
/// measured.
pub fn current_ranking(
    result: &RunResult,
    identity: &Identity,
    bars: usize,
) -> Option<CurrentRanking> {
    let groups = groups(result);
    let has = |group: &&Group| group.rows.iter().any(|row| row.case.identity == *identity);
    let group = groups.iter().find(has)?;
    let scale = Scale::of(group);
    Some(CurrentRanking {
        title: Titles::of(result).title(group),
        caption: scale.caption(),
        rows: group.rows.iter().map(|row| cells(row, scale)).collect(),
        distances: distances(result),
        samples: samples(&group.rows[0], scale, bars),
    })
}

/// `54.8 ns in 97 % of the blocks, 400 ns in 3 %`
fn distances(result: &RunResult) -> String {
    let all = result.distances.iter().flat_map(|distances| &distances.all);
    let all = all.filter(|distance| distance.share > 0.0).enumerate();
    let words = all.map(|(at, distance)| {
        let of = if at == 0 { " of the blocks" } else { "" };
        format!("{} in {}{of}", duration(distance.floor_round_trip_ns), percent(distance.share))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn cells(row: &Row, scale: Scale) -> [String; 4] {
    let location = row.location();
    let interval = uncertainty(location);
    let interval = if interval == "–" { interval } else { format!("± {interval}") };
    let time = location.map_or_else(|| "–".into(), |figure| scale.trip(figure.value));
    [rank(row), names::row(row), time, interval].map(|cell| cell.trim().to_owned())
}

fn samples(row: &Row, scale: Scale, bars: usize) -> Option<RowSamples> {
    let all = row.overall().histogram()?;
    let (low, high) = (all.min().max(1) as f64, all.value_at_quantile(0.99).max(2) as f64);
    let width = (high / low).ln().max(f64::MIN_POSITIVE);
    let mut found = vec![0; bars.max(1)];
    for step in all.iter_recorded() {
        let part = (step.value_iterated_to() as f64 / low).ln() / width;
        if part <= 1.0 {
            let at = (part.max(0.0) * found.len() as f64) as usize;
            found[at.min(bars.max(1) - 1)] += step.count_at_value();
        }
    }
    let time = |ns: f64| duration(ns * scale.factor());
    let quantile = |q| time(all.value_at_quantile(q) as f64);
    Some(RowSamples {
        title: format!(
            "{} · {} samples · p50 {} · p99 {}",
            names::row(&Row { rank: None, ..*row }),
            count(all.len()),
            quantile(0.5),
            quantile(0.99)
        ),
        ends: [time(low), time(high)],
        bars: found,
    })
}
