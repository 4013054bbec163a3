//! What a transport is and what it can do.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use crate::{option::OptionSpec, payload::MAX_PAYLOAD};

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
    /// Messages timed from one process to the other, each answered or at a given rate.
    OneWay,
    /// A stream: messages one way as fast as they go.
    Throughput,
    /// One leader, several followers; the round trip ends with the last answer.
    FanOut,
    /// Streams of several followers to one leader, which takes them as they come.
    FanIn,
}

impl Pattern {
    /// Whether messages stream, so that what a single one takes is not known.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Throughput | Self::FanIn)
    }
}

/// How one publication reaches several followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    /// By the transport itself.
    Native,
    /// By a send to each, through an end of its own: what a program must do where the transport knows only two ends.
    NSends,
}

/// The most followers where each has an end of its own in the leader.
pub const MOST_ENDS: u32 = 64;

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

/// The title of shared memory (`memfd_create`) that only says where messages lie, of a transport that carries them another
/// way: it is no evidence of a carrier.
pub const NOTICES: &str = "ipcmark-notices";

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

/// What a transport says that carries its messages. The result says what it really was, and the row is marked where
/// that is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredCarrier {
    /// Nothing: its library chooses.
    Unstated,
    /// The same for every message.
    Always(Carrier),
    /// It depends on the size of a message.
    BySize {
        /// Bytes of the largest message that the first carries.
        up_to: usize,
        /// What carries messages of up to that size.
        small: Carrier,
        /// What carries larger ones.
        large: Carrier,
    },
}

impl DeclaredCarrier {
    /// What is said to carry messages of so many bytes.
    pub fn of(self, payload: usize) -> Option<Carrier> {
        match self {
            Self::Unstated => None,
            Self::Always(carrier) => Some(carrier),
            Self::BySize { up_to, small, .. } if payload <= up_to => Some(small),
            Self::BySize { large, .. } => Some(large),
        }
    }
}

/// What a transport can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The waits it has, the ones a default run measures.
    pub waits: Cow<'static, [Wait]>,
    /// The patterns that it is made for: `latency`, `fan-out`. The others follow from them: see [`Self::carries`].
    pub patterns: Cow<'static, [Pattern]>,
    /// The largest message in bytes.
    pub max_payload: usize,
    /// Whether [`Endpoint::room`](crate::Endpoint::room) and
    /// [`Endpoint::message`](crate::Endpoint::message) are the very memory the other end reads and
    /// writes, so that a message is handed over without a copy.
    pub loans: bool,
    /// How many followers one end of a leader can have.
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
    /// Whether a process can have one end of it only, for both use what a process has once.
    pub one_end: bool,
}

impl Capabilities {
    /// What most transports can do: one follower on the same host, waits `spin` and `block`, the pattern `latency`, every
    /// message arrives, at any time, copied. A transport changes what it does otherwise.
    pub const fn usual() -> Self {
        Self::waiting(&[Wait::Spin, Wait::Block])
    }

    /// How one publication reaches several followers, if it can.
    pub fn fan_out(&self) -> Option<FanOut> {
        let has_two_ends = self.patterns.contains(&Pattern::Latency) && self.span == Span::Process;
        match self.patterns.contains(&Pattern::FanOut) {
            true => Some(FanOut::Native),
            false => {
                let has_one_end = self.alternating || self.exclusive || self.one_end;
                (has_two_ends && !has_one_end).then_some(FanOut::NSends)
            }
        }
    }

    /// How many followers one leader can have in this pattern.
    pub fn most_subscribers(&self, pattern: Pattern) -> u32 {
        match (pattern, self.fan_out()) {
            (Pattern::FanOut, Some(FanOut::NSends)) => MOST_ENDS,
            _ => self.max_subscribers,
        }
    }

    /// Whether it can carry a pattern. What does ping-pong between two ends can be timed one way, and streams and fans out,
    /// by a send for each follower, unless its ends take turns with each message. What reaches several followers by itself
    /// also takes what several publish.
    pub fn carries(&self, pattern: Pattern) -> bool {
        let has_two_ends = self.patterns.contains(&Pattern::Latency) && self.span != Span::None;
        match pattern {
            Pattern::Latency => self.patterns.contains(&pattern),
            Pattern::FanOut => self.fan_out().is_some(),
            // The answers of followers that one publication reaches share a way back.
            Pattern::FanIn => self.fan_out() == Some(FanOut::Native),
            Pattern::OneWay => has_two_ends,
            Pattern::Throughput => has_two_ends && !self.alternating,
        }
    }

