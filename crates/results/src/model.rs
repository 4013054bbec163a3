//! The result file: what a run measured, as it is written and read. A unit stands in every name.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The word that opens every result file of this form.
pub const SCHEMA: &str = "ipcmark/1";

/// One run: the whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The form of this file.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Whether every case of the plan has been measured or found impossible; false in the file of
    /// a run that was interrupted or is still under way.
    pub complete: bool,
    /// How many cases the plan has.
    pub planned_cases: u64,
    /// What was run.
    pub run: Run,
    /// Where it ran.
    pub environment: Environment,
    /// The least that a hop costs on the cores that were used; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// The clock that timed it.
    pub clock: Clock,
    /// What a reader must know before believing a figure: warnings, in whole sentences.
    pub notes: Vec<String>,
    /// One entry a case, in the order in which they ran.
    pub cases: Vec<Case>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Unique to the run.
    pub id: String,
    /// Start in UTC, RFC 3339.
    pub started_at: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The version of ipcmark.
    pub version: String,
    /// The number that the order of the sessions and the checked payloads were made from.
    pub seed: u64,
}

/// The machine and how it was set up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The processor's name.
    pub cpu_model: String,
    /// Processors that this run may use.
    pub cpus_usable: u32,
    /// Physical cores among them.
    pub cores_usable: u32,
    /// Kernel name, release and version.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// The hypervisor, or `none` on bare metal.
    pub hypervisor: String,
    /// Frequency governor of the leader's processor, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// `namespaces`, or `off` with the reason.
    pub sandbox: String,
    /// Where the processes were put, in words: `leader on cpu 0, follower on cpu 1, two cores …`.
    pub placement: String,
}

/// The least that a hop costs: two bare processes passing one cache line to and fro.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Median over the run of what was measured right before each case.
    #[schemars(range(min = 0))]
    pub round_trip_ns: f64,
    /// The lowest of them.
    #[schemars(range(min = 0))]
    pub lowest_ns: f64,
    /// The highest of them: far above the lowest where a hypervisor moves processors about.
    #[schemars(range(min = 0))]
    pub highest_ns: f64,
}

/// The clock that timed the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// Cost of one reading.
    #[schemars(range(min = 0))]
    pub read_ns: f64,
    /// The smallest step between two readings that differ: no sample is finer.
    pub step_ns: u64,
    /// The kernel's clock source: `tsc`, `kvm-clock`, …
    pub source: String,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured.
    Ok,
    /// Tried, and something went wrong: see the reason.
    Failed,
    /// The transport cannot run on this machine: see the reason.
    Unavailable,
    /// The transport does not have what was asked for: see the reason.
    Unsupported,
}

impl Status {
    /// The word for it in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Unavailable => "unavailable",
            Status::Unsupported => "unsupported",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One case: one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Name of the transport.
    pub transport: String,
    /// Family of the transport.
    pub family: String,
    /// Version of its library; absent for what the kernel offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    /// `latency`, `one-way`, `throughput` or `fan-out`: the shape of the traffic.
    #[schemars(extend("enum" = ["latency", "one-way", "throughput", "fan-out"]))]
    pub pattern: String,
    /// Bytes of one message, head included.
    pub payload_bytes: u64,
    /// `spin`, `block` or `hybrid`: how a receiver waits.
    #[schemars(extend("enum" = ["spin", "block", "hybrid"]))]
    pub wait: String,
    /// `head` or `all`: which bytes of a payload are written and read within the timed part.
    #[schemars(extend("enum" = ["head", "all"]))]
    pub touch: String,
    /// How far a message travels: `process`, `thread` or `none`.
    #[schemars(extend("enum" = ["process", "thread", "none"]))]
    pub span: String,
    /// Number of followers.
    #[schemars(range(min = 1))]
    pub subscribers: u32,
    /// How many of them only listen, and answer nothing in the timed part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub silent_subscribers: u32,
    /// Number of the repetition, from 1.
    #[schemars(range(min = 1))]
    pub trial: u32,
    /// Settings of the transport that are not its defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// How it ended.
    pub status: Status,
    /// Why it is not `ok`, in a sentence; present exactly where the status is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was measured; present exactly where the status is `ok`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What was measured of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Round trips in the sampled pass, all of them in the histogram.
    pub round_trips: u64,
    /// Statistics of the round trips.
    pub round_trip_ns: RoundTrip,
    /// The floor right before the case, between the same two processes.
    #[schemars(range(min = 0))]
    pub floor_round_trip_ns: f64,
    /// Messages a second in the sampled pass, both directions counted.
    #[schemars(range(min = 0))]
    pub messages_per_second: f64,
    /// Payload bytes a second in the sampled pass, both directions counted.
    #[schemars(range(min = 0))]
    pub bytes_per_second: f64,
    /// Round trips that never ended: a message or its answer was lost.
    pub lost: u64,
    /// Time spent waiting for what was lost; no part of the round trips.
    pub lost_wait_ns: u64,
    /// What the leader measured of each of several followers, in the order of their numbers; absent
    /// where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_subscriber: Vec<Subscriber>,
    /// CPU time of each side's processes over the sampled pass, divided by the messages of that
    /// pass: those published times the followers, and every answer. A message's whole price is the
    /// sum.
    pub cpu_ns_per_message: CpuPerMessage,
    /// Context switches of each side over the sampled pass.
    pub context_switches: Switches,
    /// The most memory that each side's process has held by the end of the sampled pass.
    pub peak_memory_bytes: PeakMemory,
    /// What carried the messages.
    #[serde(default)]
    pub path: Path,
    /// Time to open both ends.
    pub setup_ns: u64,
    /// What the transport set of its library, in the library's own words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, String>,
    /// Where the processes ran.
    pub placement: Placement,
    /// Every sample of the sampled pass in ns: HdrHistogram V2 compressed, base64, 3 significant
    /// digits.
    pub histogram: String,
}

