//! Lines for a terminal: broken at its width, and painted where it shows colours.

use std::borrow::Cow;

use ipcmark_report::{Terminal, ascii};
use textwrap::{Options, WordSplitter, core::display_width, wrap};

use crate::output;

/// The fewest columns for a text behind its start; where there are fewer it stands below.
const LEAST_ROOM: usize = 16;

/// A text behind a start, its further lines below its first word; below the start where there is no room.
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
    // A name or a command that broke at a hyphen could not be copied.
    let options = Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    let options = options.initial_indent(first).subsequent_indent(below);
    wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()).collect()
}

fn shown(text: &str, terminal: Terminal) -> Cow<'_, str> {
    if terminal.ascii { ascii(text).into() } else { text.into() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_room_stands_below_its_start() {
        let lines = |width| {
            let terminal = Terminal { width, color: false, ascii: true };
            hanging("  ? a-long-name  spin block  ", "½ of the way in a µs", terminal)
        };
        assert_eq!(lines(60), ["  ? a-long-name  spin block  1/2 of the way in a us"]);
        let narrow = ["  ? a-long-name  spin block", "      1/2 of the way in a us"];
        assert_eq!(lines(20), narrow);
    }
}
