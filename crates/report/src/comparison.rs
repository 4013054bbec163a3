//! What changed between two sides, for people and programs.

mod json;
mod table;

use ipcmark_results::{
    Change,
    stats::{Comparison, Verdict},
};

pub use json::comparison_json;
pub use table::comparison_table;

/// A comparison with the names of its sides.
pub struct ComparedSides<'a> {
    /// What changed.
    pub change: &'a Change<'a>,
    /// The files, or the plan, of the base.
    pub base: String,
    /// The files, or the plan, of the new side.
    pub new: String,
    /// Warnings to read before any figure, in whole sentences.
    pub notes: Vec<String>,
}

/// How many pairs, or runs a side, would probably tell, where more of them could.
fn needed(change: &Change, comparison: &Comparison) -> Option<usize> {
    let few = |obstacle: &_| matches!(obstacle, ipcmark_results::Obstacle::FewRuns { .. });
    match comparison.verdict {
        Verdict::CannotTell { pairs_needed } if change.obstacles.iter().all(few) => {
            Some(pairs_needed)
        }
        _ => None,
    }
}

/// How many rows have each verdict: slower, faster, same, cannot tell.
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
