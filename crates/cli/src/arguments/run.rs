//! Flags of `ipcmark run`, which `ipcmark leader` and the command lines of other benchmarks share.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, FromArgMatches, ValueEnum, error::ErrorKind};
use ipcmark_machine::placement::Pinning;
use ipcmark_report::Format;
use ipcmark_results::{Arrivals, Touch};
use ipcmark_transport::Pattern;

use super::{
    export::Export,
    values::{self, WaitWord},
};
use crate::{completion::values as complete, transport_options};

/// The options of a run.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct RunArguments {
    /// A plan: a TOML file with the same words as these flags, which the flags override
    #[arg(value_name = "PLAN.toml")]
    pub plan: Option<PathBuf>,

    /// Names, globs (shm-*), families (os) or all [default: everything available]
    #[arg(short, long, value_name = "TRANSPORT,…", value_delimiter = ',')]
    #[arg(add = complete::transports())]
    pub transports: Vec<String>,

    /// Payloads: 64, 4k, 1MiB, 16..4M (powers of two), the presets iceperf, ipc-bench, fastdds, or
    /// @FILE with 16;32;64 [default: 64,4k,1M]
    // Not parsed here: with a plan the words are parsed twice, and a pipe can only be read once.
    #[arg(short, long, value_name = "SIZE,…", allow_negative_numbers = true)]
    #[arg(add = complete::sizes())]
    pub sizes: Option<String>,

    /// Round trips to sample of each row in each trial, or messages
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "duration")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub round_trips: Option<u64>,

    /// Time to measure each row for in each trial, with its unit [default: what the budget leaves]
    #[arg(short, long, value_name = "DURATION", value_parser = values::duration)]
    pub duration: Option<Duration>,

    /// Shapes of the traffic: latency, one-way, throughput, fan-out, fan-in [default: latency; fan-out with
    /// --subscribers, fan-in with --publishers]
    #[arg(short, long, value_name = "PATTERN,…", value_delimiter = ',')]
    #[arg(value_parser = values::pattern, add = complete::patterns())]
    pub patterns: Option<Vec<Pattern>>,

    /// Waits of the ends: spin, block, hybrid, all; TRANSPORT=WAIT for some transports alone, as
    /// block,shm-ring=spin [default: spin and block, where a transport has them]
    #[arg(short, long, value_name = "WAIT,…", value_delimiter = ',', value_parser = values::wait)]
    #[arg(add = complete::waits())]
    pub waits: Option<Vec<WaitWord>>,

    /// An option of a transport, a family or a glob; `ipcmark list TRANSPORT` shows the options
    #[arg(long, value_name = "TRANSPORT.KEY=VALUE", value_delimiter = ',')]
    #[arg(add = complete::settings())]
    pub set: Vec<String>,

    /// Cycle through this many buffers of the application for the messages written, and through as many for those read;
    /// cold: as many as the last-level cache holds. For transports that copy messages: those that lend memory of their
    /// own are marked [default: 1]
    #[arg(long, value_name = "N|cold", value_parser = values::buffers)]
    pub buffers: Option<String>,

    /// Followers of one leader, each a process; several with the pattern fan-out, where the round
    /// trip ends with the last answer
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub subscribers: u32,

    /// Followers of one leader that publish, each a process, all of them as fast as they can; with the pattern fan-in,
    /// for transports that take messages of many writers
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub publishers: u32,

    /// Followers that only listen, and answer nothing in the timed part
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub silent: u32,

    /// Leaders with a follower each that run the same traffic at once, each with an instance of the transport of its
    /// own; the figures are those of one of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    pub pairs: u32,

    /// Offer messages at these rates, as 100/s, 10k/s, instead of the next when the last is answered: an open loop, in
    /// which times count from the intended one
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = values::rate)]
    #[arg(conflicts_with = "interval")]
    pub rate: Option<Vec<u64>>,

    /// The times between the messages of --rate: fixed, or poisson, as of many independent senders
    #[arg(long, value_enum, requires = "rate", default_value = "fixed")]
    #[arg(conflicts_with_all = ["interval", "trace"])]
    pub arrivals: ArrivalsWord,

    /// Pause for this long after each answer, as 10ms
    #[arg(long, value_name = "DURATION", value_parser = values::interval)]
    pub interval: Option<Duration>,

    /// Play recorded messages, each at its time and of its size: an open loop. A CSV file with the columns time (in
    /// seconds; also time_ms, time_us, time_ns) and size (bytes). Each trial plays all of it, or --duration
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["rate", "interval", "sizes"])]
    pub trace: Option<PathBuf>,

    /// Time for the whole run: as many trials as fit, at least 3 [default: 2m for everything, less for less]
    #[arg(long, value_name = "DURATION", value_parser = values::budget, conflicts_with = "trials")]
    pub budget: Option<Duration>,

    /// Independent repetitions of everything, in fresh processes and in an order of its own each [default: as many as
    /// fit into the budget; 3 with --round-trips or --duration]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,

    /// Repeat trials until the mean of every row is known to this precision, as 2%, within the budget [default of
    /// that: 10m]
    #[arg(long, value_name = "PERCENT", value_parser = values::precision, conflicts_with = "trials")]
    pub precision: Option<f64>,

    /// Compare rows at the distance whose bare round trip is nearest to this time, as 72ns; `ipcmark doctor` shows the
    /// available ones [default: the one with most blocks]
    #[arg(long, value_name = "TIME", value_parser = values::distance)]
    pub distance: Option<Duration>,

    /// Bytes written and read within the timed part: head, the first 16 alone, or all [default: all]
    #[arg(long, value_enum)]
    pub touch: Option<TouchWord>,

    /// Processors by what the leader's and a follower's share: smt (two threads of one core), same-cache, cross-cache (one
    /// memory node, no common cache), cross-numa, or all: each that the machine has, in turn from trial to trial, with
    /// tables for each distance [default: different physical cores, under one cache if possible]
    #[arg(long, value_name = "PLACEMENT", value_parser = values::placement())]
    #[arg(conflicts_with_all = ["cpus", "no_pin"])]
    pub placement: Option<Pinning>,

    /// Processors: the leader's, then the followers' [default: different physical cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "no_pin")]
    pub cpus: Option<Vec<u32>>,

    /// Do not pin the processes
    #[arg(long)]
    pub no_pin: bool,

    /// Namespaces for each session: auto, or off to run in the host's own environment
    #[arg(long, value_enum, default_value = "auto")]
    pub sandbox: SandboxWord,

    /// How the result is shown on standard output
    #[arg(long, value_name = "FORMAT", value_parser = values::formats(), default_value = "table")]
    pub format: &'static Format,

    /// Also write the result to a file in any of these formats, at the end; can be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = Export::parse)]
    #[arg(add = complete::exports())]
    pub export: Vec<Export>,

    /// Also write the result file here, during the run and at its end
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Draw the run so far on the terminal: ranks with intervals, the growing histogram, the current distance
    #[arg(long)]
    pub live: bool,

    /// Also count system calls, instructions and cycles of each row, in passes of their own after the trials: the times of
    /// traced processes mean nothing
    #[arg(long, conflicts_with_all = ["rate", "interval", "trace"])]
    pub count: bool,

    /// Also add the result to the history, at the end; `ipcmark history` shows it
    #[arg(long)]
    pub history: bool,

    /// Seed of every random order and of the checked payloads [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,

    /// How long a case may take beyond its expected length before it is failed [default: 10s for every 16 followers]
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    pub timeout: Option<Duration>,

    /// True if the transports are another benchmark's whole set: then an unavailable one is no error
    #[arg(skip)]
    pub has_all: bool,

    /// True if the progress is printed as iceperf prints it
    #[arg(skip)]
    pub announces: bool,

    /// Options in which a follower by hand must agree, if it was started with them
    #[arg(skip)]
    pub terms: Option<BTreeMap<String, String>>,
}

