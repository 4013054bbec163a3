//! Flags of `ipcmark sweep`.

use std::time::Duration;

use clap::{Arg, Args, Command, ValueEnum};
use ipcmark_report::Swept;
use ipcmark_transport::Pattern;

use crate::arguments::{of_run::flags_of_run, values};

/// The values to sweep over.
#[derive(Args)]
pub(super) struct SweepArguments {
    /// The property to sweep over
    #[arg(value_name = "OVER", value_enum)]
    pub over: Over,

    /// Its values, separated by commas [default: rate 1k/s to 1M/s, interval 1ms to 1s, payload 64 to 1M, subscribers 1
    /// to 16, publishers 1 to 8, pairs 1 to 8]
    #[arg(long, value_name = "POINT,…", value_delimiter = ',')]
    pub at: Vec<String>,

    /// Find the highest rate at which 99 of 100 messages are answered within this time
    #[arg(long, value_name = "DURATION", value_parser = values::interval)]
    pub p99_below: Option<Duration>,

    /// How the sweep is shown on standard output; json is the result
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,
}

/// A property to sweep over.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Over {
    /// Messages a second, in an open loop
    Rate,
    /// The pause after each answer
    Interval,
    /// The size of a message
    Payload,
    /// The number of followers
    Subscribers,
    /// The number of followers that publish
    Publishers,
    /// The number of pairs that run at once
    Pairs,
}

/// Words of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Curves for a terminal
    Table,
    /// The result, for programs
    Json,
}

impl Over {
    /// The flag of `ipcmark run` that sets it.
    pub(super) fn flag(self) -> &'static str {
        match self {
            Over::Rate => "rate",
            Over::Interval => "interval",
            Over::Payload => "sizes",
            Over::Subscribers => "subscribers",
            Over::Publishers => "publishers",
            Over::Pairs => "pairs",
        }
    }

    /// The only pattern that has it; none if several have. A single follower is a point of the curve too.
    pub(super) fn pattern(self) -> Option<Pattern> {
        match self {
            Over::Subscribers => Some(Pattern::FanOut),
            Over::Publishers => Some(Pattern::FanIn),
            Over::Rate | Over::Interval | Over::Payload | Over::Pairs => None,
        }
    }

    /// Its default values.
    pub(super) fn usual(self) -> &'static [&'static str] {
        match self {
            Over::Rate => &["1k/s", "10k/s", "100k/s", "1M/s"],
            Over::Interval => &["1ms", "10ms", "100ms", "1s"],
            Over::Payload => &["64", "1k", "16k", "256k", "1M"],
            Over::Subscribers => &["1", "2", "4", "8", "16"],
            Over::Publishers | Over::Pairs => &["1", "2", "4", "8"],
        }
    }

    /// The table's name for it.
    pub(super) fn swept(self) -> Swept {
        match self {
            Over::Rate | Over::Interval => Swept::Load,
            Over::Payload => Swept::Payload,
            Over::Subscribers | Over::Publishers => Swept::Subscribers,
            Over::Pairs => Swept::Pairs,
        }
    }
}

/// Flags of `ipcmark run` that a sweep sets itself.
const DECIDED: [&str; 9] = [
    "plan",
    "format",
    "history",
    "budget",
    "precision",
    "round_trips",
    "arrivals",
    "trace",
    "count",
];

/// Flags of `ipcmark run` with another default in a sweep.
const TRIALS: &str = "Independent repetitions of each point, in fresh processes and in an order of its own each \
    [default: 3]";
const DURATION: &str = "Time to measure each row for in each trial of a point, with its unit [default: long enough for \
    its 99th percentile, if messages are less than 50 ms apart or --p99-below needs it]";

/// The flags of `ipcmark run` that it passes on.
pub(super) fn shared_flags() -> Vec<Arg> {
    let in_a_sweep = |arg: Arg| match arg.get_id().as_str() {
        "trials" => arg.help(TRIALS),
        "duration" => arg.help(DURATION),
        _ => arg,
    };
    flags_of_run(&DECIDED).into_iter().map(in_a_sweep).collect()
}

pub(super) fn flags(command: Command) -> Command {
    SweepArguments::augment_args(command).args(shared_flags())
}
