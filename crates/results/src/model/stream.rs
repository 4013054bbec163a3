//! A stream: the fields of a trial beside its times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::check_figures;

/// The messages of a stream, and the number of them in transit at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParts {
    /// Messages in the counted parts of the blocks: without the first quarter, in which the queue fills, and without
    /// those received after the last was sent.
    pub counted: u64,
    /// The depth of the queue. Absent if the clocks of the ends do not agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<QueueDepth>,
    /// The share of messages that the slowest of several publishers had delivered when the first one finished a block,
    /// relative to the fastest, over all blocks: 1 if all deliver equally. Absent if there is one publisher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub least_published: Option<f64>,
    /// Messages a second of all pairs that ran at once, including this one: the sum of each pair's rate of arrival in
    /// its own blocks. Absent if there was one pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub all_pairs_per_second: Option<f64>,
}

/// Messages that were sent and not yet received, counted whenever a batch began to arrive: accurate to a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueDepth {
    /// The median of the counts.
    pub p50: u64,
    /// The maximum.
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
