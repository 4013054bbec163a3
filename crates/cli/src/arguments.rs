//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    parser::ValueSource,
};
use ipcmark_engine::{PATTERNS, Touch};
use ipcmark_report::Format;
use ipcmark_transport::{Pattern, Wait};

use crate::{
    by_hand::{FollowerArguments, LeaderArguments},
    papers::{CompletionArguments, ManArguments},
    plan_file,
    sizes::Sizes,
    styles::{IceperfLeader, IpcBench, LatencyTest},
};

#[derive(Parser)]
#[command(name = "ipcmark", version, about = ABOUT, after_help = AFTER, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const ABOUT: &str = "How long a hop between two processes takes on this machine, through every \
    mechanism worth choosing, and what it costs in CPU";

const AFTER: &str = "Exit status: 0 all asked for was measured; 1 something asked for failed or is \
    not available; 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM.";

/// What the command is to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure; without arguments, everything available, in two or three minutes
    Run(Box<RunArguments>),
    /// Measure by hand: as run, with followers in other terminals, containers, users or hosts
    Leader(Box<LeaderArguments>),
    /// The other end of a run by hand; the leader tells it everything
    Follower(FollowerArguments),
    /// Show every transport known, what it can do, and whether it can run here
    List(ListArguments),
    /// Make a page for the browser of one result, or of several side by side
    Report(ReportArguments),
    /// Print the JSON Schema of the result file
    Schema,
    /// IPC-Bench's command line: one mechanism, shown as IPC-Bench shows it
    IpcBench(IpcBench),
    /// The command line of Fast DDS's LatencyTest, shown as LatencyTest shows it
    LatencyTest(Box<LatencyTest>),
    /// iceperf's leader in a terminal of its own, shown as iceperf shows it
    IceperfLeader(Box<IceperfLeader>),
    /// iceperf's follower in another terminal
    IceperfFollower(FollowerArguments),
    /// Print a script that completes this command's words in a shell
    Completions(CompletionArguments),
    /// Print this command's page for man, or write those of all its commands to a directory
    Man(ManArguments),
    /// Remove what a killed run without a sandbox left behind
    Clean,
}

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
    #[arg(short, long, value_name = "DURATION", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Shapes of the traffic: latency, fan-out [default: latency; fan-out with --subscribers]
    #[arg(short, long, value_name = "PATTERN,…", value_delimiter = ',')]
    #[arg(value_parser = parse_pattern)]
    pub patterns: Option<Vec<Pattern>>,

    /// How the ends wait: spin, block, hybrid [default: all that a transport has]
    #[arg(short, long, value_name = "WAIT,…", value_delimiter = ',', value_parser = parse_wait)]
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

    /// Messages a second, as 10k/s; only for patterns that are paced
    #[arg(long, value_name = "R")]
    pub rate: Option<String>,

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
    #[arg(long, value_name = "FORMAT", value_parser = parse_format, default_value = "table")]
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
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub timeout: Duration,
}

/// What to list.
#[derive(Args)]
pub(crate) struct ListArguments {
    /// Only these, and with all that is known of each: its capabilities, its options
    #[arg(value_name = "TRANSPORT")]
    pub transports: Vec<String>,

    /// How the list is shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: ListFormat,

    /// A module of transports to load beside those that are found
    #[arg(long, value_name = "PATH.so")]
    pub module: Vec<PathBuf>,
}

/// What to make a page of.
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Result files; each is compared with the first
    #[arg(value_name = "RESULT.json", required = true)]
    pub results: Vec<PathBuf>,

    /// Where the page goes [default: standard output]
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

/// Words of `list --format`.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Table,
    /// For programs
    Json,
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

/// The definitions of all commands and flags.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Parses the process's command line; ends the process for help, version and mistakes.
pub(crate) fn parse() -> Command {
    let matches = Cli::command().get_matches();
    let command = Cli::from_arg_matches(&matches).map_or_else(|e| e.exit(), |cli| cli.command);
    match (command, matches.subcommand()) {
        (Command::Run(run), Some((_, flags))) if run.plan.is_some() => {
            plan_file::spliced(&run, &|flag| is_given(flags, flag))
                .map_or_else(|error| error.exit(), |words| Cli::parse_from(words).command)
        }
        (command, _) => command,
    }
}

