//! The runs of two sides of a history, compared.

use std::{path::Path, process::ExitCode};

use ipcmark_history::{History, Stored};
use ipcmark_report::ComparedSides;
use ipcmark_results::{RunResult, compare_runs};

use super::{arguments::HistoryCompareArguments, sides};
use crate::commands::compare;

pub(super) fn compare(
    arguments: &HistoryCompareArguments,
    file: &Path,
) -> Result<ExitCode, String> {
    let history = History::read(file)?;
    let runs = history.runs()?;
    let [base, new] = [&arguments.base, &arguments.new].map(|word| sides::side(word, &runs));
    let (base, new) = (base?, new?);
    let read = |side: &[&Stored]| -> Result<Vec<RunResult>, String> {
        side.iter().map(|run| history.result(run.run)).collect()
    };
    let results = [read(&base)?, read(&new)?];
    let [bases, news] = results.each_ref().map(|side| side.iter().collect::<Vec<_>>());
    let change = compare_runs(&bases, &news);
    let sides = ComparedSides {
        change: &change,
        base: words(&arguments.base, &base),
        new: words(&arguments.new, &new),
        notes: base.iter().chain(&new).filter_map(|run| incomplete(run)).collect(),
    };
    Ok(compare::show(&sides, arguments.format))
}

/// `commit:3f2a9c (3 runs)`
fn words(word: &str, runs: &[&Stored]) -> String {
    let unit = if runs.len() == 1 { "run" } else { "runs" };
    format!("{word} ({} {unit})", runs.len())
}

fn incomplete(run: &Stored) -> Option<String> {
    (!run.complete).then(|| format!("Run {} is incomplete: it was interrupted.", run.id))
}
