//! What the workers are asked to do and what they answer.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use ipcmark_results::{Load, Touch};
use ipcmark_transport::{Pattern, Role, Wait};
use serde::{Deserialize, Serialize};

use super::{
    blocks::TurnLimit,
    possible::is_time,
    reports::{ClockReport, FollowerReport, Holdings, LeaderReport, Mapping, Opened},
    text::PlainText,
    trace::Trace,
};

/// How long a case is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// So many round trips in sampled blocks; a tenth as many warm up, about as many are clock-free.
    RoundTrips(u64),
    /// So much time for blocks and the probes around them; a tenth as much for the warm-up.
    Time(Duration),
}

impl Length {
    /// The warm-up before the first turn: a tenth of what is measured.
    pub(crate) fn warm_up(self) -> TurnLimit {
        match self {
            Length::RoundTrips(n) => {
                TurnLimit { number: 0, samples: (n / 10).max(1), time_ns: 1_000_000_000 }
            }
            Length::Time(time) => {
                TurnLimit { number: 0, samples: u64::MAX, time_ns: time.as_nanos() as u64 / 10 }
            }
        }
    }
}

/// One case as the workers see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub pattern: Pattern,
    /// Bytes of every message.
    pub payload: usize,
    pub touch: Touch,
    pub warm_up: TurnLimit,
    /// What the checked payloads are made from.
    pub seed: u64,
    /// How many followers, the last of them, answer nothing in the timed part.
    pub silent: u32,
    /// How messages are offered.
    pub load: Load,
    /// To the leader of a trace: its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl Pass {
    /// Whether it has a trace that its messages can be sent by.
    pub(crate) fn has_trace(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.fits(self.payload))
    }

    /// What is told to followers: they take every message as it comes.
    pub(crate) fn of_followers(&self) -> Self {
        Self { trace: None, ..self.clone() }
    }
}

#[cfg(test)]
impl Pass {
    /// A pass for tests: 64 bytes, offered in this way.
    pub(crate) fn of(load: Load) -> Self {
        let warm_up = TurnLimit { number: 0, time_ns: 0, samples: 1 };
        let (pattern, touch, trace) = (Pattern::Latency, Touch::All, None);
        Self { pattern, payload: 64, touch, warm_up, seed: 1, silent: 0, load, trace }
    }
}

/// An end to open. What it is called and where its files lie follows from the run and the number; its role
/// and its address are the worker's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The number of the session within the run.
    pub number: u64,
    pub wait: Wait,
    /// Bytes of the largest message.
    pub payload: usize,
    pub subscribers: u32,
    /// Whether each follower has a session of its own with the leader, the first of this number and the others of the next.
    #[serde(default)]
    pub n_sends: bool,
    /// What the user set of the transport, by key.
    pub options: BTreeMap<String, String>,
}

impl Opening {
    /// The numbers of its sessions.
    pub(crate) fn numbers(&self) -> Range<u64> {
        let count = if self.n_sends { u64::from(self.subscribers) } else { 1 };
        self.number..self.number.saturating_add(count)
    }
}

/// The command to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Open your end.
    Open(Opening),
    /// Verify, warm up, then measure in turns.
    Run(Pass),
    /// To the leader: it is this session's turn.
    Turn(TurnLimit),
    /// To the leader of a pair that is not measured: run beside the turn of this number until the end is ordered.
    Background(u32),
    /// To that leader: the turn beside it is over.
    EndBackground,
    /// To the leader: there are no more turns.
    Finish,
    /// Look what may have carried the messages, while every end is still open: a library closes its
    /// sockets when the other end has.
    Look,
    /// Close your end.
    Close,
    /// Make ready: share the page of the probes if the ends can share memory, and look at the clock.
    Prepare { probes: bool },
}

/// A worker to the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The end is open.
    Opened(Opened),
    /// What comes now, in words: "verifying". No answer is expected.
    Phase(PlainText),
    /// The leader has warmed up or had its turn, and waits for the next. A round trip, or a message, takes about so long.
    Ready { round_trip_ns: f64 },
    /// The background turn has begun.
    BackgroundRuns,
    /// The leader is done.
    Led(Box<LeaderReport>),
    /// The follower is done; nothing from one that took no part, because no message leaves the leader.
    Followed(Option<FollowerReport>),
    /// What the process shares, whether it has a socket that speaks over a network interface, and what it holds.
    Seen { shared: Vec<Mapping>, network: bool, holdings: Holdings },
    /// The end is closed.
    Closed,
    /// Ready; the leader tells what its clock is like.
    Prepared(Option<ClockReport>),
    /// It went wrong.
    Failed { reason: PlainText, peer_gone: bool },
}

/// What may be counted beyond the time in which it happened.
const SLACK: Duration = Duration::from_secs(1);

/// More than any process maps.
const MAX_MAPPINGS: usize = 10_000;

impl Request {
    /// True for the reply that a worker of this role owes to this request. A follower can be anybody's: what
    /// only the leader may report is not taken from one.
    pub(crate) fn is_answered_by(&self, role: Role, reply: &Reply) -> bool {
        match (self, reply) {
            (Request::Open(_), Reply::Opened(_))
            | (Request::Look, Reply::Seen { .. })
            | (Request::Close, Reply::Closed) => true,
            (Request::Run(_) | Request::Turn(_) | Request::EndBackground, Reply::Ready { .. })
            | (Request::Background(_), Reply::BackgroundRuns)
            | (Request::Finish, Reply::Led(_))
            | (Request::Prepare { .. }, Reply::Prepared(Some(_))) => role.is_leader(),
            (Request::Run(_), Reply::Followed(_))
            | (Request::Prepare { .. }, Reply::Prepared(None)) => !role.is_leader(),
            _ => false,
        }
    }

    /// True if it goes on with what an earlier request began, so that the reply covers the time since that.
    pub(crate) fn continues(&self) -> bool {
        matches!(
            self,
            Request::Turn(_) | Request::Background(_) | Request::EndBackground | Request::Finish
        )
    }
}

impl Reply {
    /// True if the figures can be those of a process that was given `time`, and the lists have an end.
    pub(crate) fn is_possible(&self, time: Duration) -> bool {
        // Clocks of two hosts do not run exactly alike.
        let most = time.mul_f64(1.1).saturating_add(SLACK).as_nanos() as u64;
        match self {
            Reply::Opened(opened) => opened.is_possible(most),
            Reply::Prepared(Some(clock)) => clock.is_possible(most),
            Reply::Ready { round_trip_ns } => is_time(*round_trip_ns, most),
            Reply::Led(report) => report.is_possible(most),
            Reply::Followed(Some(report)) => report.is_possible(most),
            Reply::Seen { shared, holdings, .. } => {
                shared.len() <= MAX_MAPPINGS && holdings.is_possible()
            }
            _ => true,
        }
    }

    /// What an end says that has been opened.
    pub(crate) fn opened(self) -> Option<Opened> {
        match self {
            Reply::Opened(opened) => Some(opened),
            _ => None,
        }
    }

    /// What a process shares, whether it has a network socket, and what it holds.
    pub(crate) fn seen(self) -> Option<(Vec<Mapping>, bool, Holdings)> {
        match self {
            Reply::Seen { shared, network, holdings } => Some((shared, network, holdings)),
            _ => None,
        }
    }
}
