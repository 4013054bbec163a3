//! Completions for shells and pages for `man`, from the same definitions as the flags.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output;

/// For which shell.
#[derive(Args)]
pub(crate) struct CompletionArguments {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Where the pages go.
#[derive(Args)]
pub(crate) struct ManArguments {
    /// Directory for a page each of the command and its subcommands; without it the command's own
    /// page goes to standard output
    #[arg(value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
}

/// Prints the completions of a shell.
pub(crate) fn complete(arguments: &CompletionArguments, mut command: Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "ipcmark", &mut script);
    printed(&script)
}

/// Prints the page of the command, or writes those of all commands.
pub(crate) fn man(arguments: &ManArguments, command: Command) -> ExitCode {
    match &arguments.directory {
        None => match page(&command) {
            Ok(page) => printed(&page),
            Err(error) => failed("write", Path::new("standard output"), &error),
        },
        Some(directory) => match write_all(&command, directory) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed("write the pages to", directory, &error),
        },
    }
}

fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("ipcmark.1"), page(command)?)?;
    for subcommand in command.get_subcommands().filter(|one| one.get_name() != "help") {
        let name = format!("ipcmark-{}", subcommand.get_name());
        let subcommand = subcommand.clone().name(name.clone()).bin_name(name.replacen('-', " ", 1));
        fs::write(directory.join(format!("{name}.1")), page(&subcommand)?)?;
    }
    Ok(())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    // No date of the day: the same definitions make the same pages.
    Man::new(command.clone()).date("").manual("ipcmark").render(&mut page)?;
    Ok(in_ascii(&String::from_utf8_lossy(&page)).into_bytes())
}

/// Every character that groff reads as it is; the others by their number.
fn in_ascii(page: &str) -> String {
    let escape = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => format!("\\[u{:04X}]", u32::from(letter)),
    };
    page.chars().map(escape).collect()
}

fn printed(bytes: &[u8]) -> ExitCode {
    match output::print(&String::from_utf8_lossy(bytes)) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn failed(operation: &str, path: &Path, error: &io::Error) -> ExitCode {
    output::complain(format_args!("cannot {operation} {}: {error}", path.display()));
    ExitCode::FAILURE
}