/// What carried the messages of a case, found from the running processes after the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Path {
    /// `shared-memory`: both processes map memory that a message fits into, and the loopback
    /// interface did not carry the payloads. `network`: it did. `kernel`: neither. `process`: no
    /// message left its process. Empty in files of versions that did not look.
    pub carrier: String,
    /// What the transport says it is, where it says so; another carrier means that it fell back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// Bytes that the loopback interface received in the sampled pass, a message. Without a sandbox
    /// others' traffic is in it.
    #[schemars(range(min = 0))]
    pub loopback_bytes_per_message: f64,
    /// Bytes of memory that all processes of the case map.
    pub shared_bytes: u64,
    /// Names of that memory, where it has any.
    pub objects: Vec<String>,
}

impl Path {
    /// Whether something else carried the messages than the transport says.
    pub fn fell_back(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| *declared != self.carrier)
    }
}

/// One of several followers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscriber {
    /// Answers in the sampled pass, all of them in the histogram.
    pub answers: u64,
    /// Statistics of the times from the leader's publication to this follower's answer.
    pub answer_ns: AnswerTimes,
    /// Answers that never came.
    pub lost: u64,
    /// CPU time of its process over the sampled pass, divided by the messages it took and sent.
    #[schemars(range(min = 0))]
    pub cpu_ns_per_message: f64,
    /// Every sample in ns: HdrHistogram V2 compressed, base64, 3 significant digits.
    pub histogram: String,
}

/// Statistics of the times to one follower's answers, as true as those of round trips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerTimes {
    /// Mean.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// Shortest.
    pub min: u64,
    /// Half of all answers took at most this long.
    pub p50: u64,
    /// 90 of 100.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1,000.
    pub p99_9: u64,
    /// 9,999 of 10,000.
    pub p99_99: u64,
    /// Longest.
    pub max: u64,
}

/// Statistics of round trips, true to one part in a thousand (the histogram's 3 significant
/// digits). A percentile is the upper end of the histogram's step that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrip {
    /// Mean of the sampled pass.
    #[schemars(range(min = 0))]
    pub mean: f64,
    /// Standard deviation of the sampled pass.
    #[schemars(range(min = 0))]
    pub stdev: f64,
    /// Shortest.
    pub min: u64,
    /// Half of all round trips took at most this long.
    pub p50: u64,
    /// 90 of 100.
    pub p90: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1,000.
    pub p99_9: u64,
    /// 9,999 of 10,000.
    pub p99_99: u64,
    /// Longest.
    pub max: u64,
    /// Mean of the bulk pass, in which the clock is read twice for all messages together.
    #[schemars(range(min = 0))]
    pub bulk_mean: f64,
}

/// CPU time a message, each side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPerMessage {
    /// Of the leader.
    #[schemars(range(min = 0))]
    pub leader: f64,
    /// Of the followers together.
    #[schemars(range(min = 0))]
    pub follower: f64,
}

/// Peak memory, each side: resident bytes, shared memory that was touched included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakMemory {
    /// Of the leader.
    pub leader: u64,
    /// Of the follower that held the most.
    pub follower: u64,
}

/// Context switches, each side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// Of the leader.
    pub leader: SwitchCount,
    /// Of the followers together.
    pub follower: SwitchCount,
}

/// Context switches of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchCount {
    /// It went to sleep.
    pub voluntary: u64,
    /// It was put aside.
    pub involuntary: u64,
}

/// Where the processes of a case ran: null and an empty list where they were not pinned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Processor of the leader.
    pub leader_cpu: Option<u32>,
    /// Processors of the followers, in their order.
    pub follower_cpus: Vec<u32>,
}
