//! IPC-Bench's command line: `domain -c 1000000 -s 100`, and with `--all` the table of its Spectrum.
//!
//! Its programs write and read every byte within the timed part, so all bytes are touched. The
//! mechanisms that poll there spin here, the others block.

use clap::{Args, ValueEnum};

use crate::{
    arguments::sizes::Sizes,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement,
    translation::Translation,
};

/// One mechanism, named as IPC-Bench's program, or all.
#[derive(Args)]
pub(super) struct IpcBench {
    /// The program of IPC-Bench
    #[arg(value_enum, required_unless_present = "all")]
    mechanism: Option<Mechanism>,

    /// IPC-Bench's Spectrum: its nine methods at 100 and 1000 bytes, in one table
    #[arg(short, long, conflicts_with = "mechanism")]
    all: bool,

    /// Round trips
    #[arg(short, long, value_name = "COUNT", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    count: u64,

    /// Bytes of a message, at least 16 [default: 4096; 100 and 1000 with --all]
    #[arg(short, long, value_name = "SIZE", value_parser = one_size)]
    #[arg(allow_negative_numbers = true)]
    size: Option<usize>,

    /// Poll instead of sleeping
    #[arg(short, long)]
    busy: bool,

    /// Flags of `ipcmark run` behind --, such as -- --no-pin -o result.json
    #[arg(last = true, value_name = "FLAGS")]
    rest: Vec<String>,
}

/// The programs of IPC-Bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mechanism {
    /// Domain sockets: uds-stream
    Domain,
    /// An eventfd: eventfd
    #[value(aliases = ["eventfd-uni", "eventfd-bi"])]
    Eventfd,
    /// Named pipes: fifo
    Fifo,
    /// A memory-mapped file: mmap-file
    Mmap,
    /// System V message queues: sysv-mq
    Mq,
    /// Pipes: pipe
    Pipe,
    /// System V shared memory, polled: sysv-shm
    Shm,
    /// Shared memory to sleep on: shm-futex
    ShmSync,
    /// Unix signals: signal
    Signal,
    /// Internet sockets: tcp
    Tcp,
    /// ZeroMQ over TCP: zeromq-tcp
    Zeromq,
}

impl Mechanism {
    fn transport(self) -> &'static str {
        match self {
            Mechanism::Domain => "uds-stream",
            Mechanism::Eventfd => "eventfd",
            Mechanism::Fifo => "fifo",
            Mechanism::Mmap => "mmap-file",
            Mechanism::Mq => "sysv-mq",
            Mechanism::Pipe => "pipe",
            Mechanism::Shm => "sysv-shm",
            Mechanism::ShmSync => "shm-futex",
            Mechanism::Signal => "signal",
            Mechanism::Tcp => "tcp",
            Mechanism::Zeromq => "zeromq-tcp",
        }
    }

    /// True if its program polls without a flag.
    fn polls(self) -> bool {
        matches!(self, Mechanism::Shm | Mechanism::Mmap)
    }
}

/// The methods of IPC-Bench's Spectrum, in its order.
const SPECTRUM: &str = "signal,zeromq-tcp,tcp,uds-stream,pipe,sysv-mq,fifo,sysv-shm,mmap-file";

/// Their waits there.
const SPECTRUM_WAITS: &str = "block,sysv-shm=spin,mmap-file=spin";

impl IpcBench {
    /// The equivalent flags of `ipcmark run`.
    pub(super) fn translated(&self) -> Translation {
        match self.mechanism {
            Some(mechanism) => self.translated_to(
                mechanism.transport(),
                if mechanism.polls() { "spin" } else { "block" },
                "4096",
                "ipc-bench",
            ),
            None => self
                .translated_to(SPECTRUM, SPECTRUM_WAITS, "ipc-bench", "ipc-bench-table")
                .of_all(),
        }
    }

