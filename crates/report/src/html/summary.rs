//! What stands above the charts: the best of each way of waiting, and the environments.

use ipcmark_results::RunResult;
use serde::Serialize;

use crate::{
    columns::Scale,
    html::{Source, definitions},
    plain::plain,
    remarks,
    rows::{self, Group, Row},
    units,
};

/// The best rows of one group.
#[derive(Serialize)]
pub struct Card {
    /// Where the group stands among the files.
    file: usize,
    title: String,
    caption: String,
    best: Vec<Best>,
}

/// The row that is best in one respect.
#[derive(Serialize)]
struct Best {
    /// `fastest`, `steadiest`, `cheapest`.
    word: &'static str,
    /// The figure by which it is.
    by: &'static str,
    /// The key of that figure's definition.
    key: String,
    name: String,
    figure: String,
}

/// One fact about the runs, with its word for each of them.
#[derive(Serialize)]
pub struct Fact {
    name: &'static str,
    /// Whether it has a definition.
    key: Option<&'static str>,
    values: Vec<String>,
    /// Whether the runs were set up differently in it.
    differs: bool,
}

/// Facts that no two runs have in common, so that it says nothing where they differ.
const MEASURED: [&str; 3] = ["started", "floor", "clock"];

/// What decides who is best: what for, which figure, and how it reads in a scale.
type Respect = (&'static str, &'static str, fn(&Row) -> f64, fn(Scale) -> f64);

const RESPECTS: [Respect; 3] = [
    ("fastest", "p50", |row| row.p50, Scale::factor),
    ("steadiest", "p99.9", |row| row.p99_9, Scale::factor),
    ("cheapest", "CPU/msg", |row| row.cpu_per_message, |_| 1.0),
];

/// For each wait the best rows at the smallest payload between two processes.
pub fn cards(file: usize, result: &RunResult) -> Vec<Card> {
    let smallest = |group: &&Group| {
        let (case, wait) = (group.rows[0].cases[0], &group.rows[0].cases[0].wait);
        let rivals = result.cases.iter().filter(|other| other.wait == *wait);
        let least = rivals.filter(|other| is_hop(other)).map(|other| other.payload_bytes).min();
        is_hop(case) && Some(case.payload_bytes) == least
    };
    rows::groups(result).iter().filter(smallest).map(|group| card(file, group)).collect()
}

fn is_hop(case: &ipcmark_results::Case) -> bool {
    case.figures.is_some() && case.span == "process" && case.touch == "head"
}

fn card(file: usize, group: &Group) -> Card {
    let scale = Scale::of(group);
    let best = RESPECTS.iter().filter_map(|respect| best(group, scale, respect)).collect();
    Card { file, title: group.title.clone(), caption: scale.what().into(), best }
}

fn best(group: &Group, scale: Scale, (word, by, of, factor): &Respect) -> Option<Best> {
    let row = group.rows.iter().min_by(|a, b| of(a).total_cmp(&of(b)))?;
    let figure = units::duration(of(row) * factor(scale));
    Some(Best { word, by, key: definitions::key(by), name: row.marked_name(), figure })
}

/// What is known about each run and its machine, side by side.
pub fn facts(sources: &[Source]) -> Vec<Fact> {
    let all: Vec<Vec<(&str, String)>> =
        sources.iter().map(|source| facts_of(source.result)).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in all.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| fact(name, &all)).collect()
}

fn fact(name: &'static str, all: &[Vec<(&str, String)>]) -> Fact {
    let value = |facts: &Vec<(&str, String)>| {
        let found = facts.iter().find(|(known, _)| *known == name);
        found.map_or_else(|| "–".to_string(), |(_, value)| value.clone())
    };
    let values: Vec<String> = all.iter().map(value).collect();
    let differs = !MEASURED.contains(&name) && values.iter().any(|value| *value != values[0]);
    let key = ["floor", "clock"].into_iter().find(|known| *known == name);
    Fact { name, key, values, differs }
}

fn facts_of(result: &RunResult) -> Vec<(&'static str, String)> {
    let (run, place) = (&result.run, &result.environment);
    let mut facts = vec![
        ("started", plain(&run.started_at)),
        ("version", plain(&run.version)),
        ("command", plain(&run.command.join(" "))),
    ];
    facts.extend(remarks::facts(result));
    let memory = units::figure(place.memory_bytes as f64 / f64::from(1 << 30));
    facts.push(("memory", format!("{memory} GiB")));
    facts.push(("sandbox", plain(&place.sandbox)));
    facts
}
