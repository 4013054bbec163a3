//! What the workers report of a case: data only, measured in [`crate::worker`] and judged in
//! [`crate::command`].

use std::collections::BTreeMap;

use ipcmark_machine::conditions::WatchedProcess;
use ipcmark_results::{ChannelRecord, ContextSwitches, PageFaults};
use serde::{Deserialize, Serialize};

use super::{
    blocks::{Block, SampleGroup},
    text::PlainText,
};

/// What the leader measured of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LeaderReport {
    /// Every block, in the order of time.
    pub blocks: Vec<Block>,
    /// Every sample of the sampled blocks.
    pub samples: Vec<SampleGroup>,
    /// Messages of its turns.
    pub traffic: Traffic,
    /// Costs of its process in its turns.
    pub costs: Costs,
    /// Of that, its own thread.
    pub thread: ThreadCosts,
    /// Parts that a message was published in, where the transport knows.
    pub parts_per_message: Option<f64>,
    /// Where its messages lay, where somebody looked.
    pub working_set: Option<WorkingSetReport>,
    /// Processes that a library has beside its ends.
    pub helpers: Vec<HelperCosts>,
    /// Round trips that were given up.
    pub lost: u64,
    /// Answers that came after that.
    pub late: u64,
    pub lost_wait_ns: u64,
    /// What it measured of each follower, in the order of their numbers; nothing where there is only one.
    pub answers: Vec<AnswerReport>,
    /// What became of the messages of an open loop.
    pub offered: Option<OfferedReport>,
    /// What only messages one way have.
    pub one_way: Option<OneWayReport>,
    /// What only a stream has.
    pub stream: Option<StreamReport>,
}

/// The buffers in which the leader's messages lay before the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkingSetReport {
    /// Different ones that were written into.
    pub written: u64,
    /// Different ones that were read from.
    pub read: u64,
    /// Whether there were no more.
    pub is_complete: bool,
}

/// The parts of messages one way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OneWayReport {
    /// What the calls to publish took, encoded as in the result file.
    pub send: String,
    /// How far the follower's clock is ahead of the leader's, at least and at most; nothing where nobody could compare them.
    pub clock_offset_ns: Option<[i64; 2]>,
}

/// The messages of a stream, all blocks together and nothing else.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StreamReport {
    pub sent: u64,
    pub received: u64,
    /// Of each of several publishers, its messages that had arrived when the first of them was through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<u64>,
    /// Messages that were on their way whenever a batch began to arrive, encoded as in the result file; nothing where the
    /// clocks of the ends do not agree.
    pub depth: Option<String>,
}

/// What became of the messages of an open loop. Histograms are encoded as in the result file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OfferedReport {
    pub sent: u64,
    /// Not sent, although their time came.
    pub unsent: u64,
    /// Those of both that could not be sent at their time.
    pub late: u64,
    /// Length of the schedule.
    pub elapsed_ns: u64,
    /// From the send to the last answer.
    pub service: String,
    /// From the intended time to the send.
    pub delay: String,
    /// How long those that were not sent waited until the end.
    pub waited: String,
}

/// What the leader measured of one of several followers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct AnswerReport {
    /// Times from the publication to this follower's answer, encoded as in the result file.
    pub histogram: String,
    /// Answers that never came.
    pub lost: u64,
}

/// What a follower reports of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FollowerReport {
    /// Messages of its turns.
    pub traffic: Traffic,
    /// Costs of its process in its turns; nothing where that is the leader's process, whose costs stand once.
    pub costs: Option<Costs>,
    /// Its own thread.
    pub thread: ThreadCosts,
}

/// Messages of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub sent: u64,
    pub received: u64,
}

/// An end that has been opened.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// How long it took.
    pub setup_ns: u64,
    /// What it set of its library.
    pub configuration: BTreeMap<PlainText, PlainText>,
    /// The kernel's name for its process.
    pub process: PlainText,
}

/// What a reading of the clock costs the leader, and how fine it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ClockReport {
    pub read_ns: f64,
    pub step_ns: u64,
}

/// Costs of one process, all its threads, since it began or over a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Costs {
    pub cpu_ns: u64,
    /// The part of it outside the kernel, as the kernel divides it.
    pub user_ns: u64,
    /// The part of it within the kernel.
    pub system_ns: u64,
    pub switches: ContextSwitches,
    pub faults: PageFaults,
    /// The most resident memory the process has had since its end was opened.
    pub peak_memory_bytes: u64,
    /// What the loopback interface has received.
    pub loopback_bytes: u64,
    /// Length of its turns.
    pub turns_ns: u64,
    /// Time between its turns, in which it has nothing to do.
    pub idle_ns: u64,
    /// CPU time that it used in that time.
    pub idle_cpu_ns: u64,
    /// Its system calls, by their numbers; none where nobody counts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallCosts>,
}

/// How often a process made a system call.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CallCosts {
    pub number: u32,
    pub made: u64,
    pub failed: u64,
    pub bytes: u64,
}

/// Costs of a thread in its turns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ThreadCosts {
    pub cpu_ns: u64,
    /// Time in which it was ready and waited for a processor.
    pub run_delay_ns: u64,
    /// How often it went to sleep.
    pub sleeps: u64,
}

/// A process beside the workers, in the leader's turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HelperCosts {
    pub name: PlainText,
    pub cpu_ns: u64,
}

impl From<WatchedProcess> for HelperCosts {
    fn from(process: WatchedProcess) -> Self {
        Self { name: process.name.into(), cpu_ns: process.cpu_ns }
    }
}

/// What a process holds while its end is open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holdings {
    /// Its threads.
    pub threads: u32,
    /// The queues of the kernel that were opened for the end.
    pub channels: Vec<ChannelRecord>,
}

/// A piece of memory that a process shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// Device and inode: the same in every process that maps it.
    pub id: PlainText,
    pub bytes: u64,
    pub name: PlainText,
}
