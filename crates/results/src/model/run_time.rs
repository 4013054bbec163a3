//! The duration of a run.

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The duration of a run, and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunTime {
    /// From its start to its end, or to the last record of an incomplete run.
    pub elapsed_ns: u64,
    /// The time to start and end sessions, and to open, check, warm up and close ends.
    pub setup_ns: u64,
    /// The time of turns: blocks, with the probes and the hand-overs around them.
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
