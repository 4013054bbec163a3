//! The command line of Fast DDS's LatencyTest: `both --reliability=reliable --samples=10000`.
//!
//! Its options choose the row by the library features that they need; the rest of them become
//! settings of that row. LatencyTest sleeps until the library calls it, so the ends block.

use std::collections::BTreeMap;

use clap::{ArgAction, Args, ValueEnum};

use crate::{
    arguments::{
        by_hand::{FollowerArguments, LeaderLocation},
        run::RunArguments,
        sizes::Sizes,
    },
    by_hand,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    measurement, output,
    translation::Translation,
};

/// LatencyTest's options, spelt as there.
#[derive(Args)]
pub(super) struct LatencyTest {
    /// Ends that run here: both, in one process unless an option asks for what only passes between
    /// processes, or one of them, with the other in another terminal or on another host
    #[arg(value_enum)]
    role: NodeRole,

    /// Resend lost messages, or not [default: besteffort]
    #[arg(short, long, value_enum)]
    reliability: Option<Reliability>,

    /// Round trips for each payload
    #[arg(short, long, value_name = "NUMBER", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    samples: u64,

    /// DDS domain [default: one of the session's own]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=232))]
    domain: Option<u32>,

    /// File of payloads, as 16;32;64 [default: 16;1024;64512;1048576]
    #[arg(short, long, value_name = "FILE", value_parser = payloads)]
    file: Option<Sizes>,

    /// Map the writers' memory into the readers, or not [default: the library decides]
    #[arg(short, long = "data_sharing", alias = "data-sharing", value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    data_sharing: Option<Switch>,

    /// Write and read messages in place
    #[arg(short = 'l', long = "data_loans", aliases = ["data-loans", "data_load", "data-load"])]
    data_loans: bool,

    /// The library's shared-memory transport [default: on]
    #[arg(long = "shared_memory", alias = "shared-memory", value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    shared_memory: Option<Switch>,

    /// Authenticate the ends and encrypt what they say
    #[arg(long, value_name = "true|false", default_value = "false", action = ArgAction::Set)]
    security: bool,

    /// Directory with certificates, under the names that `fastdds-secure` has [default: made for
    /// the session]
    #[arg(long, value_name = "DIRECTORY")]
    certs: Option<String>,

    /// XML file with default profiles of the library
    #[arg(long, value_name = "FILE")]
    xml: Option<String>,

    /// Followers, each a process
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    subscribers: u32,

    /// Answer messages as a subscriber; with false only listen
    #[arg(short, long, value_name = "true|false", default_value = "true", action = ArgAction::Set)]
    echo: bool,

    #[command(flatten)]
    place: LeaderLocation,

    /// Address of a publisher on another host, for a subscriber; --secret is needed
    #[arg(long, value_name = "ADDRESS:PORT", requires = "secret")]
    #[arg(conflicts_with_all = ["listen", "socket"])]
    connect: Option<String>,

    /// Flags of `ipcmark run` behind --, such as -- --no-pin -o result.json
    #[arg(last = true, value_name = "FLAGS")]
    rest: Vec<String>,
}

/// The first word of LatencyTest's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NodeRole {
    /// Both ends, measured by one command
    Both,
    /// The end that measures
    Publisher,
    /// The end that answers
    Subscriber,
}

/// Words of `--reliability`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Reliability {
    /// Lost messages are sent again
    Reliable,
    /// Lost messages are not sent again
    #[value(alias = "best-effort")]
    Besteffort,
}

/// Words of options that force a library feature on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Switch {
    fn word(self) -> &'static str {
        match self {
            Switch::On => "on",
            Switch::Off => "off",
        }
    }
}

