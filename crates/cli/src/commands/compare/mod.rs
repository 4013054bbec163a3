//! `ipcmark compare`: the changes between result files, or between two plans measured in turns.

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
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    output,
};

fn flags(command: Command) -> Command {
    CompareArguments::augment_args(command).args(shared_flags())
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: CompareArguments = invocation.arguments()?;
    match arguments.run {
        true => turns::compare(&arguments, invocation),
        false => Ok(files::compare(&arguments).unwrap_or_else(output::failed)),
    }
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "compare",
    summary: "Compare results, or two plans measured in turns: what changed, with confidence",
    guide: Guide {
        about: "Verdicts: faster, slower, same (within 2 %), cannot tell. Saved results need at least three runs a \
        side, made in turns, because a machine changes over time. With --run the two plans take turns within this \
        command, and differences are measured a second time before they are reported.",
        examples: &[
            ("ipcmark compare a1.json,a2.json,a3.json b1.json,b2.json,b3.json", ""),
            (
                "ipcmark compare --run a.toml b.toml --budget 5m",
                "the same transports with other settings",
            ),
            (
                "ipcmark compare --run a.toml b.toml -t tcp -s 64,4k",
                "only these rows of both plans",
            ),
        ],
        exit: "0 nothing is slower; 1 a row is slower, failed, or nothing could be compared; 2 the command line is \
        wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["run", "report", "show"],
    },
    flags,
    run,
};
