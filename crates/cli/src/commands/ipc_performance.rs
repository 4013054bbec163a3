//! IPC Performance Benchmarks' programs as one command: `shm_test`, or all of them in one table, as
//! there.
//!
//! Its shared memory polls, cpp-ipc polls for a while and then sleeps, and the others sleep.

use clap::{Args, ValueEnum};

use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement,
    translation::Translation,
};

/// One program of IPC Performance Benchmarks, or all.
#[derive(Args)]
pub(super) struct IpcPerformance {
    /// A program of IPC Performance Benchmarks [default: all of them]
    #[arg(value_enum, value_name = "PROGRAM")]
    program: Option<Program>,

    /// All of them, in one table
    #[arg(short, long, conflicts_with = "program")]
    all: bool,

    /// Flags of `ipcmark run` behind --, such as -- --no-pin -o result.json
    #[arg(last = true, value_name = "FLAGS")]
    rest: Vec<String>,
}

/// Its programs, in the order of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    /// Shared memory, polled: shm-ring
    #[value(name = "shm_test")]
    Shm,
    /// cpp-ipc's channel: cpp-ipc-channel
    #[value(name = "cppipc_channel_test")]
    CppipcChannel,
    /// cpp-ipc's route: cpp-ipc-route
    #[value(name = "cppipc_route_test")]
    CppipcRoute,
    /// Boost's message queue: boost-mq
    #[value(name = "boost_mq_test")]
    BoostMq,
    /// Boost's shared memory: boost-shm
    #[value(name = "boost_shm_test")]
    BoostShm,
    /// ZeroMQ over IPC: zeromq-ipc
    #[value(name = "zmq_test")]
    Zmq,
    /// NNG over IPC: nng-ipc
    #[value(name = "nng_test")]
    Nng,
    /// AlephZero's requests and replies: alephzero-rpc
    #[value(name = "ale_test")]
    Ale,
}

impl Program {
    fn transport(self) -> &'static str {
        match self {
            Program::Shm => "shm-ring",
            Program::CppipcChannel => "cpp-ipc-channel",
            Program::CppipcRoute => "cpp-ipc-route",
            Program::BoostMq => "boost-mq",
            Program::BoostShm => "boost-shm",
            Program::Zmq => "zeromq-ipc",
            Program::Nng => "nng-ipc",
            Program::Ale => "alephzero-rpc",
        }
    }
}

/// The waits of the programs.
const WAITS: &str = "block,shm-ring=spin,cpp-ipc-*=hybrid";

impl IpcPerformance {
    /// The equivalent flags of `ipcmark run`.
    pub(super) fn translated(&self) -> Translation {
        let programs =
            self.program.as_ref().map_or(Program::value_variants(), std::slice::from_ref);
        let transports: Vec<&str> = programs.iter().map(|program| program.transport()).collect();
        let translation = Translation::new(
            &[
                ("transports", &transports.join(",")),
                ("waits", WAITS),
                ("touch", "all"),
                ("round-trips", "1000"),
                ("sizes", "32"),
                ("format", "ipc-performance"),
            ],
            &self.rest,
        );
        if self.program.is_none() { translation.of_all() } else { translation }
    }
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments = invocation.arguments::<IpcPerformance>()?.translated().arguments()?;
    measurement::measure_here(&arguments)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "ipc-performance",
    summary: "IPC Performance Benchmarks: one program or all, in its table",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark ipc-performance --all", ""),
            ("ipcmark ipc-performance boost_mq_test", ""),
            ("ipcmark ipc-performance zmq_test -- -t zeromq-tcp -n 10000", ""),
        ],
        exit: "0 it was measured; 1 it failed or is not available (of all: something failed); 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["run", "ipc-bench"],
    },
    flags: IpcPerformance::augment_args,
    run,
};

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        line: IpcPerformance,
    }

    fn words(line: &str) -> Result<String, clap::Error> {
        let line =
            CommandLine::try_parse_from(std::iter::once("x").chain(line.split_whitespace()))?;
        Ok(line.line.translated().words.join(" "))
    }

    #[test]
    fn all_are_those_of_its_table() {
        let expected = "--transports=shm-ring,cpp-ipc-channel,cpp-ipc-route,boost-mq,boost-shm,\
             zeromq-ipc,nng-ipc,alephzero-rpc --waits=block,shm-ring=spin,cpp-ipc-*=hybrid \
             --touch=all --round-trips=1000 --sizes=32 --format=ipc-performance --trials=1";
        assert_eq!(words("--all").unwrap(), expected);
        assert_eq!(words("").unwrap(), expected, "its programs have no flags");
    }

    #[test]
    fn its_programs_are_called_as_there() {
        let names = "shm_test cppipc_channel_test cppipc_route_test boost_mq_test boost_shm_test \
             zmq_test nng_test ale_test";
        for name in names.split_whitespace() {
            assert!(!words(name).unwrap().contains(",boost"), "{name} is one");
        }
        assert!(words("ale_test").unwrap().starts_with("--transports=alephzero-rpc "));
        assert!(words("ale").unwrap_err().to_string().contains("ale_test"));
        assert!(words("ale_test --all").is_err());
    }
}
