//! A trial: one repetition of a case, in fresh processes.

use ipcmark_transport::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    blocks::Blocks,
    distances::AtDistance,
    load::Offered,
    one_way::OneWayParts,
    session::{EndRecord, SessionRecord},
    stream::StreamParts,
    times::Times,
};
use crate::figure::check_figures;

/// One trial. An *event* is the unit that the measurement counts: a round trip, a message one way, a message of a
/// stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Number of the trial, from 1.
    #[schemars(range(min = 1))]
    pub number: u32,
    /// Times of the events of the sampled blocks: of a round trip, up to the last answer; of a message one way; in a
    /// stream, the time per message of a batch. An event that was given up counts with the time it was waited for. In
    /// an open loop the time starts at the message's intended time: the response time.
    pub times_ns: Times,
    /// Mean of all clock-free blocks together: their events have no clock reading between them. If there are none,
    /// because the clock is read anyway or each message is waited for, the mean of all blocks. Of messages one way in a
    /// closed loop, less one clock reading each.
    #[schemars(range(min = 0))]
    pub clock_free_mean_ns: f64,
    /// The total length of the sampled blocks; for a stream, of their counted parts; for an open loop, of its schedule.
    pub elapsed_ns: u64,
    /// Time spent waiting for lost events.
    pub lost_wait_ns: u64,
    /// The messages of an open loop that were offered and sent; absent if the next one waits for the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offered>,
    /// The answers of each of several followers, in the order of their numbers; empty if there is one follower.
    pub answers: Vec<Answers>,
    /// Times from the leader's publication to the first answer of several followers, of the publications that had one.
    /// Absent if there is one follower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_answer_ns: Option<Times>,
    /// Fields of messages one way only; absent for all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way: Option<OneWayParts>,
    /// Fields of a stream only; absent for all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamParts>,
    /// Number of the round in which it took its turns: trials of one round are neighbours in time.
    pub round: u32,
    /// The clock-free mean of a turn divided by that of the reference in its neighbouring turn: median over all turns.
    /// Absent if no reference took turns with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub reference_multiple: Option<f64>,
    /// The blocks, each measured between two probes.
    pub blocks: Blocks,
    /// The measurements at each distance of the run, the nearest first; empty if nothing was probed.
    pub by_distance: Vec<AtDistance>,
    /// The facts that a trial of every pattern has.
    pub session: SessionRecord,
}

/// The answers of one of several followers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    /// Number of the follower, from 0.
    pub follower: u32,
    /// Times from the leader's publication to this follower's answer.
    pub answer_ns: Times,
    /// Answers that did not come in time.
    pub lost: u64,
}

impl Trial {
    /// The time in its blocks. In an open loop the times of messages overlap, and its blocks are its whole schedule.
    pub(super) fn blocks_ns(&self) -> u64 {
        self.offered.as_ref().map_or_else(|| self.blocks.all_ns(), |offered| offered.elapsed_ns)
    }

    /// CPU time of all processes per message.
    pub fn cpu_ns_per_message(&self) -> f64 {
        self.cpu_ns() / self.session.messages.max(1) as f64
    }

    /// CPU time of all processes.
    fn cpu_ns(&self) -> f64 {
        self.session.processes.iter().map(|process| process.cpu_ns as f64).sum()
    }

    /// The mean number of processors that all its processes together used in its turns; none if that time is unknown.
    pub fn cores(&self) -> Option<f64> {
        let turns_ns = self.session.turns_ns;
        (turns_ns > 0).then(|| self.cpu_ns() / turns_ns as f64)
    }

    /// The mean number of processors that all its processes together used at the rate of its blocks: the CPU time of a
    /// message, times messages a second. The turns also contain probes and waits for lost confirmations, in which ends
    /// that sleep cost nothing.
    pub(crate) fn cores_at_its_rate(&self) -> Option<f64> {
        let (events, elapsed_ns) = (self.blocks.events.iter(), self.blocks.all_ns());
        let events = events.copied().fold(0, u64::saturating_add) as f64;
        (elapsed_ns > 0).then(|| self.cpu_ns_per_message() * events / elapsed_ns as f64)
    }

    /// Context switches of the processes that serve the ends per message.
    pub fn switches_per_message(&self) -> f64 {
        let switches = self.session.processes.iter().map(|process| &process.context_switches);
        let sum: f64 = switches.map(|all| all.voluntary as f64 + all.involuntary as f64).sum();
        sum / self.session.messages.max(1) as f64
    }

    /// The number of times that each measuring thread went to sleep; other threads of its process do not count.
    pub(crate) fn sleeps(&self) -> impl Iterator<Item = u64> {
        let ends = self.session.processes.iter().flat_map(|process| &process.ends);
        ends.map(|end| end.thread.sleeps)
    }

    /// The ends of its followers.
    pub(crate) fn followers(&self) -> impl Iterator<Item = &EndRecord> {
        let ends = self.session.processes.iter().flat_map(|process| &process.ends);
        ends.filter(|end| matches!(end.role, Role::Follower(_)))
    }

    /// Its measurements at one of the run's distances; none if there are none.
    pub fn at(&self, distance: Option<u32>) -> Option<&AtDistance> {
        self.by_distance.iter().find(|at| Some(at.distance) == distance)
    }
}

impl Trial {
    pub(super) fn check(&self) -> Result<(), String> {
        self.session.check()?;
        self.times_ns.check("times_ns")?;
        self.offered.as_ref().map_or(Ok(()), Offered::check)?;
        self.one_way.as_ref().map_or(Ok(()), OneWayParts::check)?;
        self.stream.as_ref().map_or(Ok(()), StreamParts::check)?;
        self.first_answer_ns.as_ref().map_or(Ok(()), |first| first.check("first_answer_ns"))?;
        self.answers.iter().try_for_each(|answers| answers.answer_ns.check("answer_ns"))?;
        check_figures(&[
            ("clock_free_mean_ns", self.clock_free_mean_ns),
            ("reference_multiple", self.reference_multiple.unwrap_or(0.0)),
        ])?;
        self.by_distance.iter().try_for_each(AtDistance::check)?;
        self.blocks.check()
    }
}
