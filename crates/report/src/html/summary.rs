//! The summary: the best rows of each kind of wait, and the environments.

use ipcmark_results::{Figure, MachineFact, Row, RunResult, Wait, best};
use serde::Serialize;

use crate::{
    columns::Scale,
    html::{definitions, source::Source},
    names::{self, Titles},
    plain::plain,
    remarks, units,
};

/// The best rows of one group.
#[derive(Serialize)]
pub struct Card {
    /// Number of the result among the files.
    file: usize,
    title: String,
    caption: String,
    best: Vec<BestRow>,
}

/// The row that is best in one respect.
#[derive(Serialize)]
struct BestRow {
    /// `fastest`, `most`, `steadiest`, `cheapest`, `keeps busy`.
    word: &'static str,
    /// The figure that makes it the best.
    by: &'static str,
    /// The key of that figure's definition.
    key: String,
    name: String,
    figure: String,
}

/// One fact about the runs, with its value for each of them.
#[derive(Serialize)]
pub struct RunFact {
    name: String,
    /// The key of its definition, if it has one.
    key: Option<&'static str>,
    values: Vec<String>,
    /// True if the runs differ in it.
    differs: bool,
}

/// Facts that always differ between runs, so that a difference means nothing.
const MEASURED: [&str; 5] = ["started", "distances", "hiccups", "clock", "time"];

/// The best rows of each payload and wait between two processes.
pub fn cards(file: usize, result: &RunResult) -> Vec<Card> {
    let titles = Titles::of(result);
    best(result).iter().map(|best| card(file, best, &titles)).collect()
}

fn card(file: usize, best: &ipcmark_results::Best, titles: &Titles) -> Card {
    let scale = Scale::of(&best.group);
    let time = |figure: Figure| units::duration(figure.value * scale.factor());
    let shown = |figure: Option<Figure>| figure.map_or_else(|| "–".into(), time);
    let fastest = shown(best.fastest[0].location());
    let steadiest = best.steadiest.iter().map(|row| {
        named("steadiest", "p99", std::slice::from_ref(row), shown(row.percentile(0.99)))
    });
    let rates = best.fastest.iter().filter_map(Row::messages_per_second).fold(0.0, f64::max);
    let first = match best.group.key.pattern.is_stream() {
        true => {
            let rate = format!("{}/s", units::count(rates.round() as u64));
            named("most", "msg/s", &best.fastest, rate)
        }
        false => named("fastest", "mean", &best.fastest, fastest),
    };
    // Rows that spin use their processors without messages too, so none of them is cheap.
    let price = match (best.group.key.wait, best.fastest[0].cores()) {
        (Wait::Spin, cores) => cores.map(|cores| {
            let cores = format!("{} cores", units::figure(cores));
            named("keeps busy", "cores", &best.fastest[..1], cores)
        }),
        _ => best.cheapest.as_ref().map(|row| {
            let cpu = units::duration(row.cpu_per_message());
            named("cheapest", "CPU/msg", std::slice::from_ref(row), cpu)
        }),
    };
    Card {
        file,
        title: titles.title(&best.group),
        caption: scale.what().into(),
        best: std::iter::once(first).chain(steadiest).chain(price).collect(),
    }
}

/// The number of undistinguished rows that are named; of further rows only their number is given.
const NAMED: usize = 6;

/// The best rows, by name; several if the trials do not distinguish them.
fn named(word: &'static str, by: &'static str, rows: &[Row], figure: String) -> BestRow {
    let names: Vec<String> = rows.iter().take(NAMED).map(names::marked).collect();
    let more = match rows.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    BestRow { word, by, key: definitions::key(by), name: names.join(", ") + &more, figure }
}

/// The facts about each run and its machine, side by side.
pub fn facts(sources: &[Source]) -> Vec<RunFact> {
    let all: Vec<Vec<(String, String)>> =
        sources.iter().map(|source| facts_of(source.result)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| fact(name, &all)).collect()
}

fn fact(name: &str, all: &[Vec<(String, String)>]) -> RunFact {
    let value = |facts: &Vec<(String, String)>| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map_or_else(|| "–".to_string(), |(_, value)| value.clone())
    };
    let values: Vec<String> = all.iter().map(value).collect();
    let differs = !MEASURED.contains(&name) && values.iter().any(|value| *value != values[0]);
    let key = ["distances", "hiccups", "clock"].into_iter().find(|known| *known == name);
    RunFact { name: name.into(), key, values, differs }
}

fn facts_of(result: &RunResult) -> Vec<(String, String)> {
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
    let facts = facts.into_iter().map(|(name, value)| (name.to_string(), value));
    facts.chain(place.facts.iter().filter_map(machine_fact)).collect()
}

/// A fact about the machine that affects the figures, with its effect.
fn machine_fact(fact: &MachineFact) -> Option<(String, String)> {
    let effect = fact.effect.as_ref()?;
    let rows = effect.rows.join(", ");
    let value = format!("{} ({}, {rows}: {})", fact.value, effect.weight, effect.sentence);
    Some((plain(&fact.name), plain(&value)))
}
