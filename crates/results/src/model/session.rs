//! The facts that a trial of every pattern has: its processes and their costs, losses, the carrier of its messages, and
//! the conditions during the trial.

use std::collections::BTreeMap;

use ipcmark_transport::{Carrier, Role};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::holdings::ChannelRecord;
use crate::figure::check_figures;

/// The session that served one trial of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// Time to open all ends.
    pub setup_ns: u64,
    /// The first round trip after that, from the send to the last answer; a lost one counts with the time waited for it.
    /// With `setup_ns` it is the time from the start to the first answer. Absent if none ended, and in files of versions
    /// that did not time it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round_trip_ns: Option<u64>,
    /// The settings that the transport made in its library, in the library's own terms.
    pub configuration: BTreeMap<String, String>,
    /// The total length of the leader's turns: the time to which the costs of its processes refer. Without probes,
    /// except in an open loop and with pauses, which go on meanwhile.
    pub turns_ns: u64,
    /// The number of messages by which costs are divided: those of the measured pass, without lost round trips; for a
    /// stream, those received.
    pub messages: u64,
    /// The mean number of parts in which the leader's messages were published: if more than one, the carrier holds less
    /// than a message. Absent if the transport does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub parts_per_message: Option<f64>,
    /// The memory of the leader's messages. Absent for a transport that was not inspected, and after the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
    /// The messages sent, received and lost.
    pub losses: Losses,
    /// The carrier of the messages.
    pub carrier: CarrierEvidence,
    /// The processes that took part: the leader's first, then the followers' in the order of their numbers, then those
    /// of a library, such as its daemon, which have no ends.
    pub processes: Vec<ProcessRecord>,
    /// CPU time that its processes used while they waited for their turns, as a share of that time: a library that
    /// keeps threads awake causes it.
    #[schemars(range(min = 0))]
    pub idle_share: f64,
    /// The other pairs, which ran the same traffic beside this one; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_pairs: Vec<PairRecord>,
}

/// A pair that ran beside the measured one, over its own turns, which begin a little before those of the measured pair
/// and end a little after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairRecord {
    /// Number of the pair, from 2: the measured one is 1.
    #[schemars(range(min = 2))]
    pub number: u32,
    /// The total length of its turns, as that of the session.
    pub turns_ns: u64,
    /// Its messages, counted as those of the session.
    pub messages: u64,
    /// Its messages sent, received and lost.
    pub losses: Losses,
    /// Its processes, as those of the session.
    pub processes: Vec<ProcessRecord>,
}

/// The buffers that the leader wrote its messages into and read its answers from, found before the first turn: with
/// consecutive messages of a stream, else with round trips. Copies in the kernel or in a library are not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// Different buffers that were written into, reused in turn.
    pub written_buffers: u64,
    /// Different buffers that were read from; 0 for a stream, which has no answers.
    pub read_buffers: u64,
    /// Bytes of the messages in all of them.
    pub bytes: u64,
    /// False if the last messages that were inspected still used new buffers: there are more.
    pub is_complete: bool,
}

/// The round trips or messages (depending on the pattern) that were sent in the measured pass, received and lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Losses {
    /// Begun.
    pub sent: u64,
    /// Ended in time.
    pub received: u64,
    /// Given up.
    pub lost: u64,
    /// Answers that came after they had been given up; they count as lost too.
    pub late: u64,
    /// Messages that came twice. A round trip fails its case at the first.
    pub duplicated: u64,
    /// Messages that came before one that was sent earlier. A round trip fails its case at the first.
    pub reordered: u64,
}

/// The carrier of the messages, determined from the running processes after the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarrierEvidence {
    /// `shared-memory`: all processes map memory that a message fits into, and the loopback
    /// interface did not carry the payloads. `network`: it did. `kernel`: neither. `process`: no
    /// message left its process.
    #[schemars(with = "String", extend("enum" = Carrier::ALL))]
    pub found: Carrier,
    /// The carrier that the transport declares, if it declares one; if it differs, the transport fell back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub declared: Option<Carrier>,
    /// Bytes per message that the loopback interface received in the measured pass. Without a sandbox they include
    /// other programs' traffic.
    #[schemars(range(min = 0))]
    pub loopback_bytes_per_message: f64,
    /// Bytes of memory that all processes of the case map.
    pub shared_bytes: u64,
    /// Names of that memory, if it has any.
    pub objects: Vec<String>,
}

