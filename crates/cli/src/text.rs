//! Lines for a terminal: broken at its width, and painted where it shows colours.

use ipcmark_report::Terminal;
use textwrap::{Options, wrap};

/// A text behind a start, its further lines below its first word.
pub(crate) fn hanging(start: &str, text: &str, terminal: Terminal) -> Vec<String> {
    let below = " ".repeat(textwrap::core::display_width(start));
    let options = Options::new(terminal.width.max(below.len() + 20))
        .initial_indent(start)
        .subsequent_indent(&below);
    wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// What stands out.
pub(crate) const BOLD: &str = "\x1b[1m";
/// What is well.
pub(crate) const GREEN: &str = "\x1b[32m";
/// What is not.
pub(crate) const RED: &str = "\x1b[31m";

/// A text in a colour, or in bold, where the terminal shows it.
pub(crate) fn paint(text: &str, color: &str, terminal: Terminal) -> String {
    if terminal.color { format!("{color}{text}\x1b[0m") } else { text.to_owned() }
}
