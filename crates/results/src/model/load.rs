//! The way messages are offered, and the outcome of those of an open loop.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::times::Times;

/// The way messages are offered.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// The next message when the last is answered.
    #[default]
    Closed,
    /// The next message a pause after the last is answered.
    Interval {
        /// The pause.
        #[schemars(range(min = 1))]
        pause_ns: u64,
    },
    /// An open loop: each message has its intended time, independent of earlier messages.
    Rate {
        /// Messages a second, on average.
        #[schemars(range(min = 1))]
        per_second: u64,
        /// The times at which they arrive.
        arrivals: Arrivals,
    },
    /// An open loop with the recorded times and sizes of an application's messages.
    Trace {
        /// Messages that were recorded.
        #[schemars(range(min = 1))]
        messages: u64,
        /// From the first to the last, plus one mean gap. A longer measurement repeats the trace.
        #[schemars(range(min = 1))]
        span_ns: u64,
        /// Bytes of all of them.
        bytes: u64,
        /// The first 32 bits of the SHA-256 sum of all times and sizes, which identifies the trace.
        digest: u32,
    },
}

/// The times between the messages of an open loop.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// All equal.
    #[default]
    Fixed,
    /// Exponentially distributed, as of many independent senders.
    Poisson,
}

/// The messages that an open loop offered in one trial, and how many were sent in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Messages whose intended time came.
    pub intended: u64,
    /// Those of them that were sent, at most 10 ms after the end. The others count as answered then, which is less than
    /// their real time would have been.
    pub sent: u64,
    /// Those sent that were answered by all who answer, or that arrived if nobody does. Absent in files of versions that
    /// did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// Messages that could not be sent at their time, because the one before was not answered yet, or never.
    pub late: u64,
    /// Length of the schedule; until then if messages were not sent.
    pub elapsed_ns: u64,
    /// Times from the actual send to the last answer.
    pub service_ns: Times,
    /// Times from the intended time to the actual send.
    pub delay_ns: Times,
}

impl Load {
    /// The mean time between two messages, in nanoseconds; none if the next message waits only for the last answer.
    pub fn gap_ns(self) -> Option<f64> {
        match self {
            Load::Closed => None,
            Load::Interval { pause_ns } => Some(pause_ns as f64),
            Load::Rate { per_second, .. } => Some(1e9 / per_second as f64),
            Load::Trace { messages, span_ns, .. } => Some(span_ns as f64 / messages as f64),
        }
    }

    /// True if messages have intended times.
    pub fn is_open(self) -> bool {
        matches!(self, Load::Rate { .. } | Load::Trace { .. })
    }

    /// True if messages differ in size: the payload is that of the largest.
    pub fn has_sizes(self) -> bool {
        matches!(self, Load::Trace { .. })
    }
}

impl Offered {
    /// Messages a second that were sent.
    pub fn sent_per_second(&self) -> f64 {
        self.sent as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }

    /// Messages a second that were received; none if they were not counted.
    pub fn received_per_second(&self) -> Option<f64> {
        Some(self.received? as f64 * 1e9 / self.elapsed_ns.max(1) as f64)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.service_ns.check("service_ns")?;
        self.delay_ns.check("delay_ns")?;
        let received = self.received.unwrap_or(0);
        match received <= self.sent && self.sent <= self.intended && self.late <= self.intended {
            true => Ok(()),
            false => Err(format!(
                "of {} intended messages {} were sent, {received} were received and {} were late",
                self.intended, self.sent, self.late
            )),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Load::Closed => "closed".into(),
            Load::Interval { pause_ns } => format!("interval {}", pause(*pause_ns)),
            Load::Rate { per_second, arrivals: Arrivals::Fixed } => format!("{per_second}/s"),
            Load::Rate { per_second, .. } => format!("{per_second}/s poisson"),
            Load::Trace { messages, digest, .. } => {
                format!("trace {digest:08x} of {messages} messages")
            }
        };
        f.pad(&text)
    }
}

/// A time in the largest unit that divides it: `10ms`.
fn pause(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{ns}ns"), |(unit, sign)| format!("{}{sign}", ns / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_in_words() {
        let rate = |arrivals| Load::Rate { per_second: 10_000, arrivals };
        assert_eq!(Load::Closed.to_string(), "closed");
        assert_eq!(rate(Arrivals::Fixed).to_string(), "10000/s");
        assert_eq!(rate(Arrivals::Poisson).to_string(), "10000/s poisson");
        let trace = Load::Trace { messages: 7, span_ns: 70, bytes: 640, digest: 0xab };
        assert_eq!(trace.to_string(), "trace 000000ab of 7 messages");
        assert_eq!((trace.gap_ns(), trace.is_open()), (Some(10.0), true));
        let paused = |pause_ns| Load::Interval { pause_ns }.to_string();
        let texts = [2_000_000_000, 10_000_000, 1_500, 7_000].map(paused);
        assert_eq!(texts, ["interval 2s", "interval 10ms", "interval 1500ns", "interval 7us"]);
    }

    #[test]
    fn a_load_reads_back_as_it_was_written() {
        let rate = Load::Rate { per_second: 3, arrivals: Arrivals::Poisson };
        let trace = Load::Trace { messages: 7, span_ns: 70, bytes: 640, digest: 0xab };
        for load in [Load::Closed, Load::Interval { pause_ns: 5 }, rate, trace] {
            let text = serde_json::to_string(&load).unwrap();
            assert_eq!(serde_json::from_str::<Load>(&text).unwrap(), load, "{text}");
        }
        assert_eq!(serde_json::to_string(&Load::Closed).unwrap(), r#""closed""#);
    }
}
