//! LatencyTest's launcher, `latency_tests.py`: one command for both nodes, in one process or with
//! `--interprocess` in two. It launches a command line of [`latency_test`](super::latency_test).

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};

use super::latency_test::{LatencyTest, measure_here};
use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
};

/// The launcher's options, spelt as there.
#[derive(Args)]
pub(super) struct LatencyTests {
    /// Publisher and subscriber in two processes [default: in one]
    #[arg(short, long)]
    interprocess: bool,

    /// Round trips for each payload
    #[arg(short, long, value_name = "NUMBER", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    number_of_samples: u64,

    /// File of payloads, as 16;32;64 [default: 16;1024;64512;1048576]
    #[arg(short = 'f', long = "demands_file", alias = "file", value_name = "FILE")]
    demands_file: Option<OsString>,

    /// Send lost messages again [default: best effort]
    #[arg(short, long)]
    reliability: bool,

    /// Write and read messages in place
    #[arg(short = 'l', long = "data_loans")]
    data_loans: bool,

    /// The library's shared-memory transport: on, off [default: on]
    #[arg(long = "shared_memory", value_name = "on|off", num_args = 0..=1)]
    #[arg(default_missing_value = "on", value_parser = ["on", "off"])]
    shared_memory: Option<String>,

    /// Authenticate the ends and encrypt what they say; with the certificates in the directory
    /// $CERTS_PATH, if there is one
    #[arg(short, long, requires = "interprocess")]
    security: bool,

    /// XML file with default profiles of the library
    #[arg(short, long = "xml_file", value_name = "FILE")]
    xml_file: Option<OsString>,

    /// Flags of `ipcmark run` behind --, such as -- --no-pin -o result.json
    #[arg(last = true, value_name = "FLAGS")]
    rest: Vec<OsString>,
}

impl LatencyTests {
    /// The command line of LatencyTest that it launches.
    pub(super) fn launched(&self) -> Result<LatencyTest, clap::Error> {
        let mut test = LatencyTest::augment_args(Command::new("ipcmark latency-tests"));
        LatencyTest::from_arg_matches(&test.try_get_matches_from_mut(self.words())?)
    }

    /// Its words. Two processes of this command replace LatencyTest's publisher and subscriber.
    fn words(&self) -> Vec<OsString> {
        let role = if self.interprocess { "publisher" } else { "both" };
        let mut words: Vec<OsString> = vec!["latency-tests".into(), role.into()];
        words.push(format!("--samples={}", self.number_of_samples).into());
        let given = |is_given: bool, word: &str| is_given.then(|| OsString::from(word));
        words.extend(given(self.reliability, "--reliability=reliable"));
        words.extend(given(self.data_loans, "--data_loans"));
        words.extend(given(self.security, "--security=true"));
        let certificates = std::env::var_os("CERTS_PATH").filter(|_| self.security);
        let memory = self.shared_memory.as_ref().map(OsString::from);
        for (flag, value) in [
            ("--certs=", certificates),
            ("--shared_memory=", memory),
            ("--file=", self.demands_file.clone()),
            ("--xml=", self.xml_file.clone()),
        ] {
            words.extend(value.map(|value| [OsString::from(flag), value].into_iter().collect()));
        }
        words.push("--".into());
        words.extend(self.rest.iter().cloned());
        words
    }
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    measure_here(&invocation.arguments::<LatencyTests>()?.launched()?)
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "latency-tests",
    summary: "LatencyTest's launcher, latency_tests.py: both nodes by one command",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark latency-tests -n 1000", ""),
            ("ipcmark latency-tests --interprocess --reliability --shared_memory off", ""),
            ("ipcmark latency-tests --interprocess --security", ""),
        ],
        exit: "0 it was measured; 1 it failed or the library is not available; 2 the command line is wrong; 128 + signal after Ctrl-C or SIGTERM",
        see_also: &["latency-test", "run"],
    },
    flags: LatencyTests::augment_args,
    run,
};

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        line: LatencyTests,
    }

    fn translated(line: &str) -> Result<String, String> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        let line = CommandLine::try_parse_from(words).map_err(|e| e.to_string())?.line;
        let translation = line.launched().map_err(|e| e.to_string())?.translated()?;
        Ok([translation.words, translation.settings].concat().join(" "))
    }

    #[test]
    fn options_choose_the_row() {
        for (line, row, setting) in [
            ("", "fastdds-intra", "reliability=best-effort"),
            ("--reliability", "fastdds-intra", "reliability=reliable"),
            ("--interprocess", "fastdds", "reliability=best-effort"),
            ("-i --data_loans", "fastdds-loan", ""),
            ("-i --shared_memory off", "fastdds-udp", ""),
            ("-i --shared_memory", "fastdds-shm", ""),
            ("-i --security -x p.xml", "fastdds-secure", "fastdds-secure.profile=p.xml"),
        ] {
            let words = translated(line).unwrap();
            assert!(words.starts_with(&format!("--transports={row} ")), "{line}: {words}");
            assert!(words.contains(setting), "{line}: {words}");
        }
    }

    #[test]
    fn samples_and_flags_of_run_are_handed_on() {
        let words = translated("-n 5 -- --no-pin").unwrap();
        assert!(words.contains("--round-trips=5 ") && words.contains(" --no-pin "), "{words}");
    }

    #[test]
    fn mistakes_are_rejected_with_the_reason() {
        for (line, reason) in [
            ("--security", "--interprocess"),
            ("-n 0", "0 is not in"),
            ("-f /none/demands", "demands"),
            ("--shared_memory maybe", "on, off"),
            ("-i --security --data_loans", "--security encrypts"),
        ] {
            let error = translated(line).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
