//! The map as a picture: a cell is divided among its distances by their shares of the time.

use super::{Matrix, MatrixCell, MatrixPart, shade};
use crate::{
    plain::markup,
    units::{Unit, duration},
};

/// Side of a cell, for few and for many processors.
const LARGE: usize = 56;
const SMALL: usize = 14;

/// With more processors the cells are small, without numbers.
const FEW: usize = 24;

/// The minimum width of the names of rows, and the width of a character.
const LEFT: usize = 48;
const LETTER: usize = 7;
const TITLE_LETTER: usize = 9;
const TOP: usize = 72;
const BOTTOM: usize = 48;

/// The style of a standalone picture, for light and dark pages.
const STYLE: &str = "<style>text { fill: #222 } .quiet { fill: #777 } .box { fill: none; stroke: #999 } @media \
     (prefers-color-scheme: dark) { text { fill: #ddd } .quiet { fill: #999 } .cell { fill: #111 } }</style>\n";

/// The map as a standalone picture, for light and dark pages.
pub fn matrix_svg(matrix: &Matrix) -> String {
    picture(matrix, STYLE)
}

/// The map as a part of a page that has its own style.
pub fn matrix_figure(matrix: &Matrix) -> String {
    picture(matrix, "")
}

fn picture(matrix: &Matrix, style: &str) -> String {
    let side = if matrix.ends.len() <= FEW { LARGE } else { SMALL };
    let size = side * matrix.ends.len();
    let longest = matrix.ends.iter().map(|end| end.name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(LETTER * longest + 16);
    let range = matrix.range();
    let unit = range.map(|(least, most)| Unit::of_range(least, most));
    let subtitle = range.zip(unit).map(|(range, unit)| subtitle(matrix, range, unit));
    let long = |letter: usize, text: &str| left + letter * text.chars().count();
    let texts = long(TITLE_LETTER, &matrix.title)
        .max(long(LETTER, subtitle.as_deref().unwrap_or_default()));
    let width = (left + size + 16).max(texts);
    let height = TOP + size + BOTTOM;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"matrix\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n{style}"
    );
    picture += &text(left, 24, "", &matrix.title, 16);
    if let Some(subtitle) = &subtitle {
        picture += &text(left, 44, "quiet", subtitle, 12);
    }
    for (row, a) in matrix.ends.iter().enumerate() {
        let (middle, edge) = (side * row + side / 2, side > SMALL || row % 8 == 0);
        if edge {
            picture += &text(left + middle - 4, TOP - 6, "quiet", &a.id.to_string(), 11);
            picture += &text(8, TOP + middle + 4, "quiet", &a.name, 11);
        }
        for (column, b) in matrix.ends.iter().enumerate() {
            if let Some(cell) = matrix.cell(a, b) {
                let corner = (left + side * column, TOP + side * row);
                picture += &drawn(matrix, cell, corner, side, unit);
            }
        }
    }
    for at in (0..matrix.ends.len()).filter(|at| matrix.parts_after(*at)) {
        let line = side * (at + 1);
        let (x, y, end_x, end_y) = (left + line, TOP + line, left + size, TOP + size);
        picture += &format!(
            "<path class=\"box\" stroke-width=\"2\" d=\"M{x} {TOP}V{end_y}M{left} {y}H{end_x}\"/>\n"
        );
    }
    picture + "</svg>\n"
}

fn subtitle(matrix: &Matrix, (least, greatest): (f64, f64), unit: Unit) -> String {
    let (least, greatest) = (duration(least), duration(greatest));
    format!("in {}, from {least} to {greatest}; {}", unit.sign(), matrix.words.cell)
}

fn drawn(
    matrix: &Matrix,
    cell: &MatrixCell,
    (x, y): (usize, usize),
    side: usize,
    unit: Option<Unit>,
) -> String {
    let (range, before) = (matrix.range(), matrix.words.end);
    let (a, b) = (matrix.name(cell.ends.0), matrix.name(cell.ends.1));
    let about = format!("{before}{a} – {before}{b}, {}: {}", cell.relation, cell.words());
    let mut group = format!("<g><title>{}</title>", markup(&about));
    let mut from = y as f64;
    for part in &cell.parts {
        let part_height = side as f64 * part.share;
        group += &format!(
            "<rect x=\"{x}\" y=\"{from:.1}\" width=\"{side}\" height=\"{part_height:.1}\" fill=\"{}\"/>",
            color(range, part)
        );
        from += part_height;
    }
    group +=
        &format!("<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\"/>");
    let number = cell.usual_ns().zip(unit).filter(|_| side > SMALL);
    if let Some((ns, unit)) = number {
        let middle = side / 2;
        group += &format!(
            "<text class=\"cell\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"12\">{}</text>",
            x + middle,
            y + middle + 4,
            unit.time(ns).trim()
        );
    }
    group + "</g>\n"
}

/// Light for near, dark for far; grey if the processors did not run at the same time.
fn color(range: Option<(f64, f64)>, part: &MatrixPart) -> String {
    let Some(ns) = part.time_ns else { return "#bbb".into() };
    let shade = shade(range, ns);
    let mix = |near: f64, far: f64| (near + (far - near) * shade).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(222.0, 232.0), mix(240.0, 120.0), mix(230.0, 70.0))
}

fn text(x: usize, y: usize, class: &str, words: &str, size: usize) -> String {
    let words = markup(words);
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{words}</text>\n")
}
