//! The cells of a sweep's sheet: figures with half of their intervals, aligned in their columns.

use ipcmark_results::Figure;

use crate::{columns::uncertainty, grid::widest};

/// A figure in a sheet; the default is none.
#[derive(Default)]
pub(super) struct SweepCell {
    figure: Option<String>,
    /// Half of its interval; empty if it has none.
    interval: String,
    /// True if it lies on no certain side of the limit.
    pub is_uncertain: bool,
}

impl SweepCell {
    /// A figure as text, with the interval of `figure`; uncertain if that contains the limit.
    pub(super) fn new(text: String, figure: Figure, limit: Option<f64>) -> Self {
        let interval = figure.interval.map(|_| uncertainty(Some(figure)));
        let is_uncertain = limit.is_some_and(|limit| !figure.is_clear_of(limit));
        Self { figure: Some(text), interval: interval.unwrap_or_default(), is_uncertain }
    }

    /// True if it has an interval.
    pub(super) fn has_interval(&self) -> bool {
        !self.interval.is_empty()
    }
}

/// The texts of a column, in which figures, intervals and marks stand below one another.
pub(super) fn aligned(column: &[&SweepCell]) -> Vec<String> {
    let width = widest("", column.iter().map(|cell| &cell.interval));
    let is_marked = column.iter().any(|cell| cell.is_uncertain);
    let text = |cell: &&SweepCell| {
        let mut text = cell.figure.clone().unwrap_or_else(|| "–".into());
        if width > 0 {
            let sign = if cell.has_interval() { "±" } else { " " };
            text += &format!(" {sign} {:>width$}", cell.interval);
        }
        if is_marked {
            text += if cell.is_uncertain { " ?" } else { "  " };
        }
        text
    };
    column.iter().map(text).collect()
}
