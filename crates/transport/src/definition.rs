//! What a transport is and what it can do.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// How a receiver waits for a message, and a sender for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Polls without ever sleeping: a core is busy all the time.
    Spin,
    /// Sleeps in the kernel until the message is there.
    Block,
    /// Polls [`HYBRID_POLLS`](crate::HYBRID_POLLS) times, then sleeps.
    Hybrid,
}

/// The shape of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ping-pong: one message out, one message back, round trips are timed.
    Latency,
    /// Messages one way at a given rate, timed from one process to the other.
    OneWay,
    /// Messages one way as fast as they go.
    Throughput,
    /// One leader, several followers; the round trip ends with the last answer.
    FanOut,
}

/// How far a message travels. Rows of different spans never stand in one ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// Nowhere: an end takes back what it published. Only the harness is measured.
    None,
    /// From thread to thread of one process.
    Thread,
    /// From process to process.
    Process,
}

/// What carries a message from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Memory that both processes map.
    SharedMemory,
    /// A network interface.
    Network,
    /// A queue or buffer of the kernel: a pipe, a Unix domain socket, a message queue.
    Kernel,
    /// One process's own memory.
    Process,
}

/// What a transport can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The waits it has, the ones a default run measures.
    pub waits: Cow<'static, [Wait]>,
    /// The patterns it can carry.
    pub patterns: Cow<'static, [Pattern]>,
    /// The largest message in bytes.
    pub max_payload: usize,
    /// Whether [`Endpoint::room`](crate::Endpoint::room) and
    /// [`Endpoint::message`](crate::Endpoint::message) are the very memory the other end reads and
    /// writes, so that a message is handed over without a copy.
    pub loans: bool,
    /// How many followers one leader can have.
    pub max_subscribers: u32,
    /// Whether the two ends can be on different hosts.
    pub crosses_hosts: bool,
    /// Whether a message once published always arrives while both ends live. An unreliable
    /// transport never sleeps longer than [`MAX_SLEEP`](crate::MAX_SLEEP) in one call.
    pub reliable: bool,
    /// Whether the ends must take turns (request, reply, request, …), so that one end cannot
    /// publish two messages in a row.
    pub alternating: bool,
    /// How far a message travels.
    pub span: Span,
    /// Whether its names in the system are fixed, so that without a sandbox one session of its
    /// family can run at a time.
    pub exclusive: bool,
}

/// Name and nature of a transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Lower case, words joined by `-`: `uds-stream`.
    pub name: Cow<'static, str>,
    /// Whose it is: `os` for the operating system, else the library.
    pub family: Cow<'static, str>,
    /// One line: mechanism and copies.
    pub summary: Cow<'static, str>,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// Whether a transport can run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can, with this version of its library where it has one.
    Available {
        /// The library's own version text.
        version: Option<String>,
    },
    /// It cannot.
    Unavailable {
        /// What is missing.
        reason: String,
        /// What to install or to set, as a command where there is one.
        install: Option<String>,
    },
}

macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+) => {
        impl $type {
            /// Every value, in the order in which people are shown them.
            pub const ALL: &[$type] = &[$($type::$variant),+];

            /// The word for it in flags, tables and files.
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = ();
            fn from_str(word: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or(())
            }
        }
    };
}

words!(Wait: Spin = "spin", Block = "block", Hybrid = "hybrid");
words!(Pattern: Latency = "latency", OneWay = "one-way", Throughput = "throughput", FanOut = "fan-out");
words!(Carrier: SharedMemory = "shared-memory", Network = "network", Kernel = "kernel", Process = "process");
words!(Span: None = "none", Thread = "thread", Process = "process");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_what_they_were_written_from() {
        assert!(Wait::ALL.iter().all(|wait| wait.as_str().parse() == Ok(*wait)));
        assert!(Pattern::ALL.iter().all(|pattern| pattern.as_str().parse() == Ok(*pattern)));
        assert!(Carrier::ALL.iter().all(|carrier| carrier.as_str().parse() == Ok(*carrier)));
        assert!(Span::ALL.iter().all(|span| span.as_str().parse() == Ok(*span)));
        assert_eq!("sleep".parse::<Wait>(), Err(()));
    }
}
