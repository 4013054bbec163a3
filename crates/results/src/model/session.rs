//! The facts that a trial of every pattern has: its processes and their costs, losses, the carrier of its
//! messages, the conditions of the moment.

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
    /// The settings that the transport made in its library, in the library's own words.
    pub configuration: BTreeMap<String, String>,
    /// Length of the leader's turns together: the time over which its processes cost what they did.
    pub turns_ns: u64,
    /// Messages of the measured pass, those of lost round trips left out, of a stream those received: what costs are divided by.
    pub messages: u64,
    /// Parts that the leader's messages were published in, on average: where there are more than one, what carries them
    /// holds less than a message. Absent where the transport does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub parts_per_message: Option<f64>,
    /// The memory that the leader's messages lay in. Absent of a transport that nobody looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<WorkingSet>,
    /// The messages sent, received and lost.
    pub losses: Losses,
    /// The carrier of the messages.
    pub carrier: CarrierEvidence,
    /// The processes that took part, the leader's first, then the followers' in the order of their
    /// numbers, then those that a library has beside them, such as its daemon, which have no ends.
    pub processes: Vec<ProcessRecord>,
    /// CPU time that its workers used while they waited for their turns, as a part of that time: of a library that keeps
    /// threads awake.
    #[schemars(range(min = 0))]
    pub idle_share: f64,
    /// The other pairs, which ran the same traffic beside this one; absent where it was alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_pairs: Vec<PairRecord>,
}

/// A pair that ran beside the one that is measured, over its own turns: these begin a little before those of the measured
/// pair, and end a little after them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairRecord {
    /// Number of the pair, from 2: the measured one is the first.
    #[schemars(range(min = 2))]
    pub number: u32,
    /// Length of its turns together.
    pub turns_ns: u64,
    /// Its messages, as those of the session.
    pub messages: u64,
    /// Those sent, received and lost.
    pub losses: Losses,
    /// Its processes, as those of the session.
    pub processes: Vec<ProcessRecord>,
}

/// The buffers that the leader wrote its messages into and read its answers from, found before the first turn: of a stream in
/// messages that follow one another, else in round trips. What the kernel or a library copies them into is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSet {
    /// Different buffers that were written into, used again one after the other.
    pub written_buffers: u64,
    /// Different buffers that were read from; 0 of a stream, which nobody answers.
    pub read_buffers: u64,
    /// Bytes of the messages in all of them.
    pub bytes: u64,
    /// False where the last messages that were looked at still lay in new ones: there are more.
    pub is_complete: bool,
}

/// The round trips, or messages, that were sent in the measured pass, received and lost; which of the two
/// follows from the pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Losses {
    /// Begun.
    pub sent: u64,
    /// Ended in time.
    pub received: u64,
    /// Given up.
    pub lost: u64,
    /// Answers that came after they had been given up: some of those lost.
    pub late: u64,
    /// Came twice. A round trip fails its case at the first.
    pub duplicated: u64,
    /// Came before one that was sent earlier. A round trip fails its case at the first.
    pub reordered: u64,
}

/// The carrier of the messages, found from the running processes after the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarrierEvidence {
    /// `shared-memory`: all processes map memory that a message fits into, and the loopback
    /// interface did not carry the payloads. `network`: it did. `kernel`: neither. `process`: no
    /// message left its process.
    #[schemars(with = "String", extend("enum" = Carrier::ALL))]
    pub found: Carrier,
    /// The carrier that the transport declares, where it declares one; another means that it fell back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub declared: Option<Carrier>,
    /// Bytes that the loopback interface received in the measured pass, a message. Without a sandbox
    /// others' traffic is in it.
    #[schemars(range(min = 0))]
    pub loopback_bytes_per_message: f64,
    /// Bytes of memory that all processes of the case map.
    pub shared_bytes: u64,
    /// Names of that memory, where it has any.
    pub objects: Vec<String>,
}

/// One process of a session, and what it cost over the measured pass, all its threads together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRecord {
    /// The kernel's name for it.
    pub name: String,
    /// The ends that it served: one, or all of them where they are threads of one process.
    pub ends: Vec<EndRecord>,
    /// CPU time.
    pub cpu_ns: u64,
    /// The part of it outside the kernel, as the kernel divides it: by its ticks where it counts no finer.
    pub user_ns: u64,
    /// The part of it within the kernel.
    pub system_ns: u64,
    /// Its context switches.
    pub context_switches: ContextSwitches,
    /// Its page faults.
    pub page_faults: PageFaults,
    /// The most resident memory that it has held since its end was opened, shared memory that was touched
    /// included; 0 where nobody looked.
    pub peak_memory_bytes: u64,
    /// Its threads while the ends were open, the measuring ones among them; absent where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// The queues of the kernel that were opened for its ends, those that only listen left out; empty where there are none,
    /// or nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelRecord>,
    /// Its system calls, each by its name; absent where they were not counted, as in all runs but those of
    /// `ipcmark explain`, whose times mean nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallRecord>>,
}

/// How often a process made a system call over the measured pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Its name.
    pub name: String,
    /// How often it was made.
    pub made: u64,
    /// How many of these failed: of a call that does not sleep, those that found nothing.
    pub failed: u64,
    /// Bytes that the others carried.
    pub bytes: u64,
}

/// One end of a transport, over the measured pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndRecord {
    /// `leader`, or `follower` with its number from 0.
    #[schemars(schema_with = "role")]
    pub role: Role,
    /// The processor to which its thread was pinned; absent where it was not.
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
    /// Time in which it was ready to run and waited for a processor, as the kernel counts it; 0 where it does not.
    pub run_delay_ns: u64,
    /// How often it went to sleep.
    pub sleeps: u64,
}

/// Context switches of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSwitches {
    /// It went to sleep.
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

fn role(_: &mut SchemaGenerator) -> Schema {
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
