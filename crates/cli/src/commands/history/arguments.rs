//! Flags of `ipcmark history`.

use std::path::PathBuf;

use clap::{Args, Command, Subcommand, ValueEnum};
use glob::Pattern;

use crate::{commands::compare::FormatWord, completion::values as complete};

const ADDED: &str = "\
A run is stored once, identified by its id and the hash of its content. Adding it again sets its labels.

Examples:
  ipcmark history add r.json --commit 3f2a9c
  ipcmark history add monday/*.json --label 'new kernel'

Exit status: 0 all are in the history; 1 one could not be read or added; 2 the command line is wrong.";

const LISTED: &str = "\
Examples:
  ipcmark history list
  ipcmark history list --format json | jq '.runs[].commit'

Exit status: 0 shown; 1 the file could not be read; 2 the command line is wrong.";

const TREND: &str = "\
Runs that differ in machine, kernel, governor or clock source form separate series. A change is reported by the rules
of `ipcmark compare`: three runs before it and three after it, at one distance between the processors.

Examples:
  ipcmark history trend -t tcp
  ipcmark history trend --row latency/pipe/64/spin/round_trip --by commit
  ipcmark history trend --row '*/64/block/*' --by version

Exit status: 0 shown; 1 the file could not be read or has no such row; 2 the command line is wrong.";

const COMPARED: &str = "\
A side is all runs of a commit (its first characters are enough), a version such as 'zeromq 4.3.4', a machine, a label,
or a run's id. kind:NAME says which of these NAME is: commit:3f2a9c. * stands for anything.

Examples:
  ipcmark history compare 3f2a9c 77aa01
  ipcmark history compare 'zeromq 4.3.4' 'zeromq 4.3.5'
  ipcmark history compare label:before label:after --format junit

Exit status: 0 nothing is slower; 1 a row is slower, or nothing could be compared; 2 the command line is wrong.";

/// Results kept over time.
#[derive(Args)]
pub(super) struct HistoryArguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,

    /// The SQLite file [default: $XDG_DATA_HOME/ipcmark/history.sqlite]
    #[arg(long, value_name = "FILE", global = true)]
    pub file: Option<PathBuf>,
}

/// The commands of a history.
#[derive(Subcommand)]
pub(super) enum Action {
    /// Add results
    Add(AddArguments),
    /// List the runs: date, machine, commit, versions, rows
    List(HistoryListArguments),
    /// Show the development of rows over the runs
    Trend(TrendArguments),
    /// Compare the runs of two commits, versions, machines or labels
    Compare(HistoryCompareArguments),
}

#[derive(Args)]
#[command(after_help = ADDED)]
pub(super) struct AddArguments {
    /// Result files, as `ipcmark run -o FILE` writes them
    #[arg(value_name = "RESULT.json", required = true)]
    pub results: Vec<PathBuf>,

    /// The commit that was measured
    #[arg(long, value_name = "COMMIT", value_parser = label)]
    pub commit: Option<String>,

    /// Any words to identify the runs
    #[arg(long, value_name = "WORDS", value_parser = label)]
    pub label: Option<String>,

    /// A name of the machine [default: its processor, their number, its hypervisor]
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub machine: Option<String>,
}

#[derive(Args)]
#[command(after_help = LISTED)]
pub(super) struct HistoryListArguments {
    /// How the runs are shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: HistoryFormatWord,
}

#[derive(Args)]
#[command(after_help = TREND)]
pub(super) struct TrendArguments {
    /// The rows of these transports
    #[arg(short, long, value_name = "TRANSPORT,…", value_delimiter = ',')]
    #[arg(value_parser = Pattern::new, add = complete::transports())]
    pub transports: Vec<Pattern>,

    /// The rows of this name, in which * stands for anything; can be repeated. Names are those of the formats for other
    /// tools, such as latency/pipe/64/spin/round_trip
    #[arg(long, value_name = "NAME", value_parser = Pattern::new)]
    #[arg(add = complete::rows_of_history())]
    pub row: Vec<Pattern>,

    /// Group runs into points by commit, by version of the library (of ipcmark where there is none), or by
    /// machine [default: each run is a point]
    #[arg(long, value_enum)]
    pub by: Option<By>,

    /// How the trends are shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: HistoryFormatWord,
}

#[derive(Args)]
#[command(after_help = COMPARED)]
pub(super) struct HistoryCompareArguments {
    /// The runs of the base
    #[arg(value_name = "A", add = complete::sides_of_history())]
    pub base: String,

    /// The runs of the new side
    #[arg(value_name = "B", add = complete::sides_of_history())]
    pub new: String,

    /// How the comparison is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,
}

/// Words of `--format`.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum HistoryFormatWord {
    /// Tables for a terminal
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
}

/// Words of `--by`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// The commit that the run was added with
    Commit,
    /// The version of the library, or of ipcmark
    Version,
    /// The machine
    Machine,
}

/// The longest label.
const LONGEST: usize = 200;

/// A label: something that can be seen, on one line.
fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    match is_plain && text.len() <= LONGEST {
        true => Ok(text.into()),
        false => Err(format!("it must be one line of 1 to {LONGEST} bytes")),
    }
}

pub(super) fn flags(command: Command) -> Command {
    HistoryArguments::augment_args(command)
}