/// One process of a session and its costs over the measured pass, all its threads together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRecord {
    /// The kernel's name for the process.
    pub name: String,
    /// The ends that it served: one, or all of them if they are threads of one process.
    pub ends: Vec<EndRecord>,
    /// CPU time.
    pub cpu_ns: u64,
    /// The share of it of threads other than those of its ends, while these exchanged messages; absent in files of
    /// versions that did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_threads_ns: Option<u64>,
    /// The share of it outside the kernel, as the kernel divides it: by ticks if it has no finer count.
    pub user_ns: u64,
    /// The share of it within the kernel.
    pub system_ns: u64,
    /// Its context switches.
    pub context_switches: ContextSwitches,
    /// Its page faults.
    pub page_faults: PageFaults,
    /// The maximum resident memory since its end was opened, including touched shared memory; 0 if it was not measured.
    pub peak_memory_bytes: u64,
    /// Its threads while the ends were open, including the measuring ones; absent if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The kernel queues that were opened for its ends, without those that only listen; empty if there are none, or
    /// they were not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelRecord>,
    /// Its system calls by name; absent if they were not counted. Only passes whose times are not used count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallRecord>>,
    /// Its instructions and cycles, by the processor's counters; absent where they were not counted all of the time. Only
    /// passes for that count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorRecord>,
}

/// Instructions and cycles of a process over the measured pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorRecord {
    /// Instructions that were retired.
    pub instructions: u64,
    /// Cycles of the processors that ran them.
    pub cycles: u64,
    /// True if those within the kernel are among both; false where the system counted only the process's own.
    pub with_kernel: bool,
}

/// The number of times that a process made a system call over the measured pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Its name.
    pub name: String,
    /// The number of calls.
    pub made: u64,
    /// Calls that failed: for a call that does not sleep, those that found nothing.
    pub failed: u64,
    /// Bytes that the successful calls carried.
    pub bytes: u64,
}

/// One end of a transport, over the measured pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndRecord {
    /// `leader`, or `follower` with its number from 0.
    #[schemars(schema_with = "role")]
    pub role: Role,
    /// The processor to which its thread was pinned; absent if it was not pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Messages that it published.
    pub sent: u64,
    /// Messages that it took.
    pub received: u64,
    /// The thread that published and took them, over its turns.
    pub thread: ThreadRecord,
}

/// A measuring thread over its turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadRecord {
    /// Time in which it ran, probes included.
    pub cpu_ns: u64,
    /// Time in which it was ready to run and waited for a processor, as the kernel counts it; 0 if the kernel does not.
    pub run_delay_ns: u64,
    /// The number of times that it went to sleep, without pauses.
    pub sleeps: u64,
    /// The number of times that it slept until its next message was due, of a load that pauses. They are not among the
    /// context switches of its process either, and their CPU time is not among its costs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pauses: u64,
    /// The number of times that its processor went idle: less if what it slept for came at once, more if it paused.
    /// Absent if the kernel does not count, or if it was not pinned to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idles: Option<u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Context switches of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSwitches {
    /// The process went to sleep.
    pub voluntary: u64,
    /// Another process got the processor.
    pub involuntary: u64,
}

/// Page faults of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageFaults {
    /// Served from memory.
    pub minor: u64,
    /// Served from a disk.
    pub major: u64,
}

impl CarrierEvidence {
    /// True if another carrier than the declared one was found.
    pub fn fell_back(&self) -> bool {
        self.declared.is_some_and(|declared| declared != self.found)
    }
}

impl SessionRecord {
    /// The process that serves an end, and that end.
    pub fn end(&self, role: Role) -> Option<(&ProcessRecord, &EndRecord)> {
        let ends =
            |process: &'_ ProcessRecord| process.ends.iter().position(|end| end.role == role);
        self.processes.iter().find_map(|process| Some((process, &process.ends[ends(process)?])))
    }

    /// The leader's process.
    pub fn leader(&self) -> Option<&ProcessRecord> {
        self.end(Role::Leader).map(|(process, _)| process)
    }

    /// The processes other than the leader's.
    pub fn others(&self) -> impl Iterator<Item = &ProcessRecord> {
        let leads = |process: &ProcessRecord| process.ends.iter().any(|end| end.role.is_leader());
        self.processes.iter().filter(move |process| !leads(process))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        check_figures(&[
            ("loopback_bytes_per_message", self.carrier.loopback_bytes_per_message),
            ("idle_share", self.idle_share),
            ("parts_per_message", self.parts_per_message.unwrap_or(0.0)),
        ])?;
        self.losses.check()?;
        let of_pair = |pair: &PairRecord| {
            pair.losses.check().map_err(|cause| format!("pair {}: {cause}", pair.number))
        };
        self.other_pairs.iter().try_for_each(of_pair)
    }
}

impl Losses {
    fn check(&self) -> Result<(), String> {
        let Losses { sent, received, lost, .. } = self;
        match received.checked_add(*lost) == Some(*sent) {
            true => Ok(()),
            false => Err(format!("{sent} were sent, but {received} received and {lost} lost")),
        }
    }
}

pub(super) fn role(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [
        { "const": "leader" },
        {
            "type": "object",
            "properties": { "follower": { "type": "integer", "minimum": 0 } },
            "required": ["follower"],
            "additionalProperties": false,
        },
    ] })
}
