//! `ipcmark man`: pages for `man`, from the same definitions as the flags.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::{
    definition::{Definition, Invocation, Outcome},
    output,
};

/// The place of the pages.
#[derive(Args)]
struct ManArguments {
    /// Directory for a page each of the command and its subcommands; without it the command's own
    /// page goes to standard output
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

fn run(invocation: &Invocation<'_>) -> Outcome {
    let arguments: ManArguments = invocation.arguments()?;
    let written = match &arguments.directory {
        None => return Ok(print(invocation.all)),
        Some(directory) => write_all(invocation.all, directory),
    };
    Ok(written.map_or_else(output::failed, |()| ExitCode::SUCCESS))
}

fn print(command: &Command) -> ExitCode {
    match page(command) {
        Ok(page) => output::printed(&page),
        Err(error) => output::failed(format_args!("cannot make the page: {error}")),
    }
}

fn write_all(command: &Command, directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory)
        .map_err(|e| format!("cannot create {}: {e}", directory.display()))?;
    write(command, &directory.join("ipcmark.1"))?;
    write_below(command, "ipcmark", "ipcmark", directory)
}

/// The pages of what stands below a command, under the name of its page and the words that call it.
fn write_below(command: &Command, page: &str, call: &str, directory: &Path) -> Result<(), String> {
    for subcommand in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let [page, call] =
            [(page, '-'), (call, ' ')].map(|(of, by)| format!("{of}{by}{}", subcommand.get_name()));
        let named = subcommand.clone().name(page.clone()).bin_name(call.clone());
        write(&named, &directory.join(format!("{page}.1")))?;
        write_below(subcommand, &page, &call, directory)?;
    }
    Ok(())
}

fn write(command: &Command, path: &Path) -> Result<(), String> {
    let page = page(command).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
    ipcmark_results::write_text(path, &page).map_err(|e| e.to_string())
}

fn page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    // No date of the day: the same definitions make the same pages.
    Man::new(command.clone()).date("").manual("ipcmark").render(&mut page)?;
    Ok(in_ascii(&String::from_utf8_lossy(&page)))
}

/// Every character that groff reads as it is; the others by their number.
fn in_ascii(page: &str) -> String {
    let escape = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => format!("\\[u{:04X}]", u32::from(letter)),
    };
    page.chars().map(escape).collect()
}

pub(super) const DEFINITION: Definition = Definition {
    name: "man",
    summary: "Print this command's page for man, or write those of all its commands to a directory",
    flags: ManArguments::augment_args,
    run,
};
