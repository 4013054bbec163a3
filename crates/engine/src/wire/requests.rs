//! The requests to the workers, and their replies.

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
    time::Duration,
};

use ipcmark_results::{Load, Touch};
use ipcmark_transport::{Pattern, Role, Wait};
use serde::{Deserialize, Serialize};

use super::{
    blocks::TurnLimit,
    possible::{are_possible_mappings, is_time},
    reports::{ClockReport, FollowerReport, Holdings, LeaderReport, Mapping, Opened},
    text::PlainText,
    trace::Trace,
};

/// The length of a case's measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// This many round trips in sampled blocks; a tenth as many for the warm-up, and about as many clock-free.
    RoundTrips(u64),
    /// This much time for blocks and the probes around them; a tenth as much for the warm-up.
    Time(Duration),
}

impl Length {
    /// The warm-up before the first turn: a tenth of the measurement.
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
    /// The seed of the checked payloads and of random arrivals.
    pub seed: u64,
    /// The number of the trial. Rows of one trial have the same random arrivals.
    pub trial: u32,
    /// The number of the pair, from 0: pairs have arrivals of their own, so that they do not send at the same moments.
    pub pair: u32,
    /// The number of followers that answer nothing in the timed part; they are the last ones.
    pub silent: u32,
    /// The load: how messages are offered.
    pub load: Load,
    /// True if the leader verifies at length and counts its working set; else it verifies a few messages.
    pub is_thorough: bool,
    /// The messages of a trace; only sent to the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl Pass {
    /// True if it has a trace whose messages all fit its payload.
    pub(crate) fn has_trace(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.fits(self.payload))
    }

    /// The time of its turns together, if no count limits them: the warm-up takes a tenth of it.
    pub(crate) fn time(&self) -> Option<Duration> {
        let is_time = self.warm_up.samples == u64::MAX;
        is_time.then(|| Duration::from_nanos(self.warm_up.time_ns.saturating_mul(10)))
    }

    /// The pass of the pair of this number.
    pub(crate) fn of_pair(&self, pair: u32) -> Self {
        Self { pair, ..self.clone() }
    }

    /// The pass for followers: they take every message as it comes, and need no trace.
    pub(crate) fn of_followers(&self) -> Self {
        Self { trace: None, ..self.clone() }
    }
}

#[cfg(test)]
impl Pass {
    /// A pass for tests: 64 bytes, with this load.
    pub(crate) fn of(load: Load) -> Self {
        let warm_up = TurnLimit { number: 0, time_ns: 0, samples: 1 };
        let (pattern, touch, trace) = (Pattern::Latency, Touch::All, None);
        let (payload, seed, silent, is_thorough) = (64, 1, 0, true);
        let (trial, pair) = (1, 0);
        Self {
            pattern,
            payload,
            touch,
            warm_up,
            seed,
            trial,
            pair,
            silent,
            load,
            is_thorough,
            trace,
        }
    }
}

/// An endpoint to open. Its name and its directory follow from the run and the number; its role and its address are
/// the worker's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// The number of the session within the run.
    pub number: u64,
    pub wait: Wait,
    /// The bytes of the largest message.
    pub payload: usize,
    pub subscribers: u32,
    /// True if each follower has its own session with the leader: the first with this number, the others with the
    /// next.
    #[serde(default)]
    pub n_sends: bool,
    /// The user's options for the transport, by key.
    pub options: BTreeMap<String, String>,
    /// The time that the endpoint may wait for the others, among [`CONNECT_TIMES`].
    pub connect_within: Duration,
}

/// The possible times in which endpoints must find each other. Libraries count in milliseconds, and take 0 as no
/// limit.
pub(crate) const CONNECT_TIMES: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(3600);

impl Opening {
    /// The range of its session numbers.
    pub(crate) fn numbers(&self) -> Range<u64> {
        let count = if self.n_sends { u64::from(self.subscribers) } else { 1 };
        self.number..self.number.saturating_add(count)
    }
}

/// A request of the command to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Open the endpoint.
    Open(Opening),
    /// Verify, warm up, then measure in turns.
    Run(Pass),
    /// To the leader: start this session's turn.
    Turn(TurnLimit),
    /// To the leader of a background pair: run beside the turn of this number until told to end.
    Background(u32),
    /// To that leader: the measured turn beside it is over.
    EndBackground,
    /// To the leader: there are no more turns.
    Finish,
    /// Collect evidence of what carried the messages, while every endpoint is still open: a library closes its
    /// sockets once the other endpoint has.
    Look,
    /// Close the endpoint.
    Close,
    /// Prepare: share the probe pages if the endpoints can share memory, and measure the clock.
    Prepare { probes: bool },
}

/// A reply of a worker to the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The endpoint is open.
    Opened(Opened),
    /// The next phase, in words: "verifying". It is not a reply to a request.
    Phase(PlainText),
    /// The leader has warmed up or finished its turn, and waits for the next. Contains the approximate time per
    /// round trip or message.
    Ready { round_trip_ns: f64 },
    /// The background turn has begun.
    BackgroundRuns,
    /// The leader's results.
    Led(Box<LeaderReport>),
    /// The follower's results; none if it took no part, because no message leaves the leader.
    Followed(Option<FollowerReport>),
    /// The memory that the process shares, whether it has a socket on a network interface, and the resources that
    /// it holds.
    Seen { shared: Vec<Mapping>, network: bool, holdings: Holdings },
    /// The endpoint is closed.
    Closed,
    /// Prepared; the leader reports its clock.
    Prepared(Option<ClockReport>),
    /// The request failed.
    Failed { reason: PlainText, peer_gone: bool },
}

/// The tolerance by which a report may exceed the time that it covers.
const SLACK: Duration = Duration::from_secs(1);

impl Request {
    /// True if a worker of this role owes this reply to this request. A follower can be another user's: it must not
    /// send replies that are the leader's.
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

    /// True if it continues an earlier request, so that the reply covers the time since that one.
    pub(crate) fn continues(&self) -> bool {
        matches!(
            self,
            Request::Turn(_) | Request::Background(_) | Request::EndBackground | Request::Finish
        )
    }
}

impl Reply {
    /// True if the figures are possible for a process that was given `time`, and the lists are bounded.
    pub(crate) fn is_possible(&self, time: Duration) -> bool {
        // The clocks of two hosts do not run at exactly the same rate.
        let most = time.mul_f64(1.1).saturating_add(SLACK).as_nanos() as u64;
        match self {
            Reply::Opened(opened) => opened.is_possible(most),
            Reply::Prepared(Some(clock)) => clock.is_possible(most),
            Reply::Ready { round_trip_ns } => is_time(*round_trip_ns, most),
            Reply::Led(report) => report.is_possible(most),
            Reply::Followed(Some(report)) => report.is_possible(most),
            Reply::Seen { shared, holdings, .. } => {
                are_possible_mappings(shared) && holdings.is_possible()
            }
            _ => true,
        }
    }

    /// The report of an opened endpoint.
    pub(crate) fn opened(self) -> Option<Opened> {
        match self {
            Reply::Opened(opened) => Some(opened),
            _ => None,
        }
    }

    /// The shared memory of a process, whether it has a network socket, and the resources that it holds.
    pub(crate) fn seen(self) -> Option<(Vec<Mapping>, bool, Holdings)> {
        match self {
            Reply::Seen { shared, network, holdings } => Some((shared, network, holdings)),
            _ => None,
        }
    }
}
