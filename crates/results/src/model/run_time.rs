//! What a run took.

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run took, and what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTime {
    /// From its begin to its end, or to the last record of one that is not complete.
    pub elapsed_ns: u64,
    /// Sessions started and ended, ends opened, checked, warmed up and closed.
    pub setup_ns: u64,
    /// Turns: blocks, with the probes and the hand-overs around them.
    pub turns_ns: u64,
}

impl Add for RunTime {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            elapsed_ns: self.elapsed_ns.saturating_add(more.elapsed_ns),
            setup_ns: self.setup_ns.saturating_add(more.setup_ns),
            turns_ns: self.turns_ns.saturating_add(more.turns_ns),
        }
    }
}
