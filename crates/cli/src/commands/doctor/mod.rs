//! `ipcmark doctor`: is this machine fit to measure on?

mod clocks;
mod diagnosis;
mod examination;
mod issue;
mod json;
mod measured;
mod table;
mod verdict;

use std::{process::ExitCode, time::Duration};

use clap::{Args, ValueEnum};
use ipcmark_machine::{
    facts::{System, Weight},
    placement::Pinning,
};

use self::diagnosis::Diagnosis;
use crate::{
    arguments::values,
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::Guide,
    output,
};

/// A shorter measurement misses any state that lasts for milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);

/// The options of the examination.
#[derive(Args)]
struct DoctorArguments {
    /// How long to measure, with its unit
    #[arg(short, long, value_name = "DURATION", value_parser = values::duration, default_value = "5s")]
    duration: Duration,

    /// Processors to examine [default: all that this process may use]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    cpus: Option<Vec<u32>>,

    /// How the diagnosis is shown
    #[arg(long, value_enum, default_value = "table")]
    format: DoctorFormat,
}

/// Words of `doctor --format`.
#[derive(Clone, Copy, ValueEnum)]
enum DoctorFormat {
    /// For people
    Table,
    /// For programs
    Json,
    /// A block of Markdown for a bug report, without names of hosts, users, programs or directories
    Issue,
}

fn flags(command: clap::Command) -> clap::Command {
    DoctorArguments::augment_args(command)
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: DoctorArguments = invocation.arguments()?;
    if arguments.duration < SHORTEST {
        let why = "--duration must be at least 100ms: distances and hiccups last for milliseconds";
        return Err(String::from(why).into());
    }
    if let Some(cpus) = &arguments.cpus {
        let followers = cpus.len().saturating_sub(1) as u32;
        Pinning::Cpus(cpus.clone()).check(followers, 1).map_err(|e| e.to_string())?;
    }
    match System::running() {
        Ok(system) => diagnose(&arguments, system.with_cpus(arguments.cpus.as_deref())),
        Err(error) => Ok(output::failed(error)),
    }
}

fn diagnose(arguments: &DoctorArguments, system: System) -> CommandOutcome {
    let diagnosis = Diagnosis::of(&system, arguments.duration);
    let text = match arguments.format {
        DoctorFormat::Table => {
            output::shown(&table::table(&diagnosis, output::terminal())).into_owned()
        }
        DoctorFormat::Json => {
            serde_json::to_string_pretty(&json::json(&diagnosis)).map_err(|e| e.to_string())?
        }
        DoctorFormat::Issue => issue::issue(&diagnosis),
    };
    let is_fit = diagnosis.verdict.weight() < Weight::Unfit;
    Ok(match output::print(&format!("{text}\n")) && is_fit {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "doctor",
    summary: "Is this machine fit to measure on? Its distances, hiccups and settings, with remedies",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark doctor", "all facts, the most severe first"),
            ("ipcmark doctor --cpus 2,6", "these processors, as ipcmark run --cpus 2,6 takes them"),
            ("ipcmark doctor --duration 1m", "rarer hiccups and distances"),
            ("ipcmark doctor --format issue", "a block for a bug report"),
            ("ipcmark doctor --format json", "every fact, for programs"),
        ],
        exit: "0 fit, perhaps with reservations; 1 not fit for something, which the first line names, or the facts \
        could not be read; 2 the command line is wrong",
        see_also: &["cores", "run"],
    },
    flags,
    run,
};

#[cfg(test)]
mod tests {
    use ipcmark_machine::facts;

    use super::measured;

    /// The first cells of the tables on the page; some name several facts.
    fn documented() -> Vec<String> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
        let text = std::fs::read_to_string(page).unwrap();
        let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        cells.flat_map(|cell| cell.split(", ").map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn every_fact_stands_on_the_page() {
        let documented = documented();
        for name in facts::all().map(|fact| fact.name).chain(measured::names()) {
            assert!(documented.iter().any(|cell| cell == name), "docs/doctor.md lacks {name}");
        }
    }
}
