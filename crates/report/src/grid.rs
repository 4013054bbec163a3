//! The groups laid out for a terminal: the columns that fit, and their widths. The widths are the
//! same in every group, so that columns line up.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width, presets::NOTHING};
use ipcmark_results::Group;
use textwrap::core::display_width;

use crate::{
    columns::{COLUMNS, Column, Scale},
    names,
    page::Page,
};

/// The label over the names.
pub const NAMES: &str = "transport";

/// All groups of a result, laid out.
pub struct Grid<'a> {
    /// The groups, in their order.
    pub sheets: Vec<Sheet<'a>>,
    columns: Vec<&'static Column>,
    labels: Vec<String>,
    /// The width of the names and of each column.
    widths: Vec<usize>,
    /// Blanks before the names and before each column.
    gap: usize,
}

/// The cells of a group.
pub struct Sheet<'a> {
    /// The group.
    pub group: &'a Group<'a>,
    names: Vec<String>,
    /// The cells of each column, one a row.
    columns: Vec<Vec<String>>,
}

impl<'a> Grid<'a> {
    /// The groups in the columns of a page. If it is too narrow, the gaps shrink first, then
    /// columns are left out, and last the names are cut.
    pub fn of(groups: &'a [Group<'a>], page: &Page) -> Self {
        let columns: Vec<_> =
            COLUMNS.iter().filter(|column| column.is_informative(groups)).collect();
        let sheets: Vec<_> = groups.iter().map(|group| Sheet::of(group, &columns, page)).collect();
        let labels: Vec<_> =
            columns.iter().map(|column| page.shown(column.label).into_owned()).collect();
        let widths = widths(&labels, &sheets);
        let mut grid = Self { sheets, columns, labels, widths, gap: 2 };
        grid.fit(page.width);
        grid
    }

    /// The lines of a group: the labels, then a line a row.
    pub fn lines(&self, sheet: &Sheet) -> Vec<String> {
        let labels: Vec<&str> =
            std::iter::once(NAMES).chain(self.labels.iter().map(String::as_str)).collect();
        let rows = sheet.names.iter().enumerate().map(|(at, name)| {
            let cells = sheet.columns.iter().map(|column| column[at].clone());
            std::iter::once(cut(name, self.widths[0])).chain(cells).collect()
        });
        drawn(&labels, rows, &self.widths, self.gap)
    }

    fn fit(&mut self, width: usize) {
        while self.total() > width && self.columns.len() > 1 {
            let last = self.last_in_rank();
            if self.gap > 1 && self.columns[last].is_for_every_width() {
                self.gap = 1;
            } else {
                self.gap = 2;
                self.remove(last);
            }
        }
        self.widths[0] -= self.total().saturating_sub(width).min(self.widths[0]);
    }

    fn total(&self) -> usize {
        self.widths.iter().map(|width| width + self.gap).sum()
    }

    fn last_in_rank(&self) -> usize {
        (0..self.columns.len()).max_by_key(|at| self.columns[*at].rank).unwrap_or(0)
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        self.labels.remove(at);
        self.widths.remove(at + 1);
        for sheet in &mut self.sheets {
            sheet.columns.remove(at);
        }
    }
}

impl<'a> Sheet<'a> {
    fn of(group: &'a Group<'a>, columns: &[&Column], page: &Page) -> Self {
        let scale = Scale::of(group);
        let shown = |cell: String| page.shown(&cell).into_owned();
        let cells = |column: &&Column| column.cells(group, scale).into_iter().map(shown).collect();
        Self {
            group,
            names: group.rows.iter().map(names::marked).map(shown).collect(),
            columns: columns.iter().map(cells).collect(),
        }
    }
}

/// A table without lines: the labels, then a line a row; all columns but the first are
/// right-aligned.
pub fn drawn(
    labels: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    widths: &[usize],
    gap: usize,
) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(labels.iter().map(Cell::new));
    rows.for_each(|row| {
        table.add_row(row);
    });
    for (at, width) in widths.iter().enumerate() {
        let Some(column) = table.column_mut(at) else { continue };
        column.set_padding((gap as u16, 0));
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed((width + gap) as u16)));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_string()).collect()
}

fn widths(labels: &[String], sheets: &[Sheet]) -> Vec<usize> {
    let names = widest(NAMES, sheets.iter().flat_map(|sheet| &sheet.names));
    let column = |(at, label): (usize, &String)| {
        widest(label, sheets.iter().flat_map(move |sheet| &sheet.columns[at]))
    };
    std::iter::once(names).chain(labels.iter().enumerate().map(column)).collect()
}

/// The width of a column.
pub fn widest<'a>(label: &str, cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|cell| display_width(cell)).max().unwrap_or(0).max(display_width(label))
}

/// A name cut to a width; this happens if the name alone is nearly as wide as the terminal.
pub fn cut(name: &str, width: usize) -> String {
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
