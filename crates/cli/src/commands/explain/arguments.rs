//! Flags of `ipcmark explain`.

use std::path::PathBuf;

use clap::{Arg, Args, Command, ValueEnum};

use crate::arguments::of_run::flags_of_run;

/// The transport to explain.
#[derive(Args)]
pub(super) struct ExplainArguments {
    /// The transport, as `ipcmark list` names it
    #[arg(value_name = "TRANSPORT")]
    pub transport: String,

    /// Bytes of a message, as 64, 4k or 1MiB
    #[arg(short, long, value_name = "SIZE", default_value = "64")]
    pub size: String,

    /// How the explanation is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,

    /// Also write a page for the browser, with a stacked bar for each row
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
}

/// Words of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Parts, bars and sentences for a terminal
    Table,
    /// Every figure, for programs
    Json,
}

/// Flags of `ipcmark run` that it passes on.
const SHARED: [&str; 14] = [
    "waits",
    "set",
    "duration",
    "budget",
    "trials",
    "precision",
    "distance",
    "placement",
    "cpus",
    "no_pin",
    "sandbox",
    "seed",
    "module",
    "timeout",
];

/// Those of them that apply to the timed pass only.
pub(super) const OF_TIMES: [&str; 5] = ["duration", "budget", "trials", "precision", "distance"];

/// The flags of `ipcmark run` that it passes on, without those in `but`.
pub(super) fn shared_flags(but: &[&str]) -> Vec<Arg> {
    let is_shared = |flag: &Arg| SHARED.contains(&flag.get_id().as_str());
    flags_of_run(but).into_iter().filter(is_shared).collect()
}

pub(super) fn flags(command: Command) -> Command {
    ExplainArguments::augment_args(command).args(shared_flags(&[]))
}
