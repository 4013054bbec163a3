//! Flags of `ipcmark compare`.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, Args, ValueEnum};

use crate::arguments::{of_run::flags_of_run, values};

/// The two sides to compare.
#[derive(Args)]
pub(super) struct CompareArguments {
    /// Result files of the base, separated by commas, each a run; with --run a plan
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// Result files of the new side, separated by commas; with --run a plan
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// Measure the plans BASE and NEW in turns; flags of `ipcmark run` override both
    #[arg(long)]
    pub run: bool,

    /// Time for everything: as many pairs of trials as fit, at least 8 [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = values::budget, requires = "run")]
    #[arg(conflicts_with = "pairs_of_trials")]
    pub budget: Option<Duration>,

    /// Pairs of trials, one of each plan; what differs takes as many again
    // In `ipcmark run`, and so in a plan, `--pairs` means something else.
    #[arg(id = "pairs_of_trials", long = "pairs", value_name = "N", requires = "run")]
    #[arg(value_parser = clap::value_parser!(u32).range(8..=10_000))]
    pub pairs: Option<u32>,

    /// How the comparison is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,
}

/// Words of `--format`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FormatWord {
    /// Tables for a terminal
    Table,
    /// For programs
    Json,
    /// JUnit's XML, for continuous builds: a slower row fails
    Junit,
}

/// Flags of `ipcmark run` that set the number of repetitions, their order, and the use of the result.
pub(super) const OF_RUN_ALONE: [&str; 10] = [
    "plan",
    "format",
    "export",
    "output",
    "history",
    "live",
    "count",
    "trials",
    "budget",
    "precision",
];

/// The flags of `ipcmark run` that override those of both plans: all but those above, and without `pairs`, which means
/// the pairs of trials here.
pub(super) fn shared_flags() -> Vec<Arg> {
    let flags = flags_of_run(&OF_RUN_ALONE).into_iter().filter(|arg| arg.get_id() != "pairs");
    flags.map(|arg| arg.requires("run")).collect()
}