    fn translated_to(
        &self,
        transports: &str,
        waits: &str,
        sizes: &str,
        format: &str,
    ) -> Translation {
        Translation::new(
            &[
                ("transports", transports),
                ("waits", if self.busy { "spin" } else { waits }),
                ("touch", "all"),
                ("round-trips", &self.count.to_string()),
                ("sizes", &self.size.map_or(sizes.to_owned(), |size| size.to_string())),
                ("format", format),
            ],
            &self.rest,
        )
    }
}

fn one_size(text: &str) -> Result<usize, String> {
    match Sizes::parse(text)?.0[..] {
        [size] => Ok(size),
        _ => Err("one size is measured at a time".into()),
    }
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments = invocation.arguments::<IpcBench>()?.translated().arguments()?;
    measurement::measure_here(&arguments)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "ipc-bench",
    summary: "IPC-Bench's command line: one mechanism or all, shown as IPC-Bench shows it",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark ipc-bench domain -c 1000000 -s 100", ""),
            ("ipcmark ipc-bench shm -- --no-pin -o result.json", ""),
            ("ipcmark ipc-bench --all", "all methods, in IPC-Bench's table"),
        ],
        exit: "0 it was measured; 1 it failed or is not available (with --all: something failed); 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["run", "ipc-performance"],
    },
    flags: IpcBench::augment_args,
    run,
};

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        line: IpcBench,
    }

    fn words(line: &str) -> Result<String, clap::Error> {
        let line =
            CommandLine::try_parse_from(std::iter::once("x").chain(line.split_whitespace()))?;
        Ok(line.line.translated().words.join(" "))
    }

    #[test]
    fn its_example_runs_as_it_is() {
        assert_eq!(
            words("domain -c 1000000 -s 100").unwrap(),
            "--transports=uds-stream --waits=block --touch=all --round-trips=1000000 --sizes=100 \
             --format=ipc-bench --trials=1"
        );
    }

    #[test]
    fn defaults_are_those_of_its_programs() {
        let words = words("shm").unwrap();
        assert!(words.contains("--transports=sysv-shm --waits=spin "), "{words}");
        assert!(words.contains("--round-trips=1000 --sizes=4096 "), "{words}");
    }

    #[test]
    fn all_are_those_of_its_spectrum() {
        assert_eq!(
            words("--all").unwrap(),
            "--transports=signal,zeromq-tcp,tcp,uds-stream,pipe,sysv-mq,fifo,sysv-shm,mmap-file \
             --waits=block,sysv-shm=spin,mmap-file=spin --touch=all --round-trips=1000 \
             --sizes=ipc-bench --format=ipc-bench-table --trials=1"
        );
        let busy = words("--all --busy -s 64").unwrap();
        assert!(busy.contains("--waits=spin ") && busy.contains("--sizes=64 "), "{busy}");
    }

    #[test]
    fn every_mechanism_is_an_existing_transport() {
        let registry = ipcmark_registry::native();
        for mechanism in Mechanism::value_variants() {
            let name = mechanism.transport();
            let known = registry.iter().any(|candidate| candidate.definition().name == name);
            assert!(known || name == "zeromq-tcp", "{mechanism:?}: there is no {name}");
        }
    }

    #[test]
    fn flags_of_run_come_last_and_so_override() {
        let words = words("tcp --busy -- --no-pin --format csv").unwrap();
        assert!(words.contains("--waits=spin "), "{words}");
        assert!(words.ends_with(" --format=ipc-bench --trials=1 --no-pin --format csv"), "{words}");
    }

    #[test]
    fn mistakes_are_rejected_with_the_reason() {
        for (line, reason) in [
            ("domains", "domain"),
            ("domain -s 8", "at least 16"),
            ("domain -s 64,128", "one size"),
            ("domain -c 0", "0 is not in"),
            ("domain -n 5", "unexpected argument"),
            ("", "MECHANISM"),
            ("pipe --all", "cannot be used with"),
        ] {
            let error = words(line).unwrap_err().to_string();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
