//! Flags of `ipcmark cores`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Command, ValueEnum};

use crate::{arguments::values, completion::values as complete};

/// The processors to map, and the measurement of each pair.
#[derive(Args)]
pub(super) struct CoresArguments {
    /// The processors, as 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,

    /// Through this transport instead of a bare cache line
    #[arg(short, long, value_name = "TRANSPORT", add = complete::transports())]
    pub transport: Option<String>,

    /// Bytes of a message, with --transport
    #[arg(short, long, value_name = "SIZE", default_value = "64", requires = "transport")]
    #[arg(add = complete::sizes())]
    pub size: String,

    /// Wait of the ends, with --transport [default: spin where it has it]
    #[arg(short, long, value_name = "WAIT", requires = "transport")]
    #[arg(add = complete::waits())]
    pub wait: Option<String>,

    /// Time to measure each pair [default: 300ms, up to 2s for few pairs]
    #[arg(short, long, value_name = "DURATION", value_parser = values::duration)]
    pub duration: Option<Duration>,

    /// Measure all pairs, however many they are; otherwise at most 256 of them, chosen at random
    /// and evenly from each kind
    #[arg(long)]
    pub all: bool,

    /// How the map is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,

    /// Also draw it into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,

    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Load a transport from this module; can be repeated
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,
}

/// Words of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// A map for a terminal
    Table,
    /// Every pair, for programs
    Json,
}

/// The approximate time for all pairs together, unless there are many.
const TOGETHER: Duration = Duration::from_secs(6);

const SHORTEST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(2);

impl CoresArguments {
    /// The measured time of each pair: on a virtual machine distances change within seconds.
    pub(super) fn each(&self, pairs: usize) -> Duration {
        let usual = (TOGETHER / pairs.max(1) as u32).clamp(SHORTEST, LONGEST);
        self.duration.unwrap_or(usual)
    }
}

pub(super) fn flags(command: Command) -> Command {
    CoresArguments::augment_args(command)
}
