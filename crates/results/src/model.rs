//! The result of a run, as it is written and read. Every name of a quantity contains its unit.

mod blocks;
mod case;
mod counted;
mod distances;
mod facts;
mod hiccups;
mod holdings;
mod load;
mod measurement;
mod one_way;
mod run_time;
mod session;
mod stream;
mod times;
mod trial;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use blocks::{Blocks, is_awake};
pub use case::{Between, Case, Identity, Outcome, PlacementPolicy, RankPlace, Status, Touch};
pub use counted::{CountKind, Counted, CountedPass, CountedProcess};
pub use distances::{
    AtDistance, Conditions, ReferenceKind, RoundRecord, RunDistance, RunDistances,
};
pub use facts::{FactEffect, MachineFact};
pub use hiccups::{Gaps, Hiccups};
pub use holdings::{ChannelKind, ChannelRecord};
pub use load::{Arrivals, Load, Offered};
pub use measurement::{Measurement, Trials};
pub use one_way::{ClockOffset, OneWayParts};
pub use run_time::RunTime;
pub use session::{
    CallRecord, CarrierEvidence, ContextSwitches, EndRecord, Losses, PageFaults, PairRecord,
    ProcessRecord, ProcessorRecord, SessionRecord, ThreadRecord, WorkingSet,
};
pub use stream::{QueueDepth, StreamParts};
pub use times::Times;
pub use trial::{Answers, Trial};

/// The word that opens every result file of this form.
pub const SCHEMA: &str = "ipcmark/2";

/// One run: the whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The form of this file.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// True if every trial of every case of the plan was run; false in the file of a run that was
    /// interrupted or is still under way.
    pub complete: bool,
    /// Number of cases in the plan.
    pub planned_cases: u64,
    /// The command and its start.
    pub run: Run,
    /// The duration of the run; of several joined runs, the sum. Absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<RunTime>,
    /// The machine.
    pub environment: Environment,
    /// The clock that timed it.
    pub clock: Clock,
    /// The distances between the processors of leader and follower; absent where they could not be probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<RunDistances>,
    /// The rounds, in the order in which they ran.
    pub rounds: Vec<RoundRecord>,
    /// Warnings to read before any figure, in whole sentences.
    pub notes: Vec<String>,
    /// One entry a case, in the order in which their first trials ran.
    pub cases: Vec<Case>,
}

impl RunResult {
    /// Adds the outcome of one trial to its case, which is new if the identity is.
    pub fn record(&mut self, identity: Identity, outcome: Outcome) {
        match self.cases.iter_mut().find(|case| case.identity == identity) {
            Some(case) => case.add(outcome),
            None => self.cases.push(Case { identity, outcome }),
        }
    }

    /// The distance at which its rows are compared, as an index of its distances; none if there are none.
    pub fn reference_distance(&self) -> Option<u32> {
        self.distances.as_ref()?.reference
    }

    /// The time in the blocks of all its rows and references.
    pub fn blocks_ns(&self) -> u64 {
        let trials = self.cases.iter().flat_map(|case| case.trials()).map(Trial::blocks_ns);
        let references = self.rounds.iter().map(|round| round.blocks.all_ns());
        trials.chain(references).fold(0, u64::saturating_add)
    }

    /// The hiccups of each processor in all rounds.
    pub fn hiccups(&self) -> Vec<Hiccups> {
        hiccups::joined(self.rounds.iter().flat_map(|round| &round.hiccups))
    }

    /// The case with this identity.
    pub fn case(&self, identity: &Identity) -> Option<&Case> {
        self.cases.iter().find(|case| case.identity == *identity)
    }
}

/// The command and its start.
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
    /// The seed of the order of the sessions and of the checked payloads.
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
    /// Frequency governor of the leader's processor, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// `namespaces`, or `off` with the reason.
    pub sandbox: String,
    /// The processors of the processes, as text: `leader on cpu 0, follower on cpu 1, two cores …`.
    pub placement: String,
    /// The facts that `ipcmark doctor` shows, of the processors of this run, before its first trial.
    pub facts: Vec<MachineFact>,
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
