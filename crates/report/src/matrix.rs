//! The times between each two ends, processors or hosts: a map with a cell for each pair.

mod json;
mod svg;
mod table;

use std::collections::BTreeMap;

pub use json::{MatrixCpu, matrix_json};
pub use svg::{matrix_figure, matrix_svg};
pub use table::{draw_matrix, matrix_table};

use ipcmark_results::stats;

use crate::units::{duration, percent};

/// Ends and the times between them.
pub struct Matrix {
    /// The kind of the times: `round trips of a bare cache line`.
    pub title: String,
    /// The ends, in the order of the map: near ends are adjacent.
    pub ends: Vec<MatrixEnd>,
    /// The pairs, by the numbers of their ends, the smaller first.
    pub cells: BTreeMap<(u32, u32), MatrixCell>,
    /// Pairs that were not measured.
    pub missing: usize,
    /// Notes for the reader, as sentences.
    pub notes: Vec<String>,
    /// The words for the ends, and references to further information.
    pub words: &'static MatrixWords,
}

/// The words of a map of one kind.
pub struct MatrixWords {
    /// The word before the name of an end.
    pub end: &'static str,
    /// The advice if the map is too wide.
    pub too_wide: &'static str,
    /// The advice if pairs are missing.
    pub missing: &'static str,
    /// The title of the list of pairs that a cell cannot represent.
    pub listed: &'static str,
    /// The place of the rest of that list.
    pub more: &'static str,
    /// An explanation of a cell of the picture.
    pub cell: &'static str,
}

/// One end of the map: a row and a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixEnd {
    /// Its number, shown above its column.
    pub id: u32,
    /// Its name, shown before its row.
    pub name: String,
    /// The place that it shares with its neighbours: a line separates it from ends with another place.
    pub place: String,
}

/// A pair of ends.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixCell {
    /// Their numbers, the smaller first.
    pub ends: (u32, u32),
    /// The properties that they share, as text.
    pub relation: String,
    /// The times of the pair, the shortest first; empty if nothing could be measured.
    pub parts: Vec<MatrixPart>,
    /// The reason why nothing could be measured.
    pub reason: Option<String>,
}

/// One of the distances of a pair: on a virtual machine there are several, which alternate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixPart {
    /// A time; none if the processors did not run at the same time.
    pub time_ns: Option<f64>,
    /// The share of the time in which it applies.
    pub share: f64,
}

impl MatrixCell {
    /// The most frequent time.
    pub fn usual_ns(&self) -> Option<f64> {
        let known = self.parts.iter().filter(|part| part.time_ns.is_some());
        known.max_by(|a, b| a.share.total_cmp(&b.share))?.time_ns
    }

