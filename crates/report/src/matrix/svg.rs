//! The map as a picture: a cell is divided among its distances by their shares of the time.

use super::{Matrix, MatrixCell, MatrixPart, shade};
use crate::{
    plain::markup,
    units::{Unit, duration},
};

/// Side of a cell, where there are few and where there are many.
const LARGE: usize = 56;
const SMALL: usize = 14;

/// More processors than these have small cells, without numbers.
const FEW: usize = 24;

const LEFT: usize = 48;
const TOP: usize = 72;
const BOTTOM: usize = 48;

/// The map as a picture of its own, for light and dark pages.
pub fn matrix_svg(matrix: &Matrix) -> String {
    let side = if matrix.cpus.len() <= FEW { LARGE } else { SMALL };
    let size = side * matrix.cpus.len();
    let width = (LEFT + size + 16).max(420);
    let height = TOP + size + BOTTOM;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <style>text {{ fill: #222 }} .quiet {{ fill: #777 }} .box {{ fill: none; stroke: #999 }} @media \
         (prefers-color-scheme: dark) {{ text {{ fill: #ddd }} .quiet {{ fill: #999 }} .cell {{ fill: #111 }} }}</style>\n"
    );
    let range = matrix.range();
    let unit = range.map(|(least, most)| Unit::of_range(least, most));
    picture += &text(LEFT, 24, "", &format!("round trips of {}", matrix.what), 16);
    if let (Some((least, greatest)), Some(unit)) = (range, unit) {
        let range = format!(
            "in {}, from {} to {}; a cell is divided as its distances share the time",
            unit.sign(),
            duration(least),
            duration(greatest)
        );
        picture += &text(LEFT, 44, "quiet", &range, 12);
    }
    for (row, a) in matrix.cpus.iter().enumerate() {
        let (middle, edge) = (side * row + side / 2, side > SMALL || row % 8 == 0);
        if edge {
            picture += &text(LEFT + middle - 4, TOP - 6, "quiet", &a.id.to_string(), 11);
            picture += &text(8, TOP + middle + 4, "quiet", &a.id.to_string(), 11);
        }
        for (column, b) in matrix.cpus.iter().enumerate() {
            if let Some(cell) = matrix.cell(a, b) {
                let corner = (LEFT + side * column, TOP + side * row);
                picture += &drawn(range, cell, corner, side, unit);
            }
        }
    }
    for at in (0..matrix.cpus.len()).filter(|at| matrix.parts_after(*at)) {
        let line = side * (at + 1);
        let (x, y, end_x, end_y) = (LEFT + line, TOP + line, LEFT + size, TOP + size);
        picture += &format!(
            "<path class=\"box\" stroke-width=\"2\" d=\"M{x} {TOP}V{end_y}M{LEFT} {y}H{end_x}\"/>\n"
        );
    }
    picture + "</svg>\n"
}

fn drawn(
    range: Option<(f64, f64)>,
    cell: &MatrixCell,
    (x, y): (usize, usize),
    side: usize,
    unit: Option<Unit>,
) -> String {
    let (a, b) = cell.cpus;
    let about = format!("cpu {a} – cpu {b}, {}: {}", cell.relation, cell.words());
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

/// Light for near, dark for far; grey where the processors did not run at the same time.
fn color(range: Option<(f64, f64)>, part: &MatrixPart) -> String {
    let Some(ns) = part.round_trip_ns else { return "#bbb".into() };
    let shade = shade(range, ns);
    let mix = |near: f64, far: f64| (near + (far - near) * shade).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(222.0, 232.0), mix(240.0, 120.0), mix(230.0, 70.0))
}

fn text(x: usize, y: usize, class: &str, words: &str, size: usize) -> String {
    let words = markup(words);
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{words}</text>\n")
}
