//! Flags of `ipcmark explain`.

use clap::{Arg, Args, Command, ValueEnum};

use crate::arguments::of_run::flags_of_run;

const EXAMPLES: &str = "\
Measures a transport as 'ipcmark run' does, then once more while the kernel stops it at every system call and hands the
call over to be counted; times of that pass are not used. What was counted is multiplied with what one of it takes here:
a bare system call, the hand-over to a sleeping process, a copy, a cache line.

Examples:
  ipcmark explain pipe                    64 bytes, spinning and sleeping
  ipcmark explain zeromq-ipc -s 4k -w block
  ipcmark explain tcp -s 1M --format json

Exit status: 0 explained; 1 it could not be measured or counted; 2 the command line is wrong; 128 + signal after Ctrl-C or
SIGTERM.

See also: ipcmark run, ipcmark doctor";

/// What is explained.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
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
}

/// Words of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Parts, bars and sentences for a terminal
    Table,
    /// Every figure, for programs
    Json,
}

/// Flags of `ipcmark run` that it hands on.
const SHARED: [&str; 13] = [
    "waits",
    "set",
    "duration",
    "budget",
    "trials",
    "precision",
    "distance",
    "cpus",
    "no_pin",
    "sandbox",
    "seed",
    "module",
    "timeout",
];

/// Those of them that say how to measure times, and have no meaning for counts.
pub(super) const OF_TIMES: [&str; 5] = ["duration", "budget", "trials", "precision", "distance"];

/// The flags of `ipcmark run` that it hands on, but for some.
pub(super) fn shared_flags(but: &[&str]) -> Vec<Arg> {
    let is_shared = |flag: &Arg| SHARED.contains(&flag.get_id().as_str());
    flags_of_run(but).into_iter().filter(is_shared).collect()
}

pub(super) fn flags(command: Command) -> Command {
    ExplainArguments::augment_args(command).args(shared_flags(&[]))
}
