//! `ipcmark man`: pages for `man`, generated from the same definitions as the flags.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::{
    definition::{CommandDefinition, CommandOutcome, Invocation},
    guide::{self, Guide, MAIN},
    output,
};

/// The directory for the pages.
#[derive(Args)]
struct ManArguments {
    /// Directory for a page each of the command and its subcommands; without it the command's own
    /// page goes to standard output
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

fn run(invocation: &Invocation<'_>) -> CommandOutcome {
    let arguments: ManArguments = invocation.arguments()?;
    let written = match &arguments.directory {
        None => return Ok(print(invocation.all)),
        Some(directory) => write_all(invocation, directory),
    };
    Ok(written.map_or_else(output::failed, |()| ExitCode::SUCCESS))
}

fn print(command: &Command) -> ExitCode {
    match page(command, &MAIN.sections()) {
        Ok(page) => output::printed(&page),
        Err(error) => output::failed(format_args!("cannot make the page: {error}")),
    }
}

fn write_all(invocation: &Invocation<'_>, directory: &Path) -> Result<(), String> {
    let command = invocation.all;
    fs::create_dir_all(directory)
        .map_err(|e| format!("cannot create {}: {e}", directory.display()))?;
    write(command, &MAIN.sections(), &directory.join("ipcmark.1"))?;
    for CommandDefinition { name, guide, .. } in invocation.definitions {
        let Some(subcommand) = command.find_subcommand(name) else { continue };
        let (page, call) = (format!("ipcmark-{name}"), format!("ipcmark {name}"));
        write_below(subcommand, &guide.sections(), &page, &call, directory)?;
    }
    Ok(())
}

/// Writes the page of a command, under its name and the words that call it, and the pages of its
/// subcommands.
fn write_below(
    command: &Command,
    sections: &str,
    page: &str,
    call: &str,
    directory: &Path,
) -> Result<(), String> {
    let named = command.clone().name(page.to_owned()).bin_name(call.to_owned());
    write(&named, sections, &directory.join(format!("{page}.1")))?;
    for within in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let [page, call] =
            [(page, '-'), (call, ' ')].map(|(of, by)| format!("{of}{by}{}", within.get_name()));
        let help = within.get_after_help().map(|help| help.to_string()).unwrap_or_default();
        write_below(within, &guide::notes(&help), &page, &call, directory)?;
    }
    Ok(())
}

fn write(command: &Command, sections: &str, path: &Path) -> Result<(), String> {
    let page =
        page(command, sections).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    ipcmark_results::write_text(path, &page).map_err(|e| e.to_string())
}

fn page(command: &Command, sections: &str) -> io::Result<String> {
    let mut page = Vec::new();
    // The text after the flags in the help has sections of its own.
    let command = command.clone().after_help(None::<&str>);
    // No current date: the same definitions make the same pages.
    Man::new(command).date("").manual("ipcmark").render(&mut page)?;
    Ok(in_ascii(&format!("{}{}", String::from_utf8_lossy(&page), sections)))
}

/// The page in ASCII; groff reads other characters by their code point.
fn in_ascii(page: &str) -> String {
    let escape = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => format!("\\[u{:04X}]", u32::from(letter)),
    };
    page.chars().map(escape).collect()
}

pub(super) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "man",
    summary: "Print this command's page for man, or write those of all its commands to a directory",
    guide: Guide {
        about: "",
        examples: &[
            ("ipcmark man | man -l -", "this command's page"),
            ("ipcmark man /usr/local/share/man/man1", "a page of every command"),
        ],
        exit: "0 written; 1 they could not be written; 2 the command line is wrong",
        see_also: &["completions"],
    },
    flags: ManArguments::augment_args,
    run,
};
