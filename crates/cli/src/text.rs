//! Lines for a terminal: wrapped to its width, and coloured if it shows colours.

use std::borrow::Cow;

use ipcmark_report::{Terminal, ascii, unbroken};
use textwrap::{core::display_width, wrap};

use crate::output;

/// The fewest columns for a text after its start; with fewer, the text begins on the next line.
const LEAST_ROOM: usize = 16;

/// A text after a start, with its further lines aligned to its first word; on the lines below the start
/// if there is no room.
pub(crate) fn hanging(start: &str, text: &str, terminal: Terminal) -> Vec<String> {
    let width = terminal.width.max(output::LEAST_COLUMNS);
    let (start, text) = (shown(start, terminal), shown(text, terminal));
    let blanks = display_width(&start);
    if blanks + LEAST_ROOM <= width {
        return broken(&start, &" ".repeat(blanks), &text, width);
    }
    let indent = start.len() - start.trim_start().len();
    let (first, below) = (&start[..indent], " ".repeat(indent + 4));
    let mut lines = broken(first, &below, start.trim(), width);
    lines.extend(broken(&below, &below, &text, width));
    lines
}

fn broken(first: &str, below: &str, text: &str, width: usize) -> Vec<String> {
    let options = unbroken(width).initial_indent(first).subsequent_indent(below);
    wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()).collect()
}

fn shown(text: &str, terminal: Terminal) -> Cow<'_, str> {
    if terminal.ascii { ascii(text).into() } else { text.into() }
}

/// For emphasis.
pub(crate) const BOLD: &str = "\x1b[1m";
/// For a good state.
pub(crate) const GREEN: &str = "\x1b[32m";
/// For a bad state.
pub(crate) const RED: &str = "\x1b[31m";

/// A text in a colour or in bold, if the terminal shows it.
pub(crate) fn paint(text: &str, color: &str, terminal: Terminal) -> String {
    if terminal.color { format!("{color}{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_room_continues_below_its_start() {
        let lines = |width| {
            let terminal = Terminal { width, color: false, ascii: true };
            hanging("  ? a-long-name  spin block  ", "½ of the way in a µs", terminal)
        };
        assert_eq!(lines(60), ["  ? a-long-name  spin block  1/2 of the way in a us"]);
        let narrow = ["  ? a-long-name  spin block", "      1/2 of the way in a us"];
        assert_eq!(lines(20), narrow);
    }
}
