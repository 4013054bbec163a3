//! Flags of `ipcmark advise`.

use std::{path::PathBuf, time::Duration};

use clap::{Arg, Args, Command, ValueEnum};

use crate::{
    arguments::{of_run::flags_of_run, values},
    completion::values as complete,
};

/// The question.
#[derive(Args)]
pub(super) struct AdviseArguments {
    /// Bytes of a message, as 64, 4k or 1MiB
    #[arg(short, long, value_name = "SIZE", add = complete::sizes())]
    pub size: String,

    /// Messages a second, as 1k/s; without it each message follows the last answer
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    pub rate: Option<u64>,

    /// Processes that receive each message
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub subscribers: u32,

    /// 99 of 100 messages are to be answered, or with --one-way to arrive, within this time
    #[arg(long, value_name = "DURATION", value_parser = values::interval)]
    pub p99_below: Option<Duration>,

    /// All its processes together are to use less of a core than this, at the rate
    #[arg(long, value_name = "PERCENT", value_parser = share_of_a_core, requires = "rate")]
    pub cpu_below: Option<f64>,

    /// Further requirements on the transport
    #[arg(long, value_name = "NEED,…", value_enum, value_delimiter = ',')]
    pub needs: Vec<Need>,

    /// Time messages from one process to the other, not to the answer
    #[arg(long, conflicts_with = "subscribers")]
    pub one_way: bool,

    /// Measure nothing: read this result, as 'ipcmark run -o FILE' writes it
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["output", "live", "budget", "trials", "precision"])]
    pub from: Option<PathBuf>,

    /// How the advice is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,
}

/// Requirements on a transport besides figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Need {
    /// No process beside the program's own has to run
    Daemonless,
    /// The ends can be on different hosts
    CrossHost,
    /// One publication reaches several processes, without a send for each
    ManyReaders,
    /// A message can be written and read in place, without a copy
    ZeroCopy,
    /// No message is lost while both ends live
    Reliable,
    /// Nothing but the operating system
    LibraryFree,
}

/// Words of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Sentences for a terminal
    Table,
    /// The same with every figure, for programs
    Json,
}

/// A percentage of one core, over 100 % for several cores.
fn share_of_a_core(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(|number| number.trim_end().parse::<f64>());
    match number {
        Some(Ok(percent)) if percent > 0.0 && percent <= 100_000.0 => Ok(percent / 100.0),
        _ => Err("it is not a share of a core; write it as 10%, or as 200% for two cores".into()),
    }
}

/// Flags of `ipcmark run` that `advise` sets itself.
const DECIDED: [&str; 14] = [
    "plan",
    "format",
    "history",
    "sizes",
    "rate",
    "subscribers",
    "publishers",
    "silent",
    "pairs",
    "patterns",
    "interval",
    "arrivals",
    "trace",
    "count",
];

/// The flags of `ipcmark run` that it passes on.
pub(super) fn shared_flags() -> Vec<Arg> {
    flags_of_run(&DECIDED)
}

pub(super) fn flags(command: Command) -> Command {
    AdviseArguments::augment_args(command).args(shared_flags())
}

#[cfg(test)]
mod tests {
    use super::share_of_a_core;

    #[test]
    fn a_share_of_a_core_has_its_sign() {
        assert_eq!(share_of_a_core("10%"), Ok(0.1));
        assert_eq!(share_of_a_core("200 %"), Ok(2.0));
        for wrong in ["10", "0%", "-1%", "NaN%", "%", "a lot"] {
            assert!(share_of_a_core(wrong).is_err(), "{wrong}");
        }
    }
}
