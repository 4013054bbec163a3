//! Counts of passes in which nothing is timed: system calls, instructions and cycles.

use ipcmark_transport::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::session::{CallRecord, ProcessRecord, ProcessorRecord, SessionRecord, role};

/// The counts of a case, of passes of their own after its trials (`ipcmark run --count`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// The pass in which every system call was traced; absent if they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CountedPass>,
    /// The pass in which the processor counted instructions and cycles; absent if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<CountedPass>,
}

/// A pass in which something was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedPass {
    /// The number of messages by which counts are divided, as that of a session.
    pub messages: u64,
    /// The processes that serve ends: the leader's first. A library's daemon is not counted.
    pub processes: Vec<CountedProcess>,
}

/// The counts of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountedProcess {
    /// The kernel's name for the process.
    pub name: String,
    /// The ends that it served.
    #[schemars(schema_with = "roles")]
    pub ends: Vec<Role>,
    /// Its system calls by name; absent in a pass that counted none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<CallRecord>>,
    /// Its instructions and cycles; absent in a pass that counted none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorRecord>,
}

/// What a pass counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountKind {
    /// System calls.
    Calls,
    /// Instructions and cycles.
    Processor,
}

/// A call that was made this often at most belongs to the harness, around the one turn of the pass, unless every tenth
/// message made one.
const HARNESS_CALLS: u64 = 100;

impl CountedPass {
    /// System calls of all processes for one message that did something; none if they were not counted. Calls that
    /// found nothing are left out: a receiver that waits in a traced pass makes fewer of them.
    pub fn calls_per_message(&self) -> Option<f64> {
        let of = |process: &CountedProcess| {
            let calls = process.calls.as_ref()?.iter().filter(|calls| self.is_of_messages(calls));
            Some(calls.map(|calls| calls.made.saturating_sub(calls.failed) as f64).sum::<f64>())
        };
        self.sum_per_message(of)
    }

    /// Instructions of all processes for one message; none if they were not counted.
    pub fn instructions_per_message(&self) -> Option<f64> {
        self.sum_per_message(|process| Some(process.processor?.instructions as f64))
    }

    /// Cycles of all processes for one message; none if they were not counted.
    pub fn cycles_per_message(&self) -> Option<f64> {
        self.sum_per_message(|process| Some(process.processor?.cycles as f64))
    }

    fn is_of_messages(&self, calls: &CallRecord) -> bool {
        calls.made > HARNESS_CALLS.min(self.messages / 10)
    }

    /// None if a process was not counted: the sum of the others would be too small.
    fn sum_per_message(&self, of: impl Fn(&CountedProcess) -> Option<f64>) -> Option<f64> {
        let sum = self.processes.iter().map(of).sum::<Option<f64>>()?;
        (self.messages > 0).then(|| sum / self.messages as f64)
    }
}

impl Counted {
    pub(super) fn put(&mut self, kind: CountKind, pass: CountedPass) {
        match kind {
            CountKind::Calls => self.calls = Some(pass),
            CountKind::Processor => self.processor = Some(pass),
        }
    }
}

impl CountedPass {
    /// What the session of a pass counted; none if one of its processes with ends was not counted.
    pub(super) fn of(kind: CountKind, session: &SessionRecord) -> Option<Self> {
        let serve = session.processes.iter().filter(|process| !process.ends.is_empty());
        let of = |process: &ProcessRecord| {
            let (calls, processor) = match kind {
                CountKind::Calls => (Some(process.calls.clone()?), None),
                CountKind::Processor => (None, Some(process.processor?)),
            };
            let ends = process.ends.iter().map(|end| end.role).collect();
            Some(CountedProcess { name: process.name.clone(), ends, calls, processor })
        };
        Some(Self { messages: session.messages, processes: serve.map(of).collect::<Option<_>>()? })
    }
}

fn roles(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": role(generator) })
}
