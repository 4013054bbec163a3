//! Distances: those at which the processors of a run stood, and the measurements of a trial at each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{blocks::Blocks, hiccups::Hiccups, times::Times};
use crate::{figure::check_figures, stats::nearest};

/// The distances of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDistances {
    /// The distances, the nearest first.
    pub all: Vec<RunDistance>,
    /// The distance at which rows are compared: the one with most blocks, unless another was requested. Absent if no
    /// block has a distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<u32>,
    /// Share of blocks whose probes differ or belong to no distance.
    #[schemars(range(min = 0, max = 1))]
    pub mixed_share: f64,
}

/// One distance of a run: processors in one physical relation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDistance {
    /// Median floor round trip of its probes.
    #[schemars(range(min = 0))]
    pub floor_round_trip_ns: f64,
    /// True if the two processors did not run at the same time.
    pub apart: bool,
    /// Share of all blocks.
    #[schemars(range(min = 0, max = 1))]
    pub share: f64,
}

/// The measurements of a trial at one distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtDistance {
    /// The index of the distance in the run's list, from 0.
    pub distance: u32,
    /// Blocks measured at this distance.
    pub blocks: u64,
    /// The clock-free mean of an event: median over its clock-free blocks, each adjusted by its own probes. Absent if
    /// there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub location_ns: Option<f64>,
    /// The clock-free mean of a block divided by its own probes (one way: by half of them): median over the blocks.
    /// Absent for a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub floor_multiple: Option<f64>,
    /// The clock-free mean of a turn divided by that of the reference in the neighbouring turn: median over the turns
    /// in which both were at this distance. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_multiple: Option<f64>,
    /// False if its clock-free blocks show a start that differs from the rest, or a trend. Absent if there are too few
    /// to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// Every sample of its sampled blocks.
    pub times_ns: Times,
}

/// One slot of a round: rows that took turns with one another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRecord {
    /// Number of the round within the run, from 0.
    pub number: u32,
    /// Number of the trial, from 1.
    pub trial: u32,
    /// True in the final of a run: its rows got further trials, because they could still be the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "final")]
    pub is_final: bool,
    /// The reference that took turns with the rows: `wake`, a bare futex hand-over, or `copy`, a bare exchange of the
    /// payload. Absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceKind>,
    /// The blocks of the reference; empty if there was none.
    pub blocks: Blocks,
    /// Of the reference's messages for which its ends slept, the share that came when a processor had gone idle. Absent if
    /// it did not sleep, or if the kernel does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub reference_woken_share: Option<f64>,
    /// The machine's disturbances during the slot.
    pub conditions: Conditions,
    /// The hiccups of the ends' processors just before the first turn. Empty if these are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hiccups: Vec<Hiccups>,
}

/// The machine's disturbances during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// The length of the measurement.
    pub elapsed_ns: u64,
    /// The share of it in which the hypervisor gave the processors of the ends to others. Absent if the kernel does not
    /// report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub stolen_share: Option<f64>,
    /// The time that the control group was throttled because it had used up its quota. Absent if it has no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// The relative change of the speed of dependent additions from before to after, as a share of the smaller speed:
    /// another clock frequency, or a busy sibling.
    #[schemars(range(min = 0))]
    pub canary_shift: f64,
}

impl Conditions {
    fn check(&self) -> Result<(), String> {
        check_figures(&[
            ("conditions.stolen_share", self.stolen_share.unwrap_or(0.0)),
            ("conditions.canary_shift", self.canary_shift),
        ])
    }
}

/// A reference: the least work that a row of a group must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceKind {
    /// One futex per hop.
    Wake,
    /// Every byte of the payload written and read, handed over through one word.
    Copy,
}

impl RunDistances {
    /// Makes the distance whose floor round trip is nearest to this one, as a ratio, the reference.
    pub fn refer_to(&mut self, floor_round_trip_ns: f64) {
        // Those that are apart come last, so an index among the others is one of the list.
        let seen = self.all.iter().filter(|distance| !distance.apart);
        let nearest = nearest(seen.map(|at| at.floor_round_trip_ns), floor_round_trip_ns);
        self.reference = nearest.map(|at| at as u32).or(self.reference);
    }

    /// Checks that its figures are valid and that the reference is one of its distances.
    pub(crate) fn check(&self) -> Result<(), String> {
        for distance in &self.all {
            check_figures(&[
                ("distances.floor_round_trip_ns", distance.floor_round_trip_ns),
                ("distances.share", distance.share),
            ])?;
        }
        check_figures(&[("distances.mixed_share", self.mixed_share)])?;
        match self.reference {
            Some(at) if at as usize >= self.all.len() => {
                Err(format!("distances.reference is {at}, but there are {}", self.all.len()))
            }
            _ => Ok(()),
        }
    }
}

impl RoundRecord {
    /// Checks that its blocks and conditions are valid.
    pub(crate) fn check(&self) -> Result<(), String> {
        let share = ("reference_woken_share", self.reference_woken_share.unwrap_or(0.0));
        let checked = self.conditions.check().and_then(|()| check_figures(&[share]));
        let checked = checked.and_then(|()| self.blocks.check());
        checked.map_err(|cause| format!("round {}: {cause}", self.number))
    }
}

impl AtDistance {
    pub(super) fn check(&self) -> Result<(), String> {
        check_figures(&[
            ("by_distance.location_ns", self.location_ns.unwrap_or(0.0)),
            ("by_distance.floor_multiple", self.floor_multiple.unwrap_or(0.0)),
            ("by_distance.reference_multiple", self.reference_multiple.unwrap_or(0.0)),
        ])?;
        self.times_ns.check("by_distance.times_ns")
    }
}
