//! A stream: what a trial of one has beside its times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::check_figures;

/// The messages of a stream, and how many of them were on their way at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParts {
    /// Messages in the parts of the blocks that count: without their first quarter, in which the queue fills, and without
    /// what was received after the last was sent.
    pub counted: u64,
    /// How deep the queue was. Absent where the clocks of the ends do not agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<QueueDepth>,
    /// What the slowest of several publishers had delivered when the first of a block was through, as a part of what the
    /// fastest had, over all blocks: 1 where all come through alike. Absent where there is one publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub least_published: Option<f64>,
    /// Messages a second of all pairs that ran at once, this one among them: of each the rate of arrival in its own blocks.
    /// Absent where it was alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub all_pairs_per_second: Option<f64>,
}

/// Messages that were sent and not yet received, looked at whenever a batch began to arrive: true to a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueDepth {
    /// Half of the looks saw at most so many.
    pub p50: u64,
    /// The most.
    pub max: u64,
}

impl StreamParts {
    pub(super) fn check(&self) -> Result<(), String> {
        check_figures(&[
            ("all_pairs_per_second", self.all_pairs_per_second.unwrap_or(0.0)),
            ("least_published", self.least_published.unwrap_or(0.0)),
        ])?;
        if self.least_published.is_some_and(|share| share > 1.0) {
            return Err("stream.least_published is above 1, though it is a part".into());
        }
        match self.depth {
            Some(QueueDepth { p50, max }) if p50 > max => {
                Err(format!("stream.depth.p50 is {p50}, above its max {max}"))
            }
            _ => Ok(()),
        }
    }
}
