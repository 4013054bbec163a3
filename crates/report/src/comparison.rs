//! The changes between two sides, for people and programs.

mod json;
mod junit;
mod table;

use ipcmark_results::{
    Change, Presence, RowPair, UnpairedRow,
    stats::{Comparison, Verdict},
};

use crate::{names, remarks};

pub use json::comparison_json;
pub use junit::comparison_junit;
pub use table::comparison_table;

/// A comparison with the names of its sides.
pub struct ComparedSides<'a> {
    /// The changes.
    pub change: &'a Change<'a>,
    /// The files, or the plan, of the base.
    pub base: String,
    /// The files, or the plan, of the new side.
    pub new: String,
    /// Warnings to read before any figure, in whole sentences.
    pub notes: Vec<String>,
}

impl ComparedSides<'_> {
    /// All warnings, those about single rows last.
    fn warnings(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.change.pairs().filter_map(rate_not_held)).collect()
    }
}

/// The warning of a row that did not hold its rate.
fn rate_not_held(pair: &RowPair) -> Option<String> {
    let side = match (pair.base.not_held().is_some(), pair.new.not_held().is_some()) {
        (false, false) => return None,
        (true, true) => "on both sides",
        (true, false) => "in the base",
        (false, true) => "in the new side",
    };
    let name = names::alone(&pair.base.case.identity);
    let why = "its times there say how long it was measured, not how fast it is";
    Some(format!("{name} did not hold its rate {side}: {why}."))
}

/// The number of pairs, or of runs a side, that would probably allow a verdict, if more of them
/// would help.
fn needed(change: &Change, comparison: &Comparison) -> Option<usize> {
    let few = |obstacle: &_| matches!(obstacle, ipcmark_results::Obstacle::FewRuns { .. });
    match comparison.verdict {
        Verdict::CannotTell { pairs_needed } if change.obstacles.iter().all(few) => {
            Some(pairs_needed)
        }
        _ => None,
    }
}

/// The number of rows with each verdict: slower, faster, same, cannot tell.
fn counts(change: &Change) -> [usize; 4] {
    let mut counts = [0; 4];
    for pair in change.pairs() {
        counts[match pair.comparison.verdict {
            Verdict::Slower => 0,
            Verdict::Faster => 1,
            Verdict::Same => 2,
            Verdict::CannotTell { .. } => 3,
        }] += 1;
    }
    counts
}

/// The reason why a row is not compared; rows that failed come first.
fn why(unpaired: &UnpairedRow) -> (bool, String) {
    let (base, new) = (presence(&unpaired.base), presence(&unpaired.new));
    let words = match (&base, &new) {
        (None, None) => String::new(),
        (None, Some(new)) => format!("measured in the base; in the new side {new}"),
        (Some(base), None) => format!("measured in the new side; in the base {base}"),
        (Some(base), Some(new)) if base == new => format!("on both sides {base}"),
        (Some(base), Some(new)) => format!("in the base {base}; in the new side {new}"),
    };
    (!words.contains("failed"), words)
}

/// The text that replaces the figure of a row on one side; none if the row was measured.
fn presence(presence: &Presence) -> Option<String> {
    match presence {
        Presence::Measured => None,
        Presence::Absent => Some("absent".into()),
        Presence::Unmeasured(case) => Some(format!("{}: {}", case.status(), remarks::reason(case))),
    }
}
