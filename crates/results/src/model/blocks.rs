//! The blocks of a trial: each was measured between two probes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The blocks of a trial in the order of time, one column a property. All columns have one entry a block, except those
/// that are empty: the probes if the ends could not be probed, the sleeps if they are unknown, and `shared_core` if no
/// block was measured on one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blocks {
    /// Number of the turn within the trial, from 0.
    pub turn: Vec<u32>,
    /// Time since the start of the first block.
    pub start_ns: Vec<u64>,
    /// True for a block with one clock reading at each end, false for one with more.
    pub clock_free: Vec<bool>,
    /// Round trips, messages one way, or messages in the counted part of a stream.
    pub events: Vec<u64>,
    /// The total time of these events; of messages one way in a closed loop, less one clock reading each.
    pub elapsed_ns: Vec<u64>,
    /// Round trips that were given up.
    pub lost: Vec<u64>,
    /// Times that the leader's thread went to sleep. Empty unless an end that sleeps waits for every answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleeps: Vec<u64>,
    /// Floor round trip right before the block.
    pub probe_before_ns: Vec<f64>,
    /// Floor round trip right after the block.
    pub probe_after_ns: Vec<f64>,
    /// True if another thread used the core of an end, right before the block or right after it. Empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_core: Vec<bool>,
}

impl Blocks {
    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.turn.len()
    }

    /// The times of all their events together.
    pub(super) fn all_ns(&self) -> u64 {
        self.elapsed_ns.iter().copied().fold(0, u64::saturating_add)
    }

    /// True if the ends of this block sleep for an answer, and did not in most of its round trips.
    pub fn is_awake(&self, at: usize) -> bool {
        self.sleeps.get(at).is_some_and(|sleeps| is_awake(*sleeps, self.events[at]))
    }

    /// True if another thread used the core of one of its ends.
    pub fn is_on_shared_core(&self, at: usize) -> bool {
        self.shared_core.get(at).is_some_and(|shared| *shared)
    }

    /// True if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.turn.is_empty()
    }

    /// The mean time of an event of a block that lost nothing and is clock-free; any block without losses counts if the
    /// load leaves none clock-free.
    pub fn location_mean_ns(&self, at: usize) -> Option<f64> {
        let is_of_kind = self.clock_free[at] || !self.clock_free.contains(&true);
        let counts = is_of_kind && self.lost[at] == 0 && self.events[at] > 0;
        counts.then(|| self.elapsed_ns[at] as f64 / self.events[at] as f64)
    }

    /// Checks that the columns have the same length and hold valid figures.
    pub(crate) fn check(&self) -> Result<(), String> {
        let count = self.len();
        let columns = [
            ("start_ns", self.start_ns.len()),
            ("clock_free", self.clock_free.len()),
            ("events", self.events.len()),
            ("elapsed_ns", self.elapsed_ns.len()),
            ("lost", self.lost.len()),
        ];
        if let Some((name, len)) = columns.iter().find(|(_, len)| *len != count) {
            return Err(format!("blocks.{name} has {len} entries for {count} blocks"));
        }
        let optional = [("sleeps", self.sleeps.len()), ("shared_core", self.shared_core.len())];
        if let Some((name, len)) = optional.iter().find(|(_, len)| *len != 0 && *len != count) {
            return Err(format!("blocks.{name} has {len} entries for {count} blocks"));
        }
        let probes = [("before", &self.probe_before_ns), ("after", &self.probe_after_ns)];
        for (name, column) in probes {
            if !column.is_empty() && column.len() != count {
                let len = column.len();
                return Err(format!("blocks.probe_{name}_ns has {len} entries for {count} blocks"));
            }
            if let Some(value) = column.iter().find(|value| !crate::figure::is_figure(**value)) {
                return Err(format!("blocks.probe_{name}_ns holds {value}, not a figure"));
            }
        }
        Ok(())
    }
}

/// True if a thread that went to sleep this often in this number of round trips was awake in most of them: the answers
/// came before it slept.
pub fn is_awake(sleeps: u64, round_trips: u64) -> bool {
    sleeps < round_trips.div_ceil(2)
}
