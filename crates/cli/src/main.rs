//! `ipcmark`: how long a hop between two processes takes on this machine, through every mechanism
//! worth choosing, and what it costs.

mod arguments;
mod interrupts;
mod list;
mod output;
mod plan_file;
mod progress;
mod run;
mod selection;
mod sizes;

use std::process::ExitCode;

use arguments::Command;
use ipcmark_engine::{KEEPER_COMMAND, Register, Registry};

/// A command line that cannot be obeyed.
const WRONG_COMMAND_LINE: u8 = 2;

fn main() -> ExitCode {
    let registry = ipcmark_native::transports(&mut Register);
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&registry);
    }
    obey(arguments::parse(), &registry).unwrap_or_else(|message| {
        eprintln!("ipcmark: {message}");
        ExitCode::from(WRONG_COMMAND_LINE)
    })
}

fn obey(command: Command, registry: &Registry) -> Result<ExitCode, String> {
    match command {
        Command::Run(arguments) => run::run(&arguments, registry),
        Command::List(arguments) => list::list(&arguments, registry),
        Command::Schema => {
            let schema = serde_json::to_string_pretty(&ipcmark_results::schema());
            output::print(&format!("{}\n", schema.map_err(|e| e.to_string())?));
            Ok(ExitCode::SUCCESS)
        }
        Command::Clean => clean(registry),
    }
}

fn clean(registry: &Registry) -> Result<ExitCode, String> {
    match ipcmark_engine::clean(registry) {
        Ok(removed) if removed.is_empty() => output::print("nothing to remove\n"),
        Ok(removed) => removed.iter().for_each(|name| output::print(&format!("removed {name}\n"))),
        Err(error) => {
            eprintln!("ipcmark: {error}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
