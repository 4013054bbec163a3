//! The workers' reports of a case: data only, measured in [`crate::worker`] and evaluated in [`crate::command`].

use std::collections::BTreeMap;

use ipcmark_machine::conditions::WatchedProcess;
use ipcmark_results::{ChannelRecord, ClockOffset, ContextSwitches, PageFaults};
use serde::{Deserialize, Serialize};

use super::{
    blocks::{Block, SampleGroup},
    text::PlainText,
};

/// The leader's results of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LeaderReport {
    /// All blocks, in order of time.
    pub blocks: Vec<Block>,
    /// All samples of the sampled blocks.
    pub samples: Vec<SampleGroup>,
    /// Messages in its turns.
    pub traffic: Traffic,
    /// Costs of its process in its turns.
    pub costs: Costs,
    /// The share of its own thread.
    pub thread: ThreadCosts,
    /// The number of parts in which a message is published, if the transport knows.
    pub parts_per_message: Option<f64>,
    /// The buffers of its messages, if they were counted.
    pub working_set: Option<WorkingSetReport>,
    /// The time of the first round trip after its endpoint was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round_trip_ns: Option<u64>,
    /// Processes that a library runs besides its endpoints.
    pub helpers: Vec<HelperCosts>,
    /// Round trips that were given up.
    pub lost: u64,
    /// Answers that came after they were given up.
    pub late: u64,
    pub lost_wait_ns: u64,
    /// The results for each follower, in the order of their numbers; empty if there is only one.
    pub answers: Vec<AnswerReport>,
    /// Times from the publication to the first answer of several followers, encoded as in the result file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_answers: Option<String>,
    /// The message counts and times of an open loop.
    pub offered: Option<OfferedReport>,
    /// The results of one-way messages only.
    pub one_way: Option<OneWayReport>,
    /// The results of a stream only.
    pub stream: Option<StreamReport>,
}

/// The buffers that the leader's messages used before the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkingSetReport {
    /// The number of different buffers written into.
    pub written: u64,
    /// The number of different buffers read from.
    pub read: u64,
    /// True if there were no more.
    pub is_complete: bool,
}

/// The specific results of one-way messages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OneWayReport {
    /// Durations of the publish calls, encoded as in the result file.
    pub send: String,
    /// Round trips from the stamp of one message to that of the next, encoded likewise; none if the next one does not
    /// follow the answer at once.
    pub round_trips: Option<String>,
    /// How far the follower's clock is ahead of the leader's; none if they could not be compared.
    pub clock_offset: Option<ClockOffset>,
}

/// The messages of a stream, over all blocks and only those.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StreamReport {
    pub sent: u64,
    pub received: u64,
    /// For each of several publishers, its messages that had arrived when the first one finished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<u64>,
    /// The number of messages in transit whenever a batch began to arrive, encoded as in the result file; none if
    /// the endpoints do not share one clock.
    pub depth: Option<String>,
}

/// The results of an open loop's messages. Histograms are encoded as in the result file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OfferedReport {
    pub sent: u64,
    /// Sent messages that were lost.
    pub lost: u64,
    /// Messages that were due but not sent.
    pub unsent: u64,
    /// Sent and unsent messages that could not be sent on time.
    pub late: u64,
    /// The duration of the schedule.
    pub elapsed_ns: u64,
    /// Times from the send to the last answer.
    pub service: String,
    /// Times from the intended time to the send.
    pub delay: String,
    /// Times that unsent messages waited until the end.
    pub waited: String,
}

/// The leader's results for one of several followers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct AnswerReport {
    /// Times from the publication to this follower's answer, encoded as in the result file.
    pub histogram: String,
    /// Answers that never came.
    pub lost: u64,
}

/// A follower's results of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FollowerReport {
    /// Messages in its turns.
    pub traffic: Traffic,
    /// Costs of its process in its turns; none if that is the leader's process, whose costs are reported once.
    pub costs: Option<Costs>,
    /// The share of its own thread.
    pub thread: ThreadCosts,
}

/// The messages of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub sent: u64,
    pub received: u64,
}

/// An endpoint that has been opened.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// The time that opening took.
    pub setup_ns: u64,
    /// The configuration of its library.
    pub configuration: BTreeMap<PlainText, PlainText>,
    /// The kernel's name for its process.
    pub process: PlainText,
}

/// The cost of a clock reading for the leader, and the clock's resolution.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ClockReport {
    pub read_ns: f64,
    pub step_ns: u64,
}

/// Costs of one process with all its threads, since its start or over a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Costs {
    pub cpu_ns: u64,
    /// The share of threads other than the measuring one, while that was in its loop.
    pub other_threads_ns: u64,
    /// The share outside the kernel, as the kernel divides it.
    pub user_ns: u64,
    /// The share within the kernel.
    pub system_ns: u64,
    pub switches: ContextSwitches,
    pub faults: PageFaults,
    /// The peak resident memory of the process since its endpoint was opened.
    pub peak_memory_bytes: u64,
    /// Bytes that the loopback interface has received.
    pub loopback_bytes: u64,
    /// The duration of its turns, without probes if they have no schedule.
    pub turns_ns: u64,
    /// The time between its turns, in which it has nothing to do.
    pub idle_ns: u64,
    /// CPU time used between its turns.
    pub idle_cpu_ns: u64,
    /// Its system calls, by number; empty if they are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallCosts>,
    /// Its instructions and cycles; nothing where nobody counts them, or not all of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorCosts>,
}

/// Instructions and cycles of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessorCosts {
    pub instructions: u64,
    pub cycles: u64,
    /// True if those within the kernel are included.
    pub with_kernel: bool,
}

/// The counts of one system call in a process.
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
    /// The number of times that it slept, without pauses.
    pub sleeps: u64,
    /// The number of times that it slept until its next message was due.
    pub pauses: u64,
    /// The number of times that its processor went idle; none if the kernel does not count or it was not pinned.
    pub idles: Option<u64>,
}

/// A process besides the workers, in the leader's turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HelperCosts {
    pub name: PlainText,
    pub cpu_ns: u64,
    /// CPU time used between the turns.
    pub idle_cpu_ns: u64,
}

impl From<WatchedProcess> for HelperCosts {
    fn from(process: WatchedProcess) -> Self {
        let WatchedProcess { name, cpu_ns, idle_cpu_ns, .. } = process;
        Self { name: name.into(), cpu_ns, idle_cpu_ns }
    }
}

/// The resources of a process while its endpoint is open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Holdings {
    /// Its threads.
    pub threads: u32,
    /// The kernel's queues that were opened for the endpoint.
    pub channels: Vec<ChannelRecord>,
}

/// A region of memory that a process shares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Mapping {
    /// Device and inode: the same in every process that maps it.
    pub id: PlainText,
    pub bytes: u64,
    pub name: PlainText,
}
