//! `ipcmark show`: saved results once more, in any format.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use ipcmark_report::Format;

use crate::{
    arguments::{export::Export, values},
    definition::{Definition, Invocation, Outcome},
    measurement::{
        exports::{self, is_same},
        show,
    },
    output, saved,
};

const EXAMPLES: &str = "\
Examples:
  ipcmark show r.json                            the tables and findings, as the run ended with
  ipcmark show r.json --format markdown          for a page or a bug report
  ipcmark show r.json --export csv=r.csv         every figure, for a spreadsheet
  ipcmark show monday.json tuesday.json          one after the other; ipcmark compare says what changed

Exit status: 0 all were shown; 1 one could not be read, shown or written; 2 the command line is wrong.";

/// What to show.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct ShowArguments {
    /// Result files, as `ipcmark run -o FILE` writes them
    #[arg(value_name = "RESULT.json", required = true)]
    results: Vec<PathBuf>,

    /// How they are shown on standard output
    #[arg(long, value_name = "FORMAT", value_parser = values::formats(), default_value = "table")]
    format: &'static Format,

    /// Also write the one result to a file in any of these formats; can be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Export::parse)]
    export: Vec<Export>,
}

fn run(invocation: &Invocation<'_>) -> Outcome {
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

/// Shows one result; false where that failed, which is said.
fn one(path: &Path, arguments: &ShowArguments) -> bool {
    match saved::read(path) {
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

pub(super) const DEFINITION: Definition = Definition {
    name: "show",
    summary: "Show saved results once more, in any format",
    flags: ShowArguments::augment_args,
    run,
};
