//! A case: its identity and its outcome.

use std::{collections::BTreeMap, fmt};

use ipcmark_transport::{Pattern, Span, Wait};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, de::Error};
use serde_json::json;

use super::{load::Load, measurement::Measurement, trial::Trial};

/// One case: one row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = refuse_contradictions)]
pub struct Case {
    /// The properties that make it a row of its own.
    #[serde(flatten)]
    pub identity: Identity,
    /// Measured, or the reason why not.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The properties that make a case a row of its own: all its trials share them, and no two cases of a run have the
/// same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Name of the transport.
    pub transport: String,
    /// Family of the transport.
    pub family: String,
    /// Version of its library; absent for what the kernel offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_version: Option<String>,
    /// `latency`, `one-way`, `throughput` or `fan-out`: the shape of the traffic.
    #[schemars(with = "String", extend("enum" = Pattern::ALL))]
    pub pattern: Pattern,
    /// Bytes of one message, head included.
    pub payload_bytes: u64,
    /// `spin`, `block` or `hybrid`: how a receiver waits.
    #[schemars(with = "String", extend("enum" = Wait::ALL))]
    pub wait: Wait,
    /// The bytes of a payload that are written and read within the timed part.
    pub touch: Touch,
    /// The way messages are offered.
    pub load: Load,
    /// The reach of a message: `process`, `thread` or `none`.
    #[schemars(with = "String", extend("enum" = Span::ALL))]
    pub span: Span,
    /// Number of followers.
    #[schemars(range(min = 1))]
    pub subscribers: u32,
    /// Number of followers that only listen, and answer nothing in the timed part.
    pub silent_subscribers: u32,
    /// Number of leaders, with their followers, that run at once, each with its own instance of the transport: the
    /// figures are those of one pair. Absent if there is one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub pairs: u32,
    /// The two ranks of a job between which it was measured, if each two of them were measured. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// True if the leader sends to each follower through a separate end, because the transport supports two ends only:
    /// a publication is one send a follower, one after the other, each time in a different order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub n_sends: bool,
    /// Settings of the transport that are not its defaults.
    pub options: BTreeMap<String, String>,
    /// The choice of processors for the processes.
    pub placement: PlacementPolicy,
}

/// A pair of the ranks of a job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// The rank that led.
    pub leader: RankPlace,
    /// The rank that followed.
    pub follower: RankPlace,
}

/// A rank of a job, and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RankPlace {
    /// Its number, from 0.
    pub rank: u32,
    /// The name of its host.
    pub host: String,
}

/// The host and the rank, because a host can have several ranks: `node1/0`.
impl fmt::Display for RankPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.rank)
    }
}

fn one() -> u32 {
    1
}

fn is_one(pairs: &u32) -> bool {
    *pairs == 1
}

/// The bytes of a payload that are written before publish and read after take, in the timed part.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Touch {
    /// The 16 bytes of the head, as iceperf does.
    Head,
    /// Every byte.
    All,
}

impl Touch {
    /// The word for it in flags, tables and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Touch::Head => "head",
            Touch::All => "all",
        }
    }
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The choice of processors for the processes of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlacementPolicy {
    /// Different physical cores, from the system's topology.
    Auto,
    /// These processors: the leader's first, then the followers'.
    Cpus(Vec<u32>),
    /// The nearest level that the processors of the leader and of each follower share.
    Near(#[schemars(extend("enum" = ["smt", "same-cache", "cross-cache", "cross-numa"]))] String),
    /// Each of these levels that the machine has: trial after trial has the next one.
    All,
    /// No choice: the scheduler decides.
    Off,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Outcome {
    /// Measured.
    Ok {
        /// The measurement.
        measurement: Measurement,
    },
    /// Tried, and failed.
    Failed {
        /// The cause, in a sentence.
        reason: String,
    },
    /// The transport cannot run on this machine.
    Unavailable {
        /// The cause, in a sentence.
        reason: String,
    },
    /// The transport does not support the request.
    Unsupported {
        /// The cause, in a sentence.
        reason: String,
    },
}

/// The outcome of a case in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured.
    Ok,
    /// Tried, and failed.
    Failed,
    /// The transport cannot run on this machine.
    Unavailable,
    /// The transport does not support the request.
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

impl Outcome {
    /// The outcome in one word.
    pub fn status(&self) -> Status {
        match self {
            Outcome::Ok { .. } => Status::Ok,
            Outcome::Failed { .. } => Status::Failed,
            Outcome::Unavailable { .. } => Status::Unavailable,
            Outcome::Unsupported { .. } => Status::Unsupported,
        }
    }

    /// The reason why it was not measured.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Ok { .. } => None,
            Outcome::Failed { reason }
            | Outcome::Unavailable { reason }
            | Outcome::Unsupported { reason } => Some(reason),
        }
    }
}

