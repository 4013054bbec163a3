//! The runs of a history.

use std::{path::Path, process::ExitCode};

use ipcmark_history::{History, Stored};
use ipcmark_report::{RunShown, runs_csv, runs_json, runs_table};

use super::arguments::{HistoryFormatWord, HistoryListArguments};
use crate::output;

pub(super) fn list(arguments: &HistoryListArguments, file: &Path) -> Result<ExitCode, String> {
    let runs: Vec<RunShown> = History::read(file)?.runs()?.into_iter().map(shown).collect();
    Ok(match arguments.format {
        HistoryFormatWord::Table => output::shown_all(&runs_table(&runs, output::terminal())),
        HistoryFormatWord::Json => output::printed(&runs_json(&runs)),
        HistoryFormatWord::Csv => output::printed(&runs_csv(&runs)),
    })
}

/// The measured versions: `ipcmark 0.1.0`, `zeromq 4.3.4`.
pub(super) fn versions(run: &Stored) -> Vec<String> {
    let libraries = run.libraries.iter().map(|(family, version)| format!("{family} {version}"));
    std::iter::once(format!("ipcmark {}", run.version)).chain(libraries).collect()
}

fn shown(run: Stored) -> RunShown {
    RunShown {
        versions: versions(&run),
        run: run.run,
        id: run.id,
        started_at: run.started_at,
        machine: run.machine,
        commit: run.commit,
        label: run.label,
        rows: run.cases,
        complete: run.complete,
    }
}