/// A row and its settings.
type RowSettings = (&'static str, Vec<(&'static str, &'static str)>);

impl LatencyTest {
    /// The equivalent of a subscriber for `ipcmark follower`. The publisher sends it the rest.
    fn follower(&self) -> FollowerArguments {
        FollowerArguments {
            socket: self.place.socket.clone(),
            allow_user: self.place.allow_user.clone(),
            connect: self.connect.clone(),
            secret: self.place.secret.clone(),
            silent: !self.echo,
            terms: self.terms(self.reliability),
            ..FollowerArguments::plain(&[])
        }
    }

    /// The options in which the two ends must agree, by name, as far as they are given.
    fn terms(&self, reliability: Option<Reliability>) -> BTreeMap<String, String> {
        let reliability = reliability.map(|reliability| match reliability {
            Reliability::Reliable => "reliable".to_owned(),
            Reliability::Besteffort => "besteffort".to_owned(),
        });
        let word = |switch: Option<Switch>| switch.map(|switch| switch.word().to_owned());
        let terms = [
            ("--reliability", reliability),
            ("--domain", self.domain.map(|domain| domain.to_string())),
            ("--data_sharing", word(self.data_sharing)),
            ("--shared_memory", word(self.shared_memory)),
            ("--data_loans", self.data_loans.then(|| "on".to_owned())),
            ("--security", self.security.then(|| "true".to_owned())),
        ];
        let given =
            terms.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?)));
        given.collect()
    }

    /// The equivalent for `ipcmark run`, or for `ipcmark leader`.
    pub(super) fn translated(&self) -> Result<Translation, String> {
        self.reject_contradictions()?;
        let (row, told) = self.row();
        let mut translation = Translation::new(
            &[
                ("transports", row),
                ("waits", "block"),
                ("touch", "head"),
                ("round-trips", &self.samples.to_string()),
                ("sizes", &self.sizes()),
                ("subscribers", &self.subscribers.to_string()),
                ("format", "fastdds"),
            ],
            &self.rest,
        );
        let set = |(key, value): (&str, String)| format!("{row}.{key}={value}");
        let told = told.into_iter().map(|(key, value)| (key, value.to_owned()));
        translation.settings = self.settings().into_iter().chain(told).map(set).collect();
        Ok(translation)
    }

    /// The reason why the ends run in two processes, where LatencyTest runs them in one.
    fn note(&self) -> Option<String> {
        let (row, _) = self.row();
        (self.role == NodeRole::Both && row != INTRA).then(|| {
            format!(
                "the options need two processes: the ends run in two, as {row}, not in one, as {INTRA}"
            )
        })
    }

    /// The payloads; without a file those of LatencyTest's own example.
    fn sizes(&self) -> String {
        let joined = |sizes: &Sizes| {
            let sizes: Vec<String> = sizes.0.iter().map(ToString::to_string).collect();
            sizes.join(",")
        };
        self.file.as_ref().map_or_else(|| "fastdds".to_owned(), joined)
    }

    fn reject_contradictions(&self) -> Result<(), String> {
        let shares = self.data_sharing == Some(Switch::On) || self.data_loans;
        let is_in_memory = shares || self.shared_memory == Some(Switch::On);
        match self {
            _ if !self.echo => Err("--echo is an option of a subscriber, in its own terminal: without an answer \
            there is no round trip to time"
                .into()),
            _ if self.security && is_in_memory => {
                Err("--security encrypts messages over UDP: it cannot be combined with --data_sharing=on, \
                --data_loans or --shared_memory=on"
                    .into())
            }
            _ if self.certs.is_some() && !self.security => {
                Err("--certs makes sense only with --security=true".into())
            }
            _ => Ok(()),
        }
    }

    /// The row that has the features that the options need.
    fn row(&self) -> RowSettings {
        let memory = self.shared_memory.map(|switch| ("shared-memory", switch.word()));
        let with = |told: &[(&'static str, &'static str)]| {
            told.iter().copied().chain(memory).collect::<Vec<_>>()
        };
        match (self.data_loans, self.data_sharing, self.shared_memory) {
            _ if self.security => ("fastdds-secure", vec![]),
            (true, Some(Switch::Off), _) => {
                ("fastdds", with(&[("loans", "on"), ("data-sharing", "off")]))
            }
            (true, _, _) => ("fastdds-loan", with(&[])),
            (false, Some(Switch::On), _) => ("fastdds-datasharing", with(&[])),
            (false, _, Some(Switch::Off)) => ("fastdds-udp", vec![]),
            (false, _, Some(Switch::On)) => ("fastdds-shm", vec![]),
            (false, Some(Switch::Off), None) => ("fastdds", with(&[("data-sharing", "off")])),
            (false, None, None) if self.role == NodeRole::Both => (INTRA, vec![]),
            (false, None, None) => ("fastdds", vec![]),
        }
    }

    /// The settings that every row accepts.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let reliability = match self.reliability {
            Some(Reliability::Reliable) => "reliable",
            Some(Reliability::Besteffort) | None => "best-effort",
        };
        let domain = self.domain.map(|domain| ("domain", domain.to_string()));
        let profile = self.xml.clone().map(|file| ("profile", file));
        let certificates = self.certs.clone().map(|directory| ("certificates", directory));
        let others = [domain, profile, certificates].into_iter().flatten();
        std::iter::once(("reliability", reliability.to_owned())).chain(others).collect()
    }
}

fn payloads(path: &str) -> Result<Sizes, String> {
    Sizes::parse(&format!("@{path}"))
}

/// The row of LatencyTest's `both`.
const INTRA: &str = "fastdds-intra";

/// Measures with both ends in this command.
pub(super) fn measure_here(line: &LatencyTest) -> CommandOutcome {
    let arguments = line.translated()?.arguments()?;
    if let Some(note) = line.note() {
        output::say(note);
    }
    measurement::measure_here(&arguments)
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let line: LatencyTest = invocation.arguments()?;
    match line.role {
        NodeRole::Both => measure_here(&line),
        NodeRole::Publisher => {
            let terms = line.terms(line.reliability.or(Some(Reliability::Besteffort)));
            let arguments = line.translated()?.arguments()?;
            by_hand::lead(&line.place, &RunArguments { terms: Some(terms), ..arguments })
        }
        NodeRole::Subscriber => by_hand::follow(&line.follower()),
    }
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "latency-test",
    summary: "The command line of Fast DDS's LatencyTest, shown as LatencyTest shows it",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark latency-test both --samples 10000", ""),
            ("ipcmark latency-test publisher -s 1000 &", ""),
            ("ipcmark latency-test subscriber", ""),
        ],
        exit: "0 it was measured; 1 it failed or the library is not available; 2 the command line is wrong; 128 + \
        signal after Ctrl-C or SIGTERM",
        see_also: &["latency-tests", "run"],
    },
    flags: LatencyTest::augment_args,
    run,
};

#[cfg(test)]
mod tests;