    /// The times and their shares: `57 ns 91 %, 361 ns 9 %`.
    fn words(&self) -> String {
        let word = |part: &MatrixPart| {
            let time = part.time_ns.map_or("apart".into(), duration);
            format!("{time} {}", percent(part.share))
        };
        match (&self.parts[..], &self.reason) {
            ([], reason) => reason.clone().unwrap_or_else(|| "not known".into()),
            ([only], _) if only.share > 0.999 => only.time_ns.map_or("apart".into(), duration),
            (parts, _) => parts.iter().map(word).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The least ratio between the ends of the scale: closer times do not get the most different shades.
const LEAST_SPAN: f64 = 1.5;

/// The position of a time in a range, from 0 to 1, on a logarithmic scale.
fn shade(range: Option<(f64, f64)>, ns: f64) -> f64 {
    let Some((least, greatest)) = range.filter(|(least, _)| *least > 0.0) else { return 0.0 };
    let span = (greatest / least).max(LEAST_SPAN);
    ((ns / least).ln() / span.ln()).clamp(0.0, 1.0)
}

impl Matrix {
    fn cell(&self, a: &MatrixEnd, b: &MatrixEnd) -> Option<&MatrixCell> {
        self.cells.get(&(a.id.min(b.id), a.id.max(b.id)))
    }

    /// The least and the greatest usual time.
    fn range(&self) -> Option<(f64, f64)> {
        let usual = || self.cells.values().filter_map(MatrixCell::usual_ns);
        let least = usual().reduce(f64::min)?;
        Some((least, usual().fold(least, f64::max)))
    }

    /// The pairs of each relation: their number, and the least, the median and the greatest of their usual times.
    fn relations(&self) -> Vec<(&str, usize, [f64; 3])> {
        let mut found: Vec<(&str, Vec<f64>)> = Vec::new();
        for cell in self.cells.values() {
            let Some(ns) = cell.usual_ns() else { continue };
            match found.iter_mut().find(|(relation, _)| *relation == cell.relation) {
                Some((_, times)) => times.push(ns),
                None => found.push((&cell.relation, vec![ns])),
            }
        }
        let of = |(relation, mut times): (_, Vec<f64>)| {
            times.sort_by(f64::total_cmp);
            let median = stats::median(&times).unwrap_or(times[0]);
            (relation, times.len(), [times[0], median, times[times.len() - 1]])
        };
        let mut relations: Vec<(&str, usize, [f64; 3])> = found.into_iter().map(of).collect();
        relations.sort_by(|a, b| a.2[1].total_cmp(&b.2[1]));
        relations
    }

    /// True if a line separates two neighbours of the map.
    fn parts_after(&self, at: usize) -> bool {
        let neighbours = self.ends.get(at).zip(self.ends.get(at + 1));
        neighbours.is_some_and(|(one, next)| one.place != next.place)
    }

    /// The name of an end.
    fn name(&self, id: u32) -> String {
        let end = self.ends.iter().find(|end| end.id == id);
        end.map_or_else(|| id.to_string(), |end| end.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Terminal;

    const WORDS: MatrixWords = MatrixWords {
        end: "cpu ",
        too_wide: "--svg FILE draws it",
        missing: "--all measures them",
        listed: "pairs with several distances",
        more: "--format json has all of them",
        cell: "a cell is divided",
    };

    fn end(id: u32, package: i64) -> MatrixEnd {
        MatrixEnd { id, name: id.to_string(), place: package.to_string() }
    }

    fn cell(ends: (u32, u32), parts: &[(f64, f64)]) -> MatrixCell {
        let part = |(ns, share): &(f64, f64)| MatrixPart { time_ns: Some(*ns), share: *share };
        let relation =
            if ends.0 / 2 == ends.1 / 2 { "one package" } else { "<different> packages" };
        MatrixCell {
            ends,
            relation: relation.into(),
            parts: parts.iter().map(part).collect(),
            reason: None,
        }
    }

    pub(super) fn four() -> Matrix {
        Matrix {
            title: "round trips of a bare cache line".into(),
            ends: (0..4).map(|id| end(id, i64::from(id / 2))).collect(),
            words: &WORDS,
            cells: [
                cell((0, 1), &[(60.0, 0.9), (360.0, 0.1)]),
                cell((2, 3), &[(61.0, 1.0)]),
                cell((0, 2), &[(300.0, 1.0)]),
                cell((1, 3), &[(310.0, 1.0)]),
                MatrixCell { reason: Some("no <luck>".into()), ..cell((0, 3), &[]) },
            ]
            .map(|cell| (cell.ends, cell))
            .into(),
            missing: 1,
            notes: vec!["a note".into()],
        }
    }

    fn terminal(width: usize) -> Terminal {
        Terminal { width, color: false, ascii: false }
    }

    #[test]
    fn every_pair_has_its_time_and_those_that_move_their_shares() {
        let text = matrix_table(&four(), terminal(80));
        for word in [
            "0 – 1",
            "60.0 ns 90 %, 360 ns 10 %",
            "one package",
            "no <luck>",
            "a note",
            "310",
            "61",
        ] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_map_that_is_too_wide_for_numbers_is_shaded() {
        let wide = Matrix { ends: (0..60).map(|id| end(id, 0)).collect(), ..four() };
        let text = matrix_table(&wide, terminal(80));
        assert!(text.contains('█') && text.contains("░"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let wider = Matrix { ends: (0..200).map(|id| end(id, 0)).collect(), ..four() };
        assert!(matrix_table(&wider, terminal(80)).contains("--svg"));
    }

    #[test]
    fn the_picture_is_well_formed_and_has_every_cell_twice() {
        let picture = matrix_svg(&four());
        assert!(picture.contains("no &lt;luck&gt;") && !picture.contains("<luck>"));
        assert_eq!(picture.matches("<title>").count(), 2 * four().cells.len());
        assert_eq!(picture.matches("<g").count(), picture.matches("</g>").count());
    }

    #[test]
    fn the_picture_of_two_processors_is_as_wide_as_its_texts() {
        let two = Matrix { ends: (0..2).map(|id| end(id, 0)).collect(), ..four() };
        let picture = matrix_svg(&two);
        let width = picture.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
        let width: usize = width.and_then(|width| width.parse().ok()).unwrap();
        let subtitle = picture.lines().find(|line| line.contains(WORDS.cell)).unwrap();
        let letters = subtitle.split(['>', '<']).nth(2).unwrap().chars().count();
        assert!(width > 7 * letters, "{width} for {letters} characters");
    }

    #[test]
    fn nothing_measured_is_no_map() {
        let none = Matrix { cells: BTreeMap::new(), ..four() };
        assert!(matrix_table(&none, terminal(80)).contains("not measured"));
        assert!(matrix_svg(&none).ends_with("</svg>\n"));
    }
}
