//! What the workers are asked to do and what they answer.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_transport::{Pattern, Settings};
use serde::{Deserialize, Serialize};

use super::reports::{Costs, FloorReport, LeaderReport, Mapping};

/// Which bytes of a payload are written before publish and read after take, in the timed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Touch {
    /// The 16 bytes of the head, as iceperf does.
    Head,
    /// Every byte.
    All,
}

impl Touch {
    /// The word for it in flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Touch::Head => "head",
            Touch::All => "all",
        }
    }
}

/// How long a case is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Budget {
    /// So many round trips in the sampled pass; a tenth as many warm up, a quarter as many in bulk.
    RoundTrips(u64),
    /// So much time for warm-up, the sampled pass and the bulk pass together.
    Time(Duration),
}

impl Budget {
    /// Most round trips and most time of half a warm-up.
    pub(crate) fn warm_up(self) -> (u64, u64) {
        match self {
            Budget::RoundTrips(n) => ((n / 20).max(1), 500_000_000),
            Budget::Time(time) => (u64::MAX, time.as_nanos() as u64 / 20),
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
    pub budget: Budget,
    /// What the checked payloads are made from.
    pub seed: u64,
    /// How many followers, the last of them, answer nothing in the timed part.
    pub silent: u32,
}

/// The command to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Open your end.
    Open(Settings),
    /// Verify, warm up and measure.
    Run(Pass),
    /// The leader is done. A follower of an unreliable transport may wait for a last message that
    /// was lost; to any other this says nothing new.
    Enough,
    /// Look what may have carried the messages, while every end is still open: a library closes its
    /// sockets when the other end has.
    Look,
    /// Close your end.
    Close,
    /// Measure the floor and the clock; the clock alone where the ends share no memory.
    Floor { alone: bool },
}

/// A worker to the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The end is open; it took so long, and set this of its library.
    Opened { setup_ns: u64, configuration: BTreeMap<String, String> },
    /// What comes now, in words: "verifying". No answer is expected.
    Phase(String),
    /// The measurement begins and is expected to take so long.
    Measuring { expected_ns: u64 },
    /// The leader is done.
    Led(Box<LeaderReport>),
    /// The follower is done.
    Followed(Costs),
    /// What the process shares, and whether it has a socket that speaks over a network interface.
    Seen { shared: Vec<Mapping>, network: bool },
    /// The end is closed.
    Closed,
    /// The floor as the leader measured it; nothing from a follower.
    Floor(Option<FloorReport>),
    /// It went wrong.
    Failed { reason: String, peer_gone: bool },
}
