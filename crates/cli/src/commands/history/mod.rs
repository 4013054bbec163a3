//! `ipcmark history`: results kept in a file, listed, followed over time and compared.

mod add;
mod arguments;
mod compare;
mod list;
mod sides;
mod trend;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use self::arguments::{Action, HistoryArguments, flags};
use crate::{
    definition::{Definition, Invocation, Outcome},
    history, output,
};

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: HistoryArguments = invocation.arguments()?;
    let file: PathBuf = history::path(arguments.file.as_deref())?;
    Ok(done(&arguments.action, &file).unwrap_or_else(output::failed))
}

fn done(action: &Action, file: &Path) -> Result<ExitCode, String> {
    match action {
        Action::Add(arguments) => add::add(arguments, file),
        Action::List(arguments) => list::list(arguments, file),
        Action::Trend(arguments) => trend::trend(arguments, file),
        Action::Compare(arguments) => compare::compare(arguments, file),
    }
}

pub(super) const DEFINITION: Definition = Definition {
    name: "history",
    summary: "Keep results in a file; list them, and show what changed over time",
    flags,
    run,
};
