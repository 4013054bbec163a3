//! A table for a terminal: a head, the groups, what was not measured, notes.

use ipcmark_results::RunResult;
use textwrap::core::display_width;

use crate::{
    Style,
    columns::Scale,
    grid::Grid,
    plain::plain,
    remarks::{self, LEGEND},
    rows::{self, Group, Row},
};

/// The narrowest and the widest terminal that are taken into account.
const LEAST_WIDTH: usize = 40;
const GREATEST_WIDTH: usize = 1_000;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";

/// A page of lines that keep to the width.
struct Page {
    width: usize,
    color: bool,
    text: String,
}

/// The whole result.
pub fn render(result: &RunResult, style: Style) -> String {
    let width = style.width.clamp(LEAST_WIDTH, GREATEST_WIDTH);
    let mut page = Page { width, color: style.color, text: String::new() };
    head(&mut page, result);
    groups(&mut page, &rows::groups(result));
    unmeasured(&mut page, result);
    notes(&mut page, result);
    page.text
}

impl Page {
    /// A paragraph: the first line after `first`, the others after as many blanks.
    fn wrapped(&mut self, look: &str, first: &str, text: &str) {
        let indent = " ".repeat(display_width(first));
        let options =
            textwrap::Options::new(self.width).initial_indent(first).subsequent_indent(&indent);
        for line in textwrap::wrap(text, options) {
            self.line(look, line.trim_end());
        }
    }

    fn line(&mut self, look: &str, line: &str) {
        let painted = self.painted(look, line);
        self.text += &painted;
        self.text.push('\n');
    }

    fn painted(&self, look: &str, text: &str) -> String {
        if self.color && !look.is_empty() && !text.is_empty() {
            format!("\x1b[{look}m{text}\x1b[0m")
        } else {
            text.into()
        }
    }
}

fn head(page: &mut Page, result: &RunResult) {
    page.wrapped(BOLD, "", &remarks::heading(result));
    if let Some(sentence) = remarks::incomplete(result) {
        page.wrapped(RED, "", &sentence);
    }
    for (name, fact) in remarks::facts(result) {
        page.wrapped("", &format!("  {name:<10}  "), &fact);
    }
}

fn groups(page: &mut Page, groups: &[Group]) {
    let grid = Grid::of(groups, page.width);
    for sheet in &grid.sheets {
        page.line("", "");
        title(page, sheet.group);
        for (at, line) in grid.lines(sheet).iter().enumerate() {
            page.line(if at == 0 { DIM } else { "" }, line);
        }
        for loss in sheet.group.rows.iter().flat_map(Row::footnotes) {
            page.wrapped("", "  ! ", &loss);
        }
    }
    if !groups.is_empty() {
        page.line("", "");
        page.wrapped(DIM, "", LEGEND);
    }
}

/// The title and, beside it or, where there is no room, below it, what its times are.
fn title(page: &mut Page, group: &Group) {
    let caption = Scale::of(group).caption();
    if display_width(&group.title) + display_width(&caption) + 3 <= page.width {
        let (title, caption) = (page.painted(BOLD, &group.title), page.painted(DIM, &caption));
        page.line("", &format!("{title}   {caption}"));
    } else {
        page.wrapped(BOLD, "", &group.title);
        page.wrapped(DIM, "  ", &caption);
    }
}

fn unmeasured(page: &mut Page, result: &RunResult) {
    for unmeasured in remarks::unmeasured(&result.cases) {
        page.line("", "");
        page.line(if unmeasured.status == "failed" { RED } else { BOLD }, unmeasured.status);
        for line in &unmeasured.lines {
            page.wrapped("", "  - ", line);
        }
    }
}

fn notes(page: &mut Page, result: &RunResult) {
    if !result.notes.is_empty() {
        page.line("", "");
        page.line(BOLD, "notes");
    }
    for note in &result.notes {
        page.wrapped("", "  - ", &plain(note));
    }
}
