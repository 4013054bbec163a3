//! The standard streams: a reader who closes its end early is not an error.

use std::{
    fmt::Display,
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
};

use ipcmark_report::Terminal;

/// Columns where neither the terminal nor `COLUMNS` tells.
pub(crate) const DEFAULT_COLUMNS: usize = 100;

/// Prints to standard output; false where that failed.
#[must_use]
pub(crate) fn print(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say(format_args!("cannot write to standard output: {error}"));
            false
        }
        _ => true,
    }
}

/// Prints to standard output; the exit status says whether that worked.
pub(crate) fn printed(text: &str) -> ExitCode {
    if print(text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes an error or a note to standard error. Where that fails, the exit status still tells.
pub(crate) fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "ipcmark: {what}");
}

/// Writes the help to standard error, where it was not asked for.
pub(crate) fn show_help(text: &str) {
    let _ = write!(io::stderr(), "{text}");
}

/// Writes an error to standard error; the exit status of a command that failed.
pub(crate) fn failed(what: impl Display) -> ExitCode {
    say(what);
    ExitCode::FAILURE
}

/// How tables look where standard output goes.
pub(crate) fn terminal() -> Terminal {
    let is_terminal = io::stdout().is_terminal();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Terminal { width: columns(), color: is_terminal && !plain }
}

fn columns() -> usize {
    if let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size_of(io::stdout())
    {
        return usize::from(columns);
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|columns| *columns >= 40).unwrap_or(DEFAULT_COLUMNS)
}
