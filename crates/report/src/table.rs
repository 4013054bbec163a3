//! A table for a terminal: a head, the groups, what was not measured, notes.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width, presets::NOTHING};
use ipcmark_results::RunResult;
use textwrap::core::display_width;

use crate::{
    Style,
    columns::{COLUMNS, Column, Scale},
    plain::plain,
    remarks::{self, LEGEND},
    rows::{self, Group},
};

/// The narrowest terminal that is taken into account.
const LEAST_WIDTH: usize = 40;

/// Blanks between two columns.
const GAP: usize = 2;

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
    let width = style.width.max(LEAST_WIDTH);
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

/// The cells of a group: of each column that is shown, one a row.
struct Sheet<'a> {
    group: &'a Group,
    names: Vec<String>,
    columns: Vec<Vec<String>>,
}

fn groups(page: &mut Page, groups: &[Group]) {
    let mut columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| column.is_of_use(groups)).collect();
    let mut sheets: Vec<Sheet> = groups.iter().map(|group| sheet(group, &columns)).collect();
    let mut widths = widths(&columns, &sheets);
    while columns.len() > 1 && total(&widths) > page.width {
        let at = last_in_rank(&columns);
        columns.remove(at);
        widths.remove(at + 1);
        sheets.iter_mut().for_each(|sheet| _ = sheet.columns.remove(at));
    }
    widths[0] -= total(&widths).saturating_sub(page.width).min(widths[0]);
    for sheet in &sheets {
        print(page, &columns, sheet, &widths);
    }
    if !groups.is_empty() {
        page.line("", "");
        page.wrapped(DIM, "", LEGEND);
    }
}

fn sheet<'a>(group: &'a Group, columns: &[&Column]) -> Sheet<'a> {
    let scale = Scale::of(group);
    let names = group.rows.iter().map(|row| {
        let mark = if row.lost > 0 { " !" } else { "" };
        format!("{}{mark}", row.name)
    });
    Sheet {
        group,
        names: names.collect(),
        columns: columns.iter().map(|column| column.cells(group, scale)).collect(),
    }
}

/// The width of the names and of each column over all groups, so that they stand below one another
/// from group to group.
fn widths(columns: &[&Column], sheets: &[Sheet]) -> Vec<usize> {
    let widest = |cells: &mut dyn Iterator<Item = &String>| {
        cells.map(|cell| display_width(cell)).max().unwrap_or(0)
    };
    let names = widest(&mut sheets.iter().flat_map(|sheet| &sheet.names));
    let column = |(at, column): (usize, &&Column)| {
        let cells = widest(&mut sheets.iter().flat_map(|sheet| &sheet.columns[at]));
        cells.max(display_width(column.label))
    };
    let columns = columns.iter().enumerate().map(column);
    std::iter::once(names.max(display_width("transport"))).chain(columns).collect()
}

/// The columns a table of these widths takes: two blanks stand before each.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + GAP).sum()
}

fn last_in_rank(columns: &[&Column]) -> usize {
    (0..columns.len()).max_by_key(|at| columns[*at].rank).unwrap_or(0)
}

fn print(page: &mut Page, columns: &[&Column], sheet: &Sheet, widths: &[usize]) {
    page.line("", "");
    title(page, sheet.group);
    let lines = table(columns, sheet, widths);
    for (at, line) in lines.iter().enumerate() {
        page.line(if at == 0 { DIM } else { "" }, line.trim_end());
    }
    for loss in sheet.group.rows.iter().filter_map(remarks::loss) {
        page.wrapped("", "  ! ", &loss);
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

fn table(columns: &[&Column], sheet: &Sheet, widths: &[usize]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(std::iter::once("transport").chain(columns.iter().map(|column| column.label)));
    for (at, name) in sheet.names.iter().enumerate() {
        let cells = sheet.columns.iter().map(|column| number(&column[at]));
        table.add_row(std::iter::once(Cell::new(fitted(name, widths[0]))).chain(cells));
    }
    for (at, width) in widths.iter().enumerate() {
        let Some(column) = table.column_mut(at) else { continue };
        let width = Width::Fixed((width + GAP) as u16);
        column.set_padding((GAP as u16, 0)).set_constraint(ColumnConstraint::Absolute(width));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().collect()
}

fn number(text: &str) -> Cell {
    Cell::new(text)
}

/// A name cut to a width, which happens where a name alone is nearly as wide as the terminal.
fn fitted(name: &str, width: usize) -> String {
    if display_width(name) <= width {
        return name.into();
    }
    let mut cut = String::new();
    for char in name.chars() {
        if display_width(&cut) + display_width(char.encode_utf8(&mut [0; 4])) >= width {
            break;
        }
        cut.push(char);
    }
    cut + "…"
}

fn unmeasured(page: &mut Page, result: &RunResult) {
    for unmeasured in remarks::unmeasured(&result.cases) {
        page.line("", "");
        page.line(if unmeasured.status == "failed" { RED } else { BOLD }, unmeasured.status);
        for line in &unmeasured.lines {
            let options =
                textwrap::Options::new(page.width).initial_indent("  ").subsequent_indent("      ");
            for line in textwrap::wrap(line, options) {
                page.line("", line.trim_end());
            }
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
