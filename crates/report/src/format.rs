//! The definition of a format.

use std::fmt;

use ipcmark_results::RunResult;

use crate::plain::ascii;

/// A form in which a result is shown or written.
pub struct Format {
    /// The word for it on the command line.
    pub name: &'static str,
    /// A description in a few words.
    pub summary: &'static str,
    /// True if a terminal can show it.
    pub for_terminals: bool,
    /// True if programs read it: they get UTF-8 in every locale.
    pub for_programs: bool,
    /// True if it holds one row only: a result with several rows is refused.
    pub one_row: bool,
    /// Makes its text, which ends in a line feed. The error states what cannot be shown, and why.
    pub(crate) text: fn(&RunResult, Terminal) -> Result<String, String>,
}

/// The properties of a terminal to which the table fits itself; other formats ignore them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns of the terminal. No line is longer, unless the terminal has fewer than 40.
    pub width: usize,
    /// True if escape sequences may be written: bold, dim, red.
    pub color: bool,
    /// True if the locale is not UTF-8: the terminal may only support ASCII.
    pub ascii: bool,
}

impl Format {
    /// The result in this format.
    pub fn render(&self, result: &RunResult, terminal: Terminal) -> Result<String, String> {
        let text = (self.text)(&result.settled(), terminal)?;
        Ok(if terminal.ascii && !self.for_programs { ascii(&text) } else { text })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
