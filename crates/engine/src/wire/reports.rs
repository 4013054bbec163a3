//! What the workers report of a case: data only, measured in [`crate::worker`] and judged in
//! [`crate::command`].

use ipcmark_results::SwitchCount;
use serde::{Deserialize, Serialize};

/// What the leader measured of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LeaderReport {
    /// Every sample of the sampled pass, encoded as in the result file.
    pub histogram: String,
    /// Length of the sampled pass.
    pub elapsed_ns: u64,
    /// Mean of a round trip in the bulk pass.
    pub bulk_mean_ns: f64,
    pub costs: Costs,
    pub lost: u64,
    pub lost_wait_ns: u64,
    /// What the leader measured of each follower, in the order of their numbers; nothing where there
    /// is only one.
    pub followers: Vec<FollowerReport>,
}

/// What the leader measured of one of several followers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FollowerReport {
    /// Times from the publication to this follower's answer, encoded as in the result file.
    pub histogram: String,
    /// Answers that never came.
    pub lost: u64,
}

/// The least that a hop costs here, and what a reading of the clock costs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FloorReport {
    pub round_trip_ns: f64,
    pub clock_read_ns: f64,
    pub clock_step_ns: u64,
}

/// Costs of one process, all its threads, since it began or over a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Costs {
    pub cpu_ns: u64,
    pub switches: SwitchCount,
    /// The most resident memory the process has ever had.
    pub peak_memory_bytes: u64,
    /// What the loopback interface has received.
    pub loopback_bytes: u64,
}

/// A piece of memory that a process shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// Device and inode: the same in every process that maps it.
    pub id: String,
    pub bytes: u64,
    pub name: String,
}
