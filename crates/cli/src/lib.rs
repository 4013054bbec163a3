//! `ipcmark`: the time of a hop between two processes on this machine, through every mechanism
//! worth choosing, and its cost.

mod arguments;
mod by_hand;
mod command_line;
mod commands;
mod completion;
mod definition;
mod distances;
#[doc(hidden)]
pub mod fuzzing;
mod guide;
mod history;
mod interrupts;
mod live;
mod measurement;
mod output;
mod picture;
mod progress;
mod registry;
mod saved;
mod selection;
mod text;
mod translation;
mod transport_options;

use std::{ffi::OsString, process::ExitCode};

use ipcmark_abi::{ExaminedModules, MODULE_COMMAND};
use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_machine::inherited;

/// Runs the whole process.
pub fn main() -> ExitCode {
    inherited::with_known_state(part)
}

/// Runs the command itself, or the part of it for which it was started as a child process.
fn part() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match words.get(1).and_then(|word| word.to_str()) {
        Some(KEEPER_COMMAND) => {
            ipcmark_engine::keep(&ipcmark_registry::of(&ExaminedModules::inherited()))
        }
        Some(MODULE_COMMAND) => ipcmark_abi::serve(),
        _ => command_line::execute(&words),
    }
}
