//! Flags of `ipcmark run`, which `ipcmark leader` and the command lines of other benchmarks have too.

use std::{path::PathBuf, time::Duration};

use clap::{Args, FromArgMatches, ValueEnum, error::ErrorKind};
use ipcmark_engine::Touch;
use ipcmark_report::Format;
use ipcmark_transport::{Pattern, Wait};

use super::{sizes::Sizes, values};

/// How to measure.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct RunArguments {
    /// A plan: a TOML file with the same words as these flags, which the flags override
    #[arg(value_name = "PLAN.toml")]
    pub plan: Option<PathBuf>,

    /// Names, globs (shm-*), families (os) or all [default: everything available]
    #[arg(short, long, value_name = "TRANSPORT,…", value_delimiter = ',')]
    pub transports: Vec<String>,

    /// Payloads: 64, 4k, 1MiB, 16..4M (powers of two), the presets iceperf, ipc-bench, fastdds, or
    /// @FILE with 16;32;64 [default: 64,4k,1M]
    #[arg(short, long, value_name = "SIZE,…", value_parser = Sizes::parse)]
    #[arg(allow_negative_numbers = true)]
    pub sizes: Option<Sizes>,

    /// Round trips to sample in each case
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "duration")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub round_trips: Option<u64>,

    /// Time to measure each case for, with its unit [default: 200ms]
    #[arg(short, long, value_name = "DURATION", value_parser = values::duration)]
    pub duration: Option<Duration>,

    /// Shapes of the traffic: latency, fan-out [default: latency; fan-out with --subscribers]
    #[arg(short, long, value_name = "PATTERN,…", value_delimiter = ',')]
    #[arg(value_parser = values::pattern)]
    pub patterns: Option<Vec<Pattern>>,

    /// How the ends wait: spin, block, hybrid [default: all that a transport has]
    #[arg(short, long, value_name = "WAIT,…", value_delimiter = ',', value_parser = values::wait)]
    pub waits: Option<Vec<Wait>>,

    /// An option of a transport, a family or a glob; `ipcmark list TRANSPORT` shows what there is
    #[arg(long, value_name = "TRANSPORT.KEY=VALUE", value_delimiter = ',')]
    pub set: Vec<String>,

    /// Followers of one leader, each a process; several with the pattern fan-out, where the round
    /// trip ends with the last answer
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub subscribers: u32,

    /// How many of the followers only listen, and answer nothing in the timed part
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub silent: u32,

    /// Independent repetitions of everything, in fresh processes
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,

    /// Bytes written and read within the timed part [default: head; without --sizes, 1 MiB is
    /// measured both ways]
    #[arg(long, value_enum)]
    pub touch: Option<TouchWord>,

    /// Processors: the leader's, then the followers' [default: different physical cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "no_pin")]
    pub cpus: Option<Vec<u32>>,

    /// Do not pin the processes
    #[arg(long)]
    pub no_pin: bool,

    /// Namespaces for each session: auto, or off to run in the host's own environment
    #[arg(long, value_enum, default_value = "auto")]
    pub sandbox: SandboxWord,

    /// How the result is shown on standard output: table, markdown, csv, json, or as another
    /// benchmark shows it: iceperf, ipc-bench, fastdds, ipc-performance
    #[arg(long, value_name = "FORMAT", value_parser = values::format, default_value = "table")]
    pub format: Format,

    /// Also write the result file here, after every case
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Number that the order of the sessions and the checked payloads are made from
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,

    /// How long a case may take beyond its expected length before it is failed
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s")]
    pub timeout: Duration,
}

/// Words of `--touch`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TouchWord {
    /// The 16 bytes of the head, as iceperf does
    Head,
    /// Every byte, written before publish and read after take
    All,
}

/// Words of `--sandbox`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxWord {
    /// Namespaces where the system allows them
    Auto,
    /// The host's own environment
    Off,
}

impl From<TouchWord> for Touch {
    fn from(word: TouchWord) -> Self {
        match word {
            TouchWord::Head => Touch::Head,
            TouchWord::All => Touch::All,
        }
    }
}

impl RunArguments {
    /// The flags of `ipcmark run` in `words`, without the name of a command.
    pub(crate) fn of_words(words: &[String]) -> Result<Self, clap::Error> {
        let mut run = Self::augment_args(clap::Command::new("ipcmark run").no_binary_name(true));
        let arguments = Self::from_arg_matches(&run.try_get_matches_from_mut(words)?)?;
        match &arguments.plan {
            None => Ok(arguments),
            Some(plan) => {
                let why = format!(
                    "'{}' is not a flag; only 'ipcmark run' and 'ipcmark leader' take a plan",
                    plan.display()
                );
                Err(run.error(ErrorKind::ValueValidation, why))
            }
        }
    }

    /// The long flags: the keys of a plan.
    pub(super) fn keys() -> Vec<String> {
        let run = Self::augment_args(clap::Command::new("run"));
        run.get_arguments().filter_map(|flag| flag.get_long().map(Into::into)).collect()
    }
}
