//! The map for a terminal: numbers if they fit, else shades.

use textwrap::core::display_width;

use super::{Matrix, MatrixEnd, shade};
use crate::{
    format::Terminal,
    page::{BOLD, DIM, Page},
    units::{Unit, count, duration},
};

/// Shades, from near to far.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

/// The largest number of pairs that are listed with all their distances.
const LISTED: usize = 40;

/// The map for a terminal.
pub fn matrix_table(matrix: &Matrix, terminal: Terminal) -> String {
    let mut page = Page::of(terminal);
    draw_matrix(&mut page, matrix);
    page.text
}

/// The same, on a page.
pub fn draw_matrix(page: &mut Page, matrix: &Matrix) {
    let unit = matrix.range().map(|(least, greatest)| Unit::of_range(least, greatest));
    let unit = unit.unwrap_or(Unit::of_range(1.0, 1.0));
    page.title(&matrix.title, &format!("in {}", unit.sign()));
    let rows: Vec<Vec<String>> = matrix.ends.iter().map(|end| cells(matrix, end, unit)).collect();
    let widest = rows.iter().flatten().map(|cell| cell.chars().count()).max().unwrap_or(1);
    let number = matrix.ends.iter().map(|end| end.id.to_string().len()).max().unwrap_or(1);
    let label = matrix.ends.iter().map(|end| display_width(&end.name)).max().unwrap_or(1);
    let cell = widest.max(number) + 1;
    if label + 2 + cell * rows.len() + rows.len() <= page.width {
        numbers(page, matrix, &rows, label, cell);
    } else if label + 2 + rows.len() <= page.width {
        shades(page, matrix, label);
    } else {
        let remedy = matrix.words.too_wide;
        page.wrapped("", "  ", &format!("the map is wider than the terminal: {remedy}"));
    }
    relations(page, matrix);
    moving(page, matrix);
    for note in &matrix.notes {
        page.wrapped("", "note: ", note);
    }
}

fn cells(matrix: &Matrix, row: &MatrixEnd, unit: Unit) -> Vec<String> {
    let cell = |column: &MatrixEnd| match matrix.cell(row, column) {
        _ if row.id == column.id => "·".into(),
        None => " ".into(),
        Some(cell) => cell.usual_ns().map_or("–".into(), |ns| unit.time(ns).trim().to_owned()),
    };
    matrix.ends.iter().map(cell).collect()
}

fn numbers(page: &mut Page, matrix: &Matrix, rows: &[Vec<String>], label: usize, cell: usize) {
    let rule = |at: usize| if matrix.parts_after(at) { "│" } else { "" };
    let line = |name: &str, cells: &[String]| {
        let cells = cells.iter().enumerate();
        let cells: String = cells.map(|(at, text)| format!("{text:>cell$}{}", rule(at))).collect();
        format!("{name:>label$} {cells}")
    };
    let ids: Vec<String> = matrix.ends.iter().map(|end| end.id.to_string()).collect();
    page.line(DIM, &line("", &ids));
    for (at, row) in rows.iter().enumerate() {
        page.line("", &line(&matrix.ends[at].name, row));
        if matrix.parts_after(at) {
            page.line(DIM, "");
        }
    }
}

fn shades(page: &mut Page, matrix: &Matrix, label: usize) {
    let range = matrix.range();
    let sign_of = |ns| SHADES[(shade(range, ns) * (SHADES.len() - 1) as f64).round() as usize];
    let sign = |row: &MatrixEnd, column: &MatrixEnd| {
        let ns = matrix.cell(row, column).and_then(|cell| cell.usual_ns())?;
        Some(sign_of(ns))
    };
    for row in &matrix.ends {
        let signs: String =
            matrix.ends.iter().map(|column| sign(row, column).unwrap_or(' ')).collect();
        page.line("", &format!("{:>label$} {signs}", row.name));
    }
    if let Some((least, greatest)) = range {
        let [least, greatest] =
            [least, greatest].map(|ns| format!("{} {}", sign_of(ns), duration(ns)));
        page.line(DIM, &format!("{least}   {greatest}"));
    }
}

/// The times of the processors of each relation.
fn relations(page: &mut Page, matrix: &Matrix) {
    page.line("", "");
    for (relation, pairs, [least, median, greatest]) in matrix.relations() {
        let [least, median, greatest] = [least, median, greatest].map(duration);
        let range = if pairs > 1 { format!(", {least} to {greatest}") } else { String::new() };
        let pairs =
            if pairs == 1 { "1 pair".into() } else { format!("{} pairs", count(pairs as u64)) };
        page.wrapped("", "  ", &format!("{relation}: {median} ({pairs}{range})"));
    }
    if matrix.missing > 0 {
        let missing = count(matrix.missing as u64);
        page.wrapped(
            "",
            "  ",
            &format!("{missing} pairs were not measured; {}", matrix.words.missing),
        );
    }
}

/// The pairs with a changing distance, each with its distances and their shares, and those that are unknown.
fn moving(page: &mut Page, matrix: &Matrix) {
    let several: Vec<_> = matrix.cells.values().filter(|cell| cell.parts.len() != 1).collect();
    if several.is_empty() {
        return;
    }
    page.line("", "");
    page.line(BOLD, matrix.words.listed);
    for cell in several.iter().take(LISTED) {
        let (a, b) = (matrix.name(cell.ends.0), matrix.name(cell.ends.1));
        page.wrapped("", &format!("  {a} – {b}: "), &cell.words());
    }
    if several.len() > LISTED {
        let more = count((several.len() - LISTED) as u64);
        page.wrapped("", "  ", &format!("and {more} more: {}", matrix.words.more));
    }
}
