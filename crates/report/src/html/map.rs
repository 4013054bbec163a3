//! The map of every transport against every payload: a table for each kind of wait that names every row.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{GroupKey, Row, RunResult, Span, groups};
use serde::Serialize;

use crate::{
    columns::Scale,
    names::{self, Titles},
    units::{count, duration, size},
};

/// The darkest shade: for 2 to this power times the best of the column, and more.
const DARKEST: f64 = 8.0;

/// A map.
#[derive(Serialize)]
pub struct Map {
    /// Number of the result among the files.
    file: usize,
    title: String,
    caption: String,
    payloads: Vec<String>,
    rows: Vec<MapRow>,
}

/// A transport.
#[derive(Serialize)]
struct MapRow {
    name: String,
    /// One cell for each payload; none if it was not measured.
    cells: Vec<Option<MapCell>>,
}

/// A figure and its shade.
#[derive(Clone, Serialize)]
struct MapCell {
    text: String,
    /// The distance from the best of its column: 0 up to twice, then one more for each doubling.
    shade: u32,
    /// True if no row of its column is distinguishably better.
    first: bool,
}

/// The content of a cell, before the comparison with its column.
struct CellValue {
    payload: u64,
    /// The time that decides the shade.
    ns: f64,
    text: String,
    first: bool,
    /// True if it is ranked in its group: the others are not compared with those that are.
    ranked: bool,
}

/// The maps of a result: of rows between processes with several payloads, or of several rows.
pub fn maps(file: usize, result: &RunResult) -> Vec<Map> {
    let titles = Titles::of(result);
    let groups = groups(result);
    let mut found: BTreeMap<GroupKey, Vec<(GroupKey, &Row, Scale)>> = BTreeMap::new();
    for group in &groups {
        let Some((_, touch)) = group.key.payload else { continue };
        if group.key.span.0 != Span::Process {
            continue;
        }
        let key = GroupKey { payload: Some((0, touch)), ..group.key };
        let scale = Scale::of(group);
        found.entry(key).or_default().extend(group.rows.iter().map(|row| (group.key, row, scale)));
    }
    let is_map = |rows: &Vec<(GroupKey, &Row, Scale)>| rows.len() > 1;
    let maps = found.values().filter(|rows| is_map(rows)).map(|rows| map(file, rows, &titles));
    maps.collect()
}

fn map(file: usize, rows: &[(GroupKey, &Row, Scale)], titles: &Titles) -> Map {
    let (key, _, scale) = rows[0];
    let caption = match key.pattern.is_stream() {
        true => "messages a second".into(),
        false => scale.what().to_owned(),
    };
    let mut by_name: BTreeMap<String, Vec<CellValue>> = BTreeMap::new();
    for (key, row, scale) in rows {
        let entries = by_name.entry(names::transport(&row.case.identity)).or_default();
        entries.extend(entry(*key, row, *scale));
    }
    let all = || by_name.values().flatten();
    let payloads: BTreeSet<u64> = all().map(|entry| entry.payload).collect();
    let best: BTreeMap<u64, f64> = payloads.iter().map(|at| (*at, best(all(), *at))).collect();
    let mut lines: Vec<(f64, MapRow)> = by_name
        .iter()
        .map(|(name, entries)| {
            let cells = payloads.iter().map(|payload| {
                let entry = entries.iter().find(|entry| entry.payload == *payload)?;
                Some(cell(entry, best[payload]))
            });
            (distance(entries, &best), MapRow { name: name.clone(), cells: cells.collect() })
        })
        .collect();
    lines.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Map {
        file,
        title: title(key, titles),
        caption,
        payloads: payloads.into_iter().map(size).collect(),
        rows: lines.into_iter().map(|(_, line)| line).collect(),
    }
}

/// The properties that the rows of a map share: all but the payload.
fn title(key: GroupKey, titles: &Titles) -> String {
    let mut parts = vec![key.pattern.to_string()];
    let touch = titles.payload(&key).into_iter().skip(1);
    parts.extend(touch);
    parts.extend(names::load(key.load));
    parts.extend(names::followers(key.pattern, key.subscribers, key.silent_subscribers));
    parts.extend(names::pairs(key.pairs));
    parts.push(key.wait.to_string());
    parts.extend(key.between.map(|(leader, follower)| format!("ranks {leader} – {follower}")));
    parts.join(" · ")
}

fn entry(key: GroupKey, row: &Row, scale: Scale) -> Option<CellValue> {
    let ns = row.location()?.value;
    let text = match row.messages_per_second() {
        Some(rate) => count(rate.round() as u64),
        None => duration(ns * scale.factor()),
    };
    let (payload, _) = key.payload?;
    let (first, ranked) = (row.rank.is_some_and(|rank| rank.number == 1), row.rank.is_some());
    Some(CellValue { payload, ns, text, first, ranked })
}

fn cell(entry: &CellValue, best: f64) -> MapCell {
    let shade = (entry.ns / best).log2().clamp(0.0, DARKEST) as u32;
    MapCell { text: entry.text.clone(), shade, first: entry.first }
}

/// The least time of a payload: of the rows that are ranked, if there are any.
fn best<'e>(entries: impl Iterator<Item = &'e CellValue> + Clone, payload: u64) -> f64 {
    let own = entries.filter(move |entry| entry.payload == payload);
    let least = |entries: &mut dyn Iterator<Item = &'e CellValue>| {
        entries.map(|entry| entry.ns).fold(f64::INFINITY, f64::min)
    };
    match least(&mut own.clone().filter(|entry| entry.ranked)) {
        f64::INFINITY => least(&mut own.clone()),
        ranked => ranked,
    }
}

/// The mean distance of a row from the best of its columns.
fn distance(entries: &[CellValue], best: &BTreeMap<u64, f64>) -> f64 {
    let far = entries.iter().map(|entry| (entry.ns / best[&entry.payload]).ln().max(0.0));
    far.sum::<f64>() / entries.len().max(1) as f64
}