/// Parses the flags of `ipcmark run` alone.
pub(crate) fn parse_run(flags: &[String]) -> Result<RunArguments, clap::Error> {
    let run = RunArguments::augment_args(clap::Command::new("ipcmark run").no_binary_name(true));
    let arguments = RunArguments::from_arg_matches(&run.try_get_matches_from(flags)?)?;
    match &arguments.plan {
        Some(plan) => Err(wrong(format!(
            "'{}' is no flag; a plan goes with 'ipcmark run' alone",
            plan.display()
        ))),
        None => Ok(arguments),
    }
}

/// Whether a flag stands on the command line itself.
fn is_given(flags: &ArgMatches, flag: &str) -> bool {
    flags.ids().any(|id| id == flag) && flags.value_source(flag) == Some(ValueSource::CommandLine)
}

/// The long flags of `ipcmark run`.
pub(crate) fn run_flags() -> Vec<String> {
    let run = RunArguments::augment_args(clap::Command::new("run"));
    run.get_arguments().filter_map(|flag| flag.get_long().map(Into::into)).collect()
}

/// An error about the command line in clap's own form.
pub(crate) fn wrong(message: String) -> clap::Error {
    Cli::command().error(clap::error::ErrorKind::ValueValidation, message)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as 200ms or 2s"))?;
    let range = Duration::from_millis(1)..=Duration::from_secs(3600);
    if range.contains(&duration) {
        Ok(duration)
    } else {
        Err("it is not between 1ms and 1h".into())
    }
}

fn parse_wait(word: &str) -> Result<Wait, String> {
    word.parse().map_err(|()| format!("waits are {}", words(Wait::ALL)))
}

fn parse_pattern(word: &str) -> Result<Pattern, String> {
    let pattern = word.parse().map_err(|()| format!("patterns are {}", words(Pattern::ALL)))?;
    match PATTERNS.contains(&pattern) {
        true => Ok(pattern),
        false => {
            Err(format!("this version does not measure it yet; it measures {}", words(PATTERNS)))
        }
    }
}

fn parse_format(word: &str) -> Result<Format, String> {
    word.parse().map_err(|()| format!("formats are {}", words(Format::ALL)))
}

fn words<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command line; no page has a quote within a word.
    fn words(line: &str) -> impl Iterator<Item = String> {
        line.split_whitespace().map(|word| word.trim_matches('\'').to_owned())
    }

    #[test]
    fn every_command_on_the_pages_for_others_is_one() {
        let registry = crate::registry::look(&[]).unwrap();
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/coming-from");
        let mut commands = 0;
        for page in std::fs::read_dir(pages).unwrap().flatten() {
            let text = std::fs::read_to_string(page.path()).unwrap();
            for line in text.lines().filter(|line| line.starts_with("ipcmark ")) {
                let cli = Cli::try_parse_from(words(line)).map_err(|e| e.to_string());
                let run = match cli.map(|cli| cli.command) {
                    Ok(Command::Run(run)) => *run,
                    Ok(Command::IpcBench(style)) => style.translated().arguments(),
                    Ok(Command::LatencyTest(style)) => style.translated().unwrap().arguments(),
                    Ok(Command::IceperfLeader(style)) => style.translated().arguments(),
                    Ok(_) => continue,
                    Err(error) => panic!("{line}: {error}"),
                };
                crate::selection::select(&run.transports, &registry).unwrap();
                crate::options::read(&run.set, &registry).unwrap();
                commands += 1;
            }
        }
        assert!(commands >= 8, "there are {commands} commands");
    }

    #[test]
    fn the_definitions_hold() {
        Cli::command().debug_assert();
    }

    #[test]
    fn words_that_are_not_known_are_refused_with_those_that_are() {
        for (flag, word, known) in [
            ("--waits", "sleep", "spin, block, hybrid"),
            ("--patterns", "ping", "latency"),
            ("--patterns", "one-way", "does not measure it yet"),
            ("--format", "xml", "table, markdown, csv, json"),
            ("--duration", "200", "200ms"),
            ("--duration", "0s", "between"),
        ] {
            let error =
                Cli::try_parse_from(["ipcmark", "run", flag, word]).err().unwrap().to_string();
            assert!(error.contains(known), "{flag} {word}: {error}");
        }
    }
}
