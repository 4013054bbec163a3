//! The measurement of a case: each pattern's own, one file each.

use ipcmark_transport::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{round_trips::RoundTrips, session::SessionRecord};

/// The measurement of a case; its kind follows from the pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// The patterns `latency` and `fan-out`.
    RoundTrips(RoundTrips),
}

impl Measurement {
    /// The sessions of its trials, in their order.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionRecord> {
        let Measurement::RoundTrips(measured) = self;
        measured.trials.iter().map(|trial| &trial.session)
    }

    /// The round trips, if that is what was measured.
    pub fn round_trips(&self) -> Option<&RoundTrips> {
        let Measurement::RoundTrips(measured) = self;
        Some(measured)
    }

    /// Adds the trials of another measurement of the same case.
    pub(super) fn append(&mut self, more: Self) {
        let (Measurement::RoundTrips(measured), Measurement::RoundTrips(more)) = (self, more);
        measured.trials.extend(more.trials);
    }

    /// True if a pattern is measured like this.
    pub fn is_of(&self, pattern: Pattern) -> bool {
        let Measurement::RoundTrips(_) = self;
        matches!(pattern, Pattern::Latency | Pattern::FanOut)
    }

    /// Checks that every figure is one, and that counts add up.
    pub fn check(&self) -> Result<(), String> {
        let Measurement::RoundTrips(measured) = self;
        measured.check()
    }
}