    /// All patterns that it can carry.
    pub fn carried(&self) -> impl Iterator<Item = Pattern> {
        Pattern::ALL.iter().copied().filter(|pattern| self.carries(*pattern))
    }

    /// The same with these waits.
    pub const fn waiting(waits: &'static [Wait]) -> Self {
        Self {
            waits: Cow::Borrowed(waits),
            patterns: Cow::Borrowed(&[Pattern::Latency]),
            max_payload: MAX_PAYLOAD,
            loans: false,
            max_subscribers: 1,
            crosses_hosts: false,
            reliable: true,
            alternating: false,
            span: Span::Process,
            exclusive: false,
            one_end: false,
        }
    }
}

/// All that is said of a transport in advance: every fact of it stands here once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Lower case, words joined by `-`: `uds-stream`.
    pub name: Cow<'static, str>,
    /// Whose it is: `os` for the operating system, else the library.
    pub family: Cow<'static, str>,
    /// One line: mechanism and copies.
    pub summary: Cow<'static, str>,
    /// What carries its messages.
    pub carrier: DeclaredCarrier,
    /// What users can set of it. What they set has been checked when it comes with the settings of an end.
    pub options: Cow<'static, [OptionSpec]>,
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
words!(Pattern: Latency = "latency", OneWay = "one-way", Throughput = "throughput", FanOut = "fan-out", FanIn = "fan-in");
words!(Carrier: SharedMemory = "shared-memory", Network = "network", Kernel = "kernel", Process = "process");
words!(Span: None = "none", Thread = "thread", Process = "process");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_a_message_can_follow_from_its_size() {
        let (small, large) = (Carrier::SharedMemory, Carrier::Kernel);
        let declared = DeclaredCarrier::BySize { up_to: 4096, small, large };
        assert_eq!([64, 4096, 4097].map(|size| declared.of(size)), [small, small, large].map(Some));
        assert_eq!(DeclaredCarrier::Always(large).of(1), Some(large));
        assert_eq!(DeclaredCarrier::Unstated.of(1), None);
    }

    #[test]
    fn other_patterns_follow_from_ping_pong_unless_ends_take_turns() {
        let carried =
            |capabilities: &Capabilities| capabilities.carried().collect::<Vec<Pattern>>();
        let usual = Capabilities::usual();
        assert_eq!(carried(&usual), Pattern::ALL[..4], "it has one writer");
        assert_eq!(
            (usual.fan_out(), usual.most_subscribers(Pattern::FanOut)),
            (Some(FanOut::NSends), 64)
        );
        assert_eq!(usual.most_subscribers(Pattern::Latency), 1);
        let native = Capabilities {
            patterns: Cow::Borrowed(&[Pattern::Latency, Pattern::FanOut]),
            max_subscribers: 16,
            ..Capabilities::usual()
        };
        assert_eq!(
            (native.fan_out(), native.most_subscribers(Pattern::FanOut)),
            (Some(FanOut::Native), 16)
        );
        assert_eq!(
            (carried(&native), native.most_subscribers(Pattern::FanIn)),
            (Pattern::ALL.into(), 16)
        );
        let alternating = Capabilities { alternating: true, ..Capabilities::usual() };
        assert_eq!(carried(&alternating), [Pattern::Latency, Pattern::OneWay]);
        let nowhere = Capabilities { span: Span::None, ..usual };
        assert_eq!(carried(&nowhere), [Pattern::Latency]);
    }

    #[test]
    fn words_read_back_as_what_they_were_written_from() {
        assert!(Wait::ALL.iter().all(|wait| wait.as_str().parse() == Ok(*wait)));
        assert!(Pattern::ALL.iter().all(|pattern| pattern.as_str().parse() == Ok(*pattern)));
        assert!(Carrier::ALL.iter().all(|carrier| carrier.as_str().parse() == Ok(*carrier)));
        assert!(Span::ALL.iter().all(|span| span.as_str().parse() == Ok(*span)));
        assert_eq!("sleep".parse::<Wait>(), Err(()));
    }
}
