//! Messages one way: the fields of a trial beside its times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::times::Times;
use crate::stats::median;

/// The parts of a message's way, and the offset of the two clocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayParts {
    /// From the sender's stamp until its call to publish has returned: writing the message and the send call. A
    /// receiver that is awake can have the message before that.
    pub send_ns: Times,
    /// Round trips of the same messages: from the sender's stamp of a message to that of the next, which follows the
    /// answer. Absent with a rate or an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<Times>,
    /// The wake-ups of the sleeping receiver in the turns, by the kernel's tracepoints: from the moment at which the kernel
    /// made it ready, which lies within the send call, until it ran. Absent if the receiver spins, or if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_up_ns: Option<Times>,
    /// The reason if the wake-ups of a sleeping receiver are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_up_unknown: Option<String>,
    /// The offset of the receiver's clock from the sender's, positive if it is ahead. Absent if they could not be
    /// compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset: Option<ClockOffset>,
}

/// How far the receiver's clock is ahead of the sender's: medians over the comparisons before the blocks of a trial.
///
/// The estimate of each comparison is subtracted from the arrivals of the block that follows. It assumes that a cache line
/// travels as fast there as back; without that assumption a time one way can be wrong by what is between the estimate and
/// the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The least offset; negative if the clock may be behind.
    pub least_ns: i64,
    /// The offset that was subtracted. In files of earlier versions 0, because none was.
    #[serde(default)]
    pub estimate_ns: i64,
    /// The greatest offset.
    pub most_ns: i64,
}

impl ClockOffset {
    /// The medians of several comparisons; none of none.
    pub fn median(compared: &[Self]) -> Option<Self> {
        let median = |of: fn(&Self) -> i64| {
            let figures: Vec<f64> = compared.iter().map(|offset| of(offset) as f64).collect();
            median(&figures).map(|ns| ns.round() as i64)
        };
        Some(Self {
            least_ns: median(|offset| offset.least_ns)?,
            estimate_ns: median(|offset| offset.estimate_ns)?,
            most_ns: median(|offset| offset.most_ns)?,
        })
    }

    /// The largest possible error of a time one way, in nanoseconds.
    pub fn bound_ns(self) -> u64 {
        self.least_ns.abs_diff(self.estimate_ns).max(self.most_ns.abs_diff(self.estimate_ns))
    }
}

impl OneWayParts {
    pub(super) fn check(&self) -> Result<(), String> {
        let Self { send_ns, round_trip_ns, wake_up_ns, .. } = self;
        send_ns.check("one_way.send_ns")?;
        round_trip_ns.as_ref().map_or(Ok(()), |times| times.check("one_way.round_trip_ns"))?;
        wake_up_ns.as_ref().map_or(Ok(()), |times| times.check("one_way.wake_up_ns"))
    }
}
