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
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    history, output,
};

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
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

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "history",
    summary: "Keep results in a file; list them, and show what changed over time",
    guide: Guide {
        about: "Results are kept in a SQLite file; every run is stored once, however often it is added.",
        examples: &[
            ("ipcmark run -t os --history", "measures, and adds the result"),
            ("ipcmark history add r.json --commit 3f2a9c", ""),
            ("ipcmark history list", "lists the runs"),
            ("ipcmark history trend -t tcp --by commit", "the rows of tcp over time"),
            ("ipcmark history trend --row 'latency/pipe/64/*' --format csv", ""),
            ("ipcmark history compare 3f2a9c 77aa01", "two commits, as ipcmark compare does"),
        ],
        exit: "0 done; 1 the file or a result could not be read or written, nothing was found, or (compare) a row is \
               slower; 2 the command line is wrong",
        see_also: &["compare", "run", "show"],
    },
    flags,
    run,
};
