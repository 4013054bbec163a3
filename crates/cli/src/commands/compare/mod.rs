//! `ipcmark compare`: what changed between result files, or between two plans measured in turns.

mod arguments;
mod files;
mod rows;
mod shown;
mod side;
mod turns;

use clap::{Args, Command};

pub(super) use self::{arguments::FormatWord, shown::show};

use self::arguments::{CompareArguments, shared_flags};
use crate::{
    definition::{Definition, Invocation, Outcome},
    output,
};

fn flags(command: Command) -> Command {
    CompareArguments::augment_args(command).args(shared_flags())
}

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: CompareArguments = invocation.arguments()?;
    match arguments.run {
        true => turns::compare(&arguments, invocation),
        false => Ok(files::compare(&arguments).unwrap_or_else(output::failed)),
    }
}

pub(super) const DEFINITION: Definition = Definition {
    name: "compare",
    summary: "Compare results, or two plans measured in turns: what changed, with confidence",
    flags,
    run,
};
