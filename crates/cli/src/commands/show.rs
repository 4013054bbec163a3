//! `ipcmark show`: shows saved results again, in any format.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use glob::Pattern;
use ipcmark_report::{Format, row_names};
use ipcmark_results::RunResult;

use crate::{
    arguments::{export::Export, values},
    completion::values as complete,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement::{
        exports::{self, is_same},
        show,
    },
    output, saved,
};

/// The results to show.
#[derive(Args)]
struct ShowArguments {
    /// Result files, as `ipcmark run -o FILE` writes them
    #[arg(value_name = "RESULT.json", required = true)]
    results: Vec<PathBuf>,

    /// Show only the rows of this name, in which * stands for anything; can be repeated. Names are those of the formats
    /// for other tools, such as latency/pipe/64/spin/round_trip
    #[arg(long, value_name = "NAME", value_parser = Pattern::new)]
    #[arg(add = complete::rows_of_results())]
    row: Vec<Pattern>,

    /// How they are shown on standard output
    #[arg(long, value_name = "FORMAT", value_parser = values::formats(), default_value = "table")]
    format: &'static Format,

    /// Also write the one result to a file in any of these formats; can be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Export::parse)]
    #[arg(add = complete::exports())]
    export: Vec<Export>,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: ShowArguments = invocation.arguments()?;
    check(&arguments)?;
    let shown: Vec<bool> = arguments.results.iter().map(|path| one(path, &arguments)).collect();
    Ok(ExitCode::from(u8::from(shown.contains(&false))))
}

fn check(arguments: &ShowArguments) -> Result<(), String> {
    exports::check_shown(arguments.format)?;
    exports::check_paths(&arguments.export.iter().map(|export| &export.path).collect::<Vec<_>>())?;
    if arguments.results.len() > 1 && !arguments.export.is_empty() {
        return Err("--export writes one result: name only one".into());
    }
    let replaced = |export: &&Export| is_same(&export.path, &arguments.results[0]);
    match arguments.export.iter().find(replaced) {
        None => Ok(()),
        Some(export) => Err(format!(
            "cannot write {}: it would replace the result that it is made from; give --export another file",
            export.path.display()
        )),
    }
}

/// Shows one result; if that fails, prints the error and returns false.
fn one(path: &Path, arguments: &ShowArguments) -> bool {
    match saved::read(path).and_then(|result| chosen(result, path, &arguments.row)) {
        Ok(result) => {
            let shown = show(arguments.format, &result);
            exports::write(&arguments.export, &result) && shown
        }
        Err(cause) => {
            output::say(cause);
            false
        }
    }
}

/// The most names that an error lists.
const MOST_NAMES: usize = 5;

/// The result with only the rows of these names; all of it if no name is given.
fn chosen(mut result: RunResult, path: &Path, names: &[Pattern]) -> Result<RunResult, String> {
    if names.is_empty() {
        return Ok(result);
    }
    let known = row_names(&result);
    let mut rows = known.iter();
    result
        .cases
        .retain(|_| rows.next().is_some_and(|row| names.iter().any(|name| name.matches(row))));
    if result.cases.is_empty() {
        let some: Vec<&str> = known.iter().take(MOST_NAMES).map(String::as_str).collect();
        let more = if known.len() > MOST_NAMES { ", …" } else { "" };
        return Err(format!(
            "cannot show {}: no row has that name; rows are {}{more}",
            path.display(),
            some.join(", ")
        ));
    }
    result.planned_cases = result.cases.len() as u64;
    Ok(result)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "show",
    summary: "Show saved results once more, in any format",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark show r.json", "the tables and findings of the run"),
            ("ipcmark show r.json --format markdown", "for a page or a bug report"),
            ("ipcmark show r.json --export csv=r.csv", "every figure, for a spreadsheet"),
            ("ipcmark show r.json --row 'latency/pipe/64/*'", "only these rows"),
            (
                "ipcmark show r.json --row latency/pipe/64/spin/round_trip --format hgrm",
                "one row, for HdrHistogram's plotter",
            ),
            (
                "ipcmark show monday.json tuesday.json",
                "one after the other; ipcmark compare says what changed",
            ),
        ],
        exit: "0 all were shown; 1 one could not be read, shown or written; 2 the command line is wrong",
        see_also: &["run", "report", "compare"],
    },
    flags: ShowArguments::augment_args,
    run,
};
