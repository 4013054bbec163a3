//! Flags of `ipcmark cores`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Command, ValueEnum};

use crate::{arguments::values, completion::values as complete};

/// What to map.
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

    /// How the ends wait, with --transport [default: spin where it has it]
    #[arg(short, long, value_name = "WAIT", requires = "transport")]
    #[arg(add = complete::waits())]
    pub wait: Option<String>,

    /// How long each pair is measured [default: 300ms, of few pairs up to 2s]
    #[arg(short, long, value_name = "DURATION", value_parser = values::duration)]
    pub duration: Option<Duration>,

    /// Measure all pairs, however many they are; else 256 of them at random, from each kind as many
    #[arg(long)]
    pub all: bool,

    /// How the map is shown on standard output
    #[arg(long, value_enum, default_value = "table")]
    pub format: FormatWord,

    /// Also draw it into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,

    /// What every random choice is made from
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

/// All pairs together are measured for about so long, unless they are many.
const TOGETHER: Duration = Duration::from_secs(6);

const SHORTEST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(2);

impl CoresArguments {
    /// How long each of so many pairs is measured: on a virtual machine distances change within seconds.
    pub(super) fn each(&self, pairs: usize) -> Duration {
        let usual = (TOGETHER / pairs.max(1) as u32).clamp(SHORTEST, LONGEST);
        self.duration.unwrap_or(usual)
    }
}

pub(super) fn flags(command: Command) -> Command {
    CoresArguments::augment_args(command)
}
