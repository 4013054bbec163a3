//! Messages one way: what a trial of them has beside the times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::times::Times;

/// The parts of a message's way, and how far the two clocks agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayParts {
    /// From the sender's stamp until its call to publish has returned: the writing of the message and the send call. Where
    /// the receiver is awake it can be there before that.
    pub send_ns: Times,
    /// How far the receiver's clock is ahead of the sender's. Absent where nobody could compare them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset: Option<ClockOffset>,
}

/// Bounds of how far one processor's clock is ahead of another's: times one way can be wrong by as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// At least so far; negative where it may be behind.
    pub least_ns: i64,
    /// At most so far.
    pub most_ns: i64,
}

impl ClockOffset {
    /// How far a time one way can be wrong, in nanoseconds.
    pub fn bound_ns(self) -> u64 {
        self.least_ns.unsigned_abs().max(self.most_ns.unsigned_abs())
    }
}

impl OneWayParts {
    pub(super) fn check(&self) -> Result<(), String> {
        self.send_ns.check("one_way.send_ns")
    }
}