/// Words of `--touch`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TouchWord {
    /// The 16 bytes of the head, as iceperf does
    Head,
    /// Every byte, written before publish and read after take
    All,
}

/// Words of `--arrivals`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsWord {
    /// At equal intervals
    Fixed,
    /// At exponentially distributed intervals
    Poisson,
}

impl From<ArrivalsWord> for Arrivals {
    fn from(word: ArrivalsWord) -> Self {
        match word {
            ArrivalsWord::Fixed => Arrivals::Fixed,
            ArrivalsWord::Poisson => Arrivals::Poisson,
        }
    }
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

/// A key of a plan.
pub(super) struct PlanKey {
    pub name: String,
    /// True if each item of a list becomes a flag of its own; else the items are joined by commas.
    pub repeats: bool,
}

impl RunArguments {
    /// The transports, families and globs that the flags name, also in settings; empty if all are
    /// meant.
    pub(crate) fn named(&self) -> Vec<String> {
        let chosen = self.transports.iter().map(String::as_str);
        let named = chosen.chain(transport_options::named(&self.set)).map(str::to_owned);
        if self.transports.is_empty() { Vec::new() } else { named.collect() }
    }

    /// The flags of `ipcmark run` in `words`, which do not include a command name.
    pub(crate) fn of_words<W: Into<OsString> + Clone>(words: &[W]) -> Result<Self, clap::Error> {
        let mut run = Self::augment_args(clap::Command::new("ipcmark run").no_binary_name(true));
        let arguments =
            Self::from_arg_matches(&run.try_get_matches_from_mut(words.iter().cloned())?)?;
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
    pub(super) fn keys() -> Vec<PlanKey> {
        let run = Self::augment_args(clap::Command::new("run"));
        let key = |flag: &clap::Arg| {
            let is_repeated = matches!(flag.get_action(), ArgAction::Append);
            let repeats = is_repeated && flag.get_value_delimiter().is_none();
            Some(PlanKey { name: flag.get_long()?.into(), repeats })
        };
        run.get_arguments().filter_map(key).collect()
    }
}
