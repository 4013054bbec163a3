//! The properties over which rows can be drawn as lines: rates, pauses, followers and pairs.

use ipcmark_results::{Arrivals, Identity, Load, Pattern};
use serde::Serialize;

use crate::names;

/// A property over which rows can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Axis {
    Rate,
    Pause,
    Subscribers,
    Publishers,
    Pairs,
}

/// An axis over which there are lines, and the kind of their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct DrawnAxis {
    pub axis: Axis,
    /// True for messages a second of streams; else times.
    pub stream: bool,
}

/// The place of a row on an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct AxisPlace {
    pub axis: Axis,
    pub at: u64,
    /// The other properties that tell the lines of a transport apart; empty if they are the usual ones.
    pub line: String,
}

impl Axis {
    /// True if a single point says something, not only a line of several.
    pub(super) fn has_single_points(self) -> bool {
        matches!(self, Axis::Rate | Axis::Pause)
    }
}

/// The places of a row.
pub(super) fn places(identity: &Identity) -> Vec<AxisPlace> {
    let place = |(axis, at)| AxisPlace { axis, at, line: line(axis, identity) };
    let load = match identity.load {
        Load::Rate { per_second, .. } => Some((Axis::Rate, per_second)),
        Load::Interval { pause_ns } => Some((Axis::Pause, pause_ns)),
        Load::Closed | Load::Trace { .. } => None,
    };
    let followers = match identity.pattern {
        Pattern::FanOut => Some((Axis::Subscribers, identity.subscribers.into())),
        Pattern::FanIn => Some((Axis::Publishers, identity.subscribers.into())),
        Pattern::Latency | Pattern::OneWay | Pattern::Throughput => None,
    };
    let pairs = (Axis::Pairs, identity.pairs.into());
    load.into_iter().chain(followers).chain([pairs]).map(place).collect()
}

/// The properties of a row, except its place on this axis, that differ from a ping-pong's between two ends.
fn line(axis: Axis, identity: &Identity) -> String {
    let &Identity { pattern, subscribers, silent_subscribers, load, .. } = identity;
    let counts_followers = matches!(axis, Axis::Subscribers | Axis::Publishers);
    let mut parts = Vec::new();
    if pattern != Pattern::Latency && !counts_followers {
        parts.push(pattern.to_string());
        parts.extend(names::followers(pattern, subscribers, silent_subscribers));
    } else if silent_subscribers > 0 {
        parts.push(format!("{silent_subscribers} silent"));
    }
    if axis != Axis::Pairs {
        parts.extend(names::pairs(identity.pairs));
    }
    match (axis, load) {
        (Axis::Rate, Load::Rate { arrivals: Arrivals::Poisson, .. }) => {
            parts.push("at random".into());
        }
        (Axis::Rate | Axis::Pause, _) => {}
        _ => parts.extend(names::load(load)),
    }
    parts.extend(identity.between.as_ref().map(names::between));
    parts.join(", ")
}
