//! The development of rows over the runs of a history.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use ipcmark_history::{History, Stored};
use ipcmark_report::{PointName, TrendShown, trends_csv, trends_json, trends_table};
use ipcmark_results::{Case, RunResult, TrendRun, circumstances};

use super::arguments::{By, HistoryFormatWord, TrendArguments};
use crate::output;

/// The most names that an error lists.
const MOST_NAMES: usize = 5;

pub(super) fn trend(arguments: &TrendArguments, file: &Path) -> Result<ExitCode, String> {
    let history = History::read(file)?;
    let names = chosen(&history, arguments, file)?;
    let runs = history.runs()?;
    let heads = heads(&history)?;
    let mut trends = Vec::new();
    for name in &names {
        let cases = history.cases(name)?;
        trends.extend(series(name, &runs, &heads, &cases, arguments.by));
    }
    Ok(match arguments.format {
        HistoryFormatWord::Table => output::shown_all(&trends_table(&trends, output::terminal())),
        HistoryFormatWord::Json => output::printed(&trends_json(&trends)),
        HistoryFormatWord::Csv => output::printed(&trends_csv(&trends)),
    })
}

/// The names of the requested rows; all if none were requested.
fn chosen(
    history: &History,
    arguments: &TrendArguments,
    file: &Path,
) -> Result<Vec<String>, String> {
    let rows = history.rows()?;
    let TrendArguments { transports, row, .. } = arguments;
    let has = |patterns: &[glob::Pattern], word: &str| {
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(word))
    };
    let names: Vec<String> = rows
        .iter()
        .filter(|found| has(transports, &found.transport) && has(row, &found.name))
        .map(|found| found.name.clone())
        .collect();
    if names.is_empty() {
        let some: Vec<&str> = rows.iter().take(MOST_NAMES).map(|row| row.name.as_str()).collect();
        let known = match (some.is_empty(), rows.len() > MOST_NAMES) {
            (true, _) => "it has no rows".into(),
            (_, more) => format!("rows are {}{}", some.join(", "), if more { ", …" } else { "" }),
        };
        return Err(format!(
            "cannot show a trend of {}: no row has that name; {known}",
            file.display()
        ));
    }
    Ok(names)
}

/// The runs without the parts that a trend does not use, which would be copied for every row.
fn heads(history: &History) -> Result<BTreeMap<i64, RunResult>, String> {
    let mut heads = history.heads()?;
    for head in heads.values_mut() {
        (head.rounds, head.notes) = (Vec::new(), Vec::new());
        head.environment.facts = Vec::new();
    }
    Ok(heads)
}

/// The trends of a row, one for each group of runs in equal circumstances.
fn series(
    name: &str,
    runs: &[Stored],
    heads: &BTreeMap<i64, RunResult>,
    cases: &BTreeMap<i64, Case>,
    by: Option<By>,
) -> Vec<TrendShown> {
    let mut series: BTreeMap<SeriesProperties, Vec<SeriesRun>> = BTreeMap::new();
    for stored in runs {
        let (Some(head), Some(case)) = (heads.get(&stored.run), cases.get(&stored.run)) else {
            continue;
        };
        let run = RunResult { cases: vec![case.clone()], ..head.clone() };
        let machine = [("machine", stored.machine.clone())].into_iter();
        let key = machine.chain(circumstances(&run)).collect();
        series.entry(key).or_default().push(SeriesRun {
            stored,
            run,
            label: label(stored, case, by),
        });
    }
    let all: Vec<&SeriesProperties> = series.keys().collect();
    let words: Vec<String> = all.iter().map(|one| in_words(one, &all)).collect();
    let series = words.into_iter().zip(series.into_values());
    series.map(|(machine, members)| shown(name, machine, &members)).collect()
}

/// The properties, with their values, that all runs of one series share.
type SeriesProperties = Vec<(&'static str, String)>;

/// The machine, and the other properties in which it differs from the other series.
fn in_words(one: &SeriesProperties, all: &[&SeriesProperties]) -> String {
    let mut words = vec![one[0].1.clone()];
    for (at, (property, value)) in one.iter().enumerate().skip(1) {
        let is_alike = all.iter().all(|other| other[at].1 == *value);
        // A machine's name usually contains these.
        if !is_alike && !words[0].contains(value.as_str()) {
            words.push(format!("{property} {value}"));
        }
    }
    words.join(" · ")
}

/// One run of a trend.
struct SeriesRun<'a> {
    stored: &'a Stored,
    run: RunResult,
    label: String,
}

fn shown(row: &str, machine: String, members: &[SeriesRun]) -> TrendShown {
    let trend_runs: Vec<TrendRun> =
        members.iter().map(|member| TrendRun { label: &member.label, run: &member.run }).collect();
    let trend = ipcmark_results::trend(&trend_runs);
    let names = trend.points.iter().map(|point| point_name(&members[point.runs[0]])).collect();
    TrendShown { row: row.into(), machine, trend, names }
}

fn point_name(first: &SeriesRun) -> PointName {
    let SeriesRun { stored, label, .. } = first;
    // A run that is a point of its own is labelled with its commit or label.
    let own = || stored.commit.clone().or(stored.label.clone()).unwrap_or_default();
    let label = if *label == of_run(stored) { own() } else { label.clone() };
    PointName { started_at: stored.started_at.clone(), label }
}

fn of_run(stored: &Stored) -> String {
    format!("run {}", stored.run)
}

/// The key that a run is grouped by. A run without a commit is a point of its own.
fn label(stored: &Stored, case: &Case, by: Option<By>) -> String {
    match by {
        None => of_run(stored),
        Some(By::Commit) => stored.commit.clone().unwrap_or_else(|| of_run(stored)),
        Some(By::Version) => match &case.identity.library_version {
            Some(version) => format!("{} {version}", case.identity.family),
            None => format!("ipcmark {}", stored.version),
        },
        Some(By::Machine) => stored.machine.clone(),
    }
}
