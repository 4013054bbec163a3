//! Maps the words of the command line to the command that they name.

use std::{ffi::OsString, process::ExitCode};

use clap::error::ErrorKind;

use crate::{
    commands::COMMANDS,
    completion,
    definition::{CommandOutcome, Invocation, Rejection},
    guide::MAIN,
    output,
};

/// The exit status for an invalid command line.
const WRONG_COMMAND_LINE: u8 = 2;

const ABOUT: &str = "How long a hop between two processes takes on this machine, through every \
    mechanism worth choosing, and what it costs in CPU";

/// Executes the command in `words`, which start with the program's name, and returns the exit
/// status.
pub(crate) fn execute(words: &[OsString]) -> ExitCode {
    if let Some(status) = completion::answered(words, all) {
        return status;
    }
    run(words).unwrap_or_else(|failure| match failure {
        Rejection::Refused(sentence) => {
            output::say(sentence);
            ExitCode::from(WRONG_COMMAND_LINE)
        }
        Rejection::Flags(error) => refuse(&error),
    })
}

fn run(words: &[OsString]) -> CommandOutcome {
    let all = all();
    let matches = all.clone().try_get_matches_from(words)?;
    let found = matches.subcommand().and_then(|(name, flags)| {
        Some((COMMANDS.iter().find(|command| command.name == name)?, flags))
    });
    match found {
        Some((command, flags)) => {
            let words = &words[1..];
            (command.run)(&Invocation { all: &all, definitions: COMMANDS, words, flags })
        }
        None => Err(Rejection::Refused("no command was named; see ipcmark --help".into())),
    }
}

/// Every command with its flags.
fn all() -> clap::Command {
    let commands = COMMANDS.iter().map(|command| {
        let flags = (command.flags)(clap::Command::new(command.name));
        flags.about(command.summary).after_help(command.guide.text())
    });
    clap::Command::new("ipcmark")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(MAIN.text())
        .max_term_width(100)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands)
}

/// Shows help or version if the user asked for it; otherwise says what is wrong with the flags.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return output::shown_all(&text),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => output::show_help(&text),
        _ => output::say(text.trim_start_matches("error: ").trim_end()),
    }
    ExitCode::from(WRONG_COMMAND_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_hold() {
        all().debug_assert();
    }

    #[test]
    fn every_command_has_a_name_of_its_own() {
        let mut names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn words_that_are_not_known_are_refused_with_those_that_are() {
        for (flag, word, known) in [
            ("--waits", "sleep", "spin, block, hybrid"),
            ("--patterns", "ping", "latency"),
            ("--format", "xml", "table, markdown, csv, json"),
            ("--duration", "200", "200ms"),
            ("--duration", "0s", "between"),
        ] {
            let error = all().try_get_matches_from(["ipcmark", "run", flag, word]).unwrap_err();
            assert!(error.to_string().contains(known), "{flag} {word}: {error}");
        }
    }
}
