//! The standard streams: a reader that closes its end early is not an error.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
};

use ipcmark_report::{Terminal, ascii};

/// Narrower terminals are treated as this wide.
pub(crate) const LEAST_COLUMNS: usize = 40;

/// The columns if neither the terminal nor `COLUMNS` gives them.
pub(crate) const DEFAULT_COLUMNS: usize = 100;

/// Prints to standard output; false if that fails.
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

/// Prints text for people to standard output, as the locale allows; false if that fails.
#[must_use]
pub(crate) fn show(text: &str) -> bool {
    print(&shown(text))
}

/// The same; returns the exit status.
pub(crate) fn shown_all(text: &str) -> ExitCode {
    if show(text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A text as the locale allows it.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if is_ascii() { ascii(text).into() } else { text.into() }
}

/// True if the locale has no UTF-8. If the environment names no locale, as in many containers, the reader's terminal
/// usually supports UTF-8.
fn is_ascii() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    let locale = named.into_iter().find(|locale| !locale.is_empty());
    locale.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Prints to standard output and returns the exit status.
pub(crate) fn printed(text: &str) -> ExitCode {
    if print(text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes an error or a note to standard error. If that fails, the exit status still shows the
/// error.
pub(crate) fn say(what: impl Display) {
    let text = shown(&format!("ipcmark: {what}")).into_owned();
    let lines = match terminal_size::terminal_size_of(io::stderr()) {
        Some((terminal_size::Width(columns), _)) => wrapped(&text, usize::from(columns)),
        None => text,
    };
    let _ = writeln!(io::stderr(), "{lines}");
}

/// A text with its lines broken between words, because a terminal would break within words.
fn wrapped(text: &str, columns: usize) -> String {
    let options = ipcmark_report::unbroken(columns.max(LEAST_COLUMNS)).break_words(false);
    let lines = text.lines().flat_map(|line| textwrap::wrap(line, options.clone()));
    lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Writes the help to standard error, for a user who did not request it.
pub(crate) fn show_help(text: &str) {
    let _ = write!(io::stderr(), "{}", shown(text));
}

/// Writes a part of a line of progress to standard error.
pub(crate) fn announce(text: &str) {
    let _ = write!(io::stderr(), "{}", shown(text));
}

/// Writes an error to standard error and returns the exit status of a failed command.
pub(crate) fn failed(what: impl Display) -> ExitCode {
    say(what);
    ExitCode::FAILURE
}

/// The properties of standard output that tables depend on.
pub(crate) fn terminal() -> Terminal {
    let is_terminal = io::stdout().is_terminal();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    Terminal { width: columns(), color: is_terminal && !plain, ascii: is_ascii() }
}

fn columns() -> usize {
    if let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size_of(io::stdout())
    {
        return usize::from(columns);
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text =
            "ipcmark: there is no transport 'nothing'; 'ipcmark list' shows them all\nsecond";
        let broken = wrapped(text, 20);
        assert!(broken.lines().all(|line| line.len() <= LEAST_COLUMNS), "{broken}");
        assert_eq!(broken.replace('\n', " "), text.replace('\n', " "));
        let path = "/a".repeat(40);
        assert_eq!(wrapped(&path, 20), path, "no word is broken");
    }
}