impl Identity {
    /// Ends that run at once, in all pairs together.
    pub fn ends(&self) -> u32 {
        self.subscribers.saturating_add(1).saturating_mul(self.pairs)
    }

    /// Messages for each that is published: one to each follower, and one back from each that answers. There are no
    /// answers to a stream, nor to messages one way in an open loop.
    pub fn messages_per_publication(&self) -> u64 {
        if self.pattern == Pattern::FanIn {
            return 1;
        }
        let followers = u64::from(self.subscribers.max(1));
        let is_answered = match self.pattern {
            Pattern::Latency | Pattern::FanOut => true,
            Pattern::OneWay => !self.load.is_open(),
            Pattern::Throughput | Pattern::FanIn => false,
        };
        let silent = if is_answered { u64::from(self.silent_subscribers) } else { followers };
        2 * followers - silent.min(followers)
    }
}

impl Case {
    /// The outcome in one word.
    pub fn status(&self) -> Status {
        self.outcome.status()
    }

    /// The reason why it was not measured.
    pub fn reason(&self) -> Option<&str> {
        self.outcome.reason()
    }

    /// The measurement, if it was measured.
    pub fn measurement(&self) -> Option<&Measurement> {
        match &self.outcome {
            Outcome::Ok { measurement } => Some(measurement),
            _ => None,
        }
    }

    /// Its trials; empty if it was not measured.
    pub fn trials(&self) -> &[Trial] {
        self.measurement().map_or(&[], Measurement::trials)
    }

    /// Adds the outcome of a further trial. If one trial of a case failed, the case failed.
    pub(super) fn add(&mut self, further: Outcome) {
        match (&mut self.outcome, further) {
            (Outcome::Ok { measurement }, Outcome::Ok { measurement: more }) => {
                measurement.append(more);
            }
            (Outcome::Ok { .. }, unmeasured) => self.outcome = unmeasured,
            _ => {}
        }
    }
}

/// A case as a file may hold it, contradictions included.
#[derive(Deserialize)]
struct Unchecked {
    #[serde(flatten)]
    identity: Identity,
    status: Status,
    reason: Option<String>,
    measurement: Option<Measurement>,
}

impl<'de> Deserialize<'de> for Case {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Unchecked { identity, status, reason, measurement } =
            Unchecked::deserialize(deserializer)?;
        let name = identity.transport.clone();
        let outcome = outcome(status, reason, measurement).map_err(|cause| {
            D::Error::custom(format!("{name}: its status is `{status}`, {cause}"))
        })?;
        Ok(Self { identity, outcome })
    }
}

fn outcome(
    status: Status,
    reason: Option<String>,
    measurement: Option<Measurement>,
) -> Result<Outcome, &'static str> {
    match (status, reason, measurement) {
        (Status::Ok, None, Some(measurement)) => Ok(Outcome::Ok { measurement }),
        (Status::Ok, _, None) => Err("but it has no measurement"),
        (Status::Ok, Some(_), _) => Err("but it has a reason"),
        (_, _, Some(_)) => Err("but it has a measurement"),
        (_, None, _) => Err("but it has no reason"),
        (Status::Failed, Some(reason), None) => Ok(Outcome::Failed { reason }),
        (Status::Unavailable, Some(reason), None) => Ok(Outcome::Unavailable { reason }),
        (Status::Unsupported, Some(reason), None) => Ok(Outcome::Unsupported { reason }),
    }
}

/// The derived schema ignores further fields: here `measurement` and `reason` exclude each other.
fn refuse_contradictions(schema: &mut Schema) {
    let variants = schema.get_mut("oneOf").and_then(|variants| variants.as_array_mut());
    for variant in variants.into_iter().flatten() {
        for field in ["measurement", "reason"] {
            if variant["properties"][field].is_null() {
                variant["properties"][field] = json!(false);
            }
        }
    }
}
