//! `ipcmark`: how long a hop between two processes takes on this machine, through every mechanism
//! worth choosing, and what it costs.

mod arguments;
mod by_hand;
mod interrupts;
mod list;
mod options;
mod output;
mod papers;
mod plan_file;
mod progress;
mod registry;
mod report;
mod run;
mod selection;
mod sizes;
mod styles;

use std::process::ExitCode;

use arguments::{Command, RunArguments};
use ipcmark_abi::{Found, MODULE_COMMAND};
use ipcmark_engine::KEEPER_COMMAND;
use styles::{LatencyTest, Part, Translation};

/// A command line that cannot be obeyed.
const WRONG_COMMAND_LINE: u8 = 2;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(KEEPER_COMMAND) => ipcmark_engine::keep(&registry::of(&Found::inherited())),
        Some(MODULE_COMMAND) => ipcmark_abi::serve(),
        _ => {}
    }
    obey(arguments::parse()).unwrap_or_else(|message| {
        output::complain(message);
        ExitCode::from(WRONG_COMMAND_LINE)
    })
}

fn obey(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Run(arguments) => run(&arguments),
        Command::Leader(arguments) => by_hand::lead(&arguments.place, &arguments.run),
        Command::Follower(arguments) => by_hand::follow(&arguments),
        Command::List(arguments) => list::list(&arguments, &registry::look(&arguments.module)?),
        Command::Report(arguments) => report::report(&arguments),
        Command::IpcBench(style) => translated(style.translated()),
        Command::LatencyTest(style) => latency_test(&style),
        Command::IceperfLeader(style) => {
            by_hand::lead(&style.place, &noted(style.translated()).arguments())
        }
        Command::IceperfFollower(arguments) => by_hand::follow(&arguments),
        Command::Schema => {
            let schema = serde_json::to_string_pretty(&ipcmark_results::schema());
            Ok(printed(&format!("{}\n", schema.map_err(|e| e.to_string())?)))
        }
        Command::Completions(arguments) => Ok(papers::complete(&arguments, arguments::command())),
        Command::Man(arguments) => Ok(papers::man(&arguments, arguments::command())),
        Command::Clean => clean(&registry::look(&[])?),
    }
}

fn run(arguments: &RunArguments) -> Result<ExitCode, String> {
    run::run(arguments, None, &registry::look(&arguments.module)?)
}

/// Runs what another benchmark's command line means.
fn translated(translation: Translation) -> Result<ExitCode, String> {
    run(&noted(translation).arguments())
}

/// Tells the user what there is to tell beforehand.
fn noted(translation: Translation) -> Translation {
    if let Some(note) = &translation.note {
        output::complain(note);
    }
    translation
}

fn latency_test(style: &LatencyTest) -> Result<ExitCode, String> {
    match style.part()? {
        Part::Both(translation) => translated(translation),
        Part::Publisher(translation) => {
            by_hand::lead(&style.place, &noted(translation).arguments())
        }
        Part::Subscriber => by_hand::follow(&style.follower()),
    }
}

fn clean(registry: &ipcmark_engine::Registry) -> Result<ExitCode, String> {
    match ipcmark_engine::clean(registry) {
        Ok(removed) if removed.is_empty() => Ok(printed("nothing to remove\n")),
        Ok(removed) => {
            let lines: Vec<String> =
                removed.iter().map(|name| format!("removed {name}\n")).collect();
            Ok(printed(&lines.concat()))
        }
        Err(error) => {
            output::complain(error);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Prints; the exit status says whether that went well.
fn printed(text: &str) -> ExitCode {
    if output::print(text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
