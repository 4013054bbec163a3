//! iceperf's command line: `iceperf-leader -n 100000 -t iceoryx-cpp-api`, with `iceperf-follower` in
//! another terminal.
//!
//! iceperf polls with iceoryx's C++ and C API and sleeps with all others.

use clap::{Args, ValueEnum};

use crate::{
    arguments::{by_hand::LeaderLocation, run::RunArguments},
    by_hand,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    translation::Translation,
};

/// iceperf's leader, which measures.
#[derive(Args)]
pub(super) struct IceperfLeader {
    /// Round trips for each payload
    #[arg(short, long, value_name = "NUMBER", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    number_of_samples: u64,

    /// The transports to measure
    #[arg(short, long, value_enum, default_value = "all")]
    technology: Technology,

    /// The benchmark to run: latency is the only one
    #[arg(short, long, value_enum, default_value = "all")]
    benchmark: Benchmark,

    #[command(flatten)]
    place: LeaderLocation,

    /// Flags of `ipcmark run` behind --, such as -- --no-pin -o result.json
    #[arg(last = true, value_name = "FLAGS")]
    rest: Vec<String>,
}

/// iceperf's technologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Technology {
    /// All that follow, and iceoryx's WaitSet
    All,
    /// iceoryx, its C API: iceoryx-c
    IceoryxCApi,
    /// iceoryx, its C++ API: iceoryx-cpp
    IceoryxCppApi,
    /// POSIX message queues: posix-mq
    PosixMessageQueue,
    /// Unix domain sockets: uds-dgram
    UnixDomainSockets,
}

/// iceperf's benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Benchmark {
    All,
    Latency,
}

impl Technology {
    fn transports(self) -> &'static str {
        match self {
            Technology::All => "posix-mq,uds-dgram,iceoryx-cpp,iceoryx-c,iceoryx-waitset",
            Technology::IceoryxCApi => "iceoryx-c",
            Technology::IceoryxCppApi => "iceoryx-cpp",
            Technology::PosixMessageQueue => "posix-mq",
            Technology::UnixDomainSockets => "uds-dgram",
        }
    }

    /// Its wait; for `all`, the wait of those that do not poll.
    fn waits(self) -> &'static str {
        match self {
            Technology::IceoryxCApi | Technology::IceoryxCppApi => "spin",
            Technology::All | Technology::PosixMessageQueue | Technology::UnixDomainSockets => {
                "block"
            }
        }
    }
}

/// The transports in `all` that poll; they have no other wait.
const POLLED: [&str; 2] = ["iceoryx-cpp", "iceoryx-c"];

impl IceperfLeader {
    /// The equivalent for `ipcmark leader`.
    pub(super) fn translated(&self) -> Translation {
        let flags = [
            ("transports", self.technology.transports()),
            ("waits", self.technology.waits()),
            ("touch", "head"),
            ("round-trips", &self.number_of_samples.to_string()),
            ("sizes", "iceperf"),
            ("format", "iceperf"),
        ];
        let translation = Translation::new(&flags, &self.rest);
        match self.technology {
            Technology::All => Translation { polled: &POLLED, ..translation.of_all() },
            _ => translation,
        }
    }
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let line: IceperfLeader = invocation.arguments()?;
    let arguments = RunArguments { announces: true, ..line.translated().arguments()? };
    by_hand::lead(&line.place, &arguments)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "iceperf-leader",
    summary: "iceperf's leader in a terminal of its own, shown as iceperf shows it",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark iceperf-follower &", ""),
            ("ipcmark iceperf-leader -n 100000 -t iceoryx-cpp-api", ""),
            ("ipcmark iceperf-leader -t all -- -s 1k..4M -o result.json", ""),
        ],
        exit: "0 it was measured; 1 it failed or is not available (with -t all: something failed); 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["iceperf-follower", "run"],
    },
    flags: IceperfLeader::augment_args,
    run,
};

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ipcmark_transport::Wait;

    use super::*;
    use crate::arguments::values::WaitWord;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        line: IceperfLeader,
    }

    fn words(line: &str) -> Result<String, clap::Error> {
        let line =
            CommandLine::try_parse_from(std::iter::once("x").chain(line.split_whitespace()))?;
        Ok(line.line.translated().words.join(" "))
    }

    #[test]
    fn its_example_runs_as_it_is() {
        assert_eq!(
            words("-n 100000 -t iceoryx-cpp-api").unwrap(),
            "--transports=iceoryx-cpp --waits=spin --touch=head --round-trips=100000 \
             --sizes=iceperf --format=iceperf --trials=1"
        );
    }

    #[test]
    fn defaults_are_iceperf_s() {
        let words = words("").unwrap();
        assert!(words.contains("iceoryx-waitset") && words.contains("=10000"), "{words}");
        assert!(words.contains("--waits=block "), "{words}");
    }

    #[test]
    fn transports_that_poll_in_iceperf_poll_here() {
        let waits = |line: &str| {
            let words = std::iter::once("x").chain(line.split_whitespace());
            let line = CommandLine::try_parse_from(words).unwrap().line;
            let waits = line.translated().arguments().unwrap().waits.unwrap();
            let word = |word: WaitWord| (word.transports.unwrap_or_default(), word.wait.unwrap());
            waits.into_iter().map(word).collect::<Vec<_>>()
        };
        let polled = POLLED.map(|name| (name.to_owned(), Wait::Spin));
        for line in ["", "-t all -- -w block"] {
            assert_eq!(waits(line)[0], (String::new(), Wait::Block), "{line}");
            assert_eq!(waits(line)[1..], polled, "{line}");
        }
        assert_eq!(waits("-t iceoryx-c-api"), [(String::new(), Wait::Spin)]);
    }

    #[test]
    fn an_unknown_technology_or_benchmark_brings_the_known_ones() {
        let refused = words("-t pipes").unwrap_err().to_string();
        assert!(refused.contains("posix-message-queue"), "{refused}");
        let refused = words("-b throughput").unwrap_err().to_string();
        assert!(refused.contains("latency"), "{refused}");
    }
}
