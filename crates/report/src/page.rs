//! Text for a terminal: lines that fit its width.

use std::borrow::Cow;

use textwrap::core::display_width;

use crate::{format::Terminal, plain::ascii, words::unbroken};

/// The limits of the terminal width that is used.
const LEAST_WIDTH: usize = 40;
const GREATEST_WIDTH: usize = 1_000;

/// Escape codes for the look of a line.
pub const BOLD: &str = "1";
/// For less important text.
pub const DIM: &str = "2";
/// For errors.
pub const RED: &str = "31";

/// A page of lines that fit the width.
pub struct Page {
    /// Columns of the terminal.
    pub width: usize,
    color: bool,
    /// True if it may only contain ASCII.
    pub ascii: bool,
    /// The lines.
    pub text: String,
}

impl Page {
    /// An empty page for this terminal.
    pub fn of(terminal: Terminal) -> Self {
        let width = terminal.width.clamp(LEAST_WIDTH, GREATEST_WIDTH);
        Self { width, color: terminal.color, ascii: terminal.ascii, text: String::new() }
    }

    /// A paragraph: the first line after `first`, the others indented by the same width.
    pub fn wrapped(&mut self, look: &str, first: &str, text: &str) {
        let (first, text) = (self.shown(first), self.shown(text));
        let indent = " ".repeat(display_width(&first));
        let options = unbroken(self.width).initial_indent(&first).subsequent_indent(&indent);
        for line in textwrap::wrap(&text, options) {
            self.line(look, line.trim_end());
        }
    }

    /// A line.
    pub fn line(&mut self, look: &str, line: &str) {
        // The mark of a name that was cut keeps its width of one.
        let line = if self.ascii {
            self.shown(&line.replace('…', "~")).into_owned()
        } else {
            line.into()
        };
        let painted = self.painted(look, &line);
        self.text += &painted;
        self.text.push('\n');
    }

    /// A text in characters that the terminal can show.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.ascii { ascii(text).into() } else { text.into() }
    }

    fn painted(&self, look: &str, text: &str) -> String {
        if self.color && !look.is_empty() && !text.is_empty() {
            format!("\x1b[{look}m{text}\x1b[0m")
        } else {
            text.into()
        }
    }

    /// The title of a group with the kind of its times beside it, or below it if there is no room.
    pub fn title(&mut self, title: &str, caption: &str) {
        let (title, caption) = (self.shown(title), self.shown(caption));
        if display_width(&title) + display_width(&caption) + 3 <= self.width {
            let (title, caption) = (self.painted(BOLD, &title), self.painted(DIM, &caption));
            self.line("", &format!("{title}   {caption}"));
        } else {
            self.wrapped(BOLD, "", &title);
            self.wrapped(DIM, "  ", &caption);
        }
    }
}
