//! Text for a terminal: lines that keep to its width.

use std::borrow::Cow;

use textwrap::{Options, WordSplitter, core::display_width};

use crate::{format::Terminal, plain::ascii};

/// The narrowest and the widest terminal that are taken into account.
const LEAST_WIDTH: usize = 40;
const GREATEST_WIDTH: usize = 1_000;

/// Looks of a line.
pub const BOLD: &str = "1";
/// For what is not read first.
pub const DIM: &str = "2";
/// For what is wrong.
pub const RED: &str = "31";

/// A page of lines that keep to the width.
pub struct Page {
    /// Columns of the terminal.
    pub width: usize,
    color: bool,
    /// True if it may have nothing but ASCII.
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

    /// A paragraph: the first line after `first`, the others after as many blanks.
    pub fn wrapped(&mut self, look: &str, first: &str, text: &str) {
        let (first, text) = (self.shown(first), self.shown(text));
        let indent = " ".repeat(display_width(&first));
        // A name or a command that broke at a hyphen could not be copied.
        let options = Options::new(self.width).word_splitter(WordSplitter::NoHyphenation);
        let options = options.initial_indent(&first).subsequent_indent(&indent);
        for line in textwrap::wrap(&text, options) {
            self.line(look, line.trim_end());
        }
    }

    /// A line.
    pub fn line(&mut self, look: &str, line: &str) {
        // The mark of a name that was cut has the room of one.
        let line = if self.ascii {
            self.shown(&line.replace('…', "~")).into_owned()
        } else {
            line.into()
        };
        let painted = self.painted(look, &line);
        self.text += &painted;
        self.text.push('\n');
    }

    /// A text as the terminal can show it.
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

    /// The title of a group and, beside it or, where there is no room, below it, what its times are.
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
