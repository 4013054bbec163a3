//! The maps of a job's hosts: the time of a message between each two of its ranks.

use std::collections::BTreeSet;

use ipcmark_results::{
    Figure, GroupKey, HostMap, HostPair, Outlier, RankPlace, RunResult, host_maps,
};

use crate::{
    columns::Scale,
    matrix::{Matrix, MatrixCell, MatrixEnd, MatrixPart, MatrixWords},
    names::{self, Titles},
    plain::plain,
    remarks,
    units::{count, duration},
};

const WORDS: MatrixWords = MatrixWords {
    end: "",
    too_wide: "ipcmark report draws it",
    missing: "",
    listed: "pairs that were not measured",
    more: "--format csv has all of them",
    cell: "the darker, the longer",
};

/// The maps of a result; empty if it was not measured between each two ranks of a job.
pub fn matrices(result: &RunResult) -> Vec<Matrix> {
    let titles = Titles::of(result);
    host_maps(result).iter().map(|map| matrix(map, &titles)).collect()
}

fn matrix(map: &HostMap, titles: &Titles) -> Matrix {
    let key = GroupKey { between: None, ..GroupKey::of(map.identity) };
    let scale = scale(map);
    let what = [names::transport(map.identity), key.pattern.to_string()];
    let title = [what.join(" · "), titles.short(&key), kind_of_time(map, scale)].join(" · ");
    // Lines between hosts separate nothing if each host has one rank.
    let hosts: BTreeSet<&str> = map.ranks.values().map(|place| place.host.as_str()).collect();
    let shares = hosts.len() < map.ranks.len();
    let end = |(rank, place): (&u32, &&RankPlace)| MatrixEnd {
        id: *rank,
        name: plain(&place.to_string()),
        place: if shares { plain(&place.host) } else { String::new() },
    };
    let cell = |(ends, pair): (&(u32, u32), &HostPair)| (*ends, cell(*ends, pair, scale));
    Matrix {
        title,
        ends: map.ranks.iter().map(end).collect(),
        cells: map.pairs.iter().map(cell).collect(),
        missing: 0,
        notes: map.outliers().iter().map(|outlier| sentence(map, outlier, scale)).collect(),
        words: &WORDS,
    }
}

fn scale(map: &HostMap) -> Scale {
    let times = map.pairs.values().filter_map(|pair| pair.time).map(|time| time.value);
    Scale::of_times(&GroupKey::of(map.identity), times)
}

fn cell(ends: (u32, u32), pair: &HostPair, scale: Scale) -> MatrixCell {
    let part = |time: Figure| MatrixPart { time_ns: Some(time.value * scale.factor()), share: 1.0 };
    MatrixCell {
        ends,
        relation: kind(pair.is_one_host).into(),
        parts: pair.time.map(part).into_iter().collect(),
        reason: pair.time.is_none().then(|| remarks::reason(pair.case)),
    }
}

fn kind(is_one_host: bool) -> &'static str {
    if is_one_host { "on one host" } else { "between two hosts" }
}

/// The sentence about a pair whose time differs from most.
fn sentence(map: &HostMap, outlier: &Outlier, scale: Scale) -> String {
    let (leader, follower) = outlier.pair;
    let name = |rank| map.ranks.get(&rank).map_or(String::new(), |place| plain(&place.to_string()));
    let time = |ns: f64| duration(ns * scale.factor());
    format!(
        "{} – {} takes {}, {:.2} times the median of the {} pairs {}, {}: further from it than three scaled median \
        absolute \
         deviations, and its interval does not contain it",
        name(leader),
        name(follower),
        time(outlier.time.value),
        outlier.time.value / outlier.usual_ns,
        count(outlier.among as u64),
        kind(outlier.is_one_host),
        time(outlier.usual_ns),
    )
}

/// The kind of time in a cell of the map: a stream has no times of single messages.
fn kind_of_time(map: &HostMap, scale: Scale) -> String {
    let how = if map.identity.pattern.is_stream() { "mean" } else { "median" };
    format!("{how} {}", scale.what())
}
