//! The definition of a transport: its name, options and capabilities.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use crate::{option::OptionSpec, payload::MAX_PAYLOAD};

/// The wait of a receiver for a message, and of a sender for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Polls without ever sleeping: keeps a core busy all the time.
    Spin,
    /// Sleeps in the kernel until the message arrives.
    Block,
    /// Polls [`HYBRID_POLLS`](crate::HYBRID_POLLS) times, then sleeps.
    Hybrid,
}

/// The shape of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ping-pong: one message out, one message back. Round trips are timed.
    Latency,
    /// Messages timed from one process to the other, each answered or at a given rate.
    OneWay,
    /// A stream: messages in one direction, as fast as possible.
    Throughput,
    /// One leader, several followers. The round trip ends with the last answer.
    FanOut,
    /// Streams of several followers to one leader, which takes messages in order of arrival.
    FanIn,
}

impl Pattern {
    /// True if messages stream, so that the time of a single one is unknown.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Throughput | Self::FanIn)
    }
}

/// The mechanism by which one publication reaches several followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    /// The transport itself delivers to all.
    Native,
    /// One send to each follower, through a separate end: required where the transport connects only two ends.
    NSends,
}

/// The most followers where the leader has a separate end for each.
pub const MOST_ENDS: u32 = 64;

/// The distance that a message travels. One ranking never mixes rows of different spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// Nowhere: an end takes back its own messages. Only the harness is measured.
    None,
    /// From thread to thread of one process.
    Thread,
    /// From process to process.
    Process,
}

/// The name of shared memory (`memfd_create`) that only tells where messages lie, in a transport that carries them by
/// other means: it is no evidence of a carrier.
pub const NOTICES: &str = "ipcmark-notices";

/// The medium that carries a message from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Memory mapped by both processes.
    SharedMemory,
    /// A network interface.
    Network,
    /// A kernel queue or buffer: a pipe, a Unix domain socket, a message queue.
    Kernel,
    /// One process's own memory.
    Process,
}

/// The carrier that a transport declares. The result names the carrier that was observed, and marks the row if the two
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredCarrier {
    /// None declared: the library chooses.
    Unstated,
    /// The same carrier for every message.
    Always(Carrier),
    /// The carrier depends on the size of a message.
    BySize {
        /// The size in bytes of the largest message that `small` carries.
        up_to: usize,
        /// The carrier of messages up to that size.
        small: Carrier,
        /// The carrier of larger messages.
        large: Carrier,
    },
}

impl DeclaredCarrier {
    /// The declared carrier of messages of `payload` bytes.
    pub fn of(self, payload: usize) -> Option<Carrier> {
        match self {
            Self::Unstated => None,
            Self::Always(carrier) => Some(carrier),
            Self::BySize { up_to, small, .. } if payload <= up_to => Some(small),
            Self::BySize { large, .. } => Some(large),
        }
    }
}

/// The capabilities of a transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The supported waits; a default run measures these.
    pub waits: Cow<'static, [Wait]>,
    /// The patterns that the transport supports directly: `latency`, `fan-out`. [`Self::carries`] derives the others.
    pub patterns: Cow<'static, [Pattern]>,
    /// The largest message in bytes.
    pub max_payload: usize,
    /// True if [`Endpoint::room`](crate::Endpoint::room) and
    /// [`Endpoint::message`](crate::Endpoint::message) are the same memory that the other end reads and
    /// writes, so that a message is handed over without a copy.
    pub loans: bool,
    /// The number of followers that one end of a leader can have.
    pub max_subscribers: u32,
    /// True if the two ends can be on different hosts.
    pub crosses_hosts: bool,
    /// True if every published message arrives while both ends live. An unreliable transport never
    /// sleeps longer than [`MAX_SLEEP`](crate::MAX_SLEEP) in one call.
    pub reliable: bool,
    /// True if the ends must take turns (request, reply, request, …), so that one end cannot
    /// publish two messages in a row.
    pub alternating: bool,
    /// The distance that a message travels.
    pub span: Span,
    /// True if sessions that share the machine's names disturb each other, so that without a sandbox
    /// only one session of its family can run at a time: the names are fixed, or a session that opens
    /// removes what another one has just made.
    pub exclusive: bool,
    /// True if a process can have only one end, because each end uses a resource that a process has once.
    pub one_end: bool,
}

impl Capabilities {
    /// The capabilities of most transports: one follower on the same host, waits `spin` and `block`, the pattern
    /// `latency`, reliable, not alternating, copying. A transport overrides only its differences.
    pub const fn usual() -> Self {
        Self::waiting(&[Wait::Spin, Wait::Block])
    }

    /// The mechanism by which one publication reaches several followers, if there is one.
    pub fn fan_out(&self) -> Option<FanOut> {
        let has_two_ends = self.patterns.contains(&Pattern::Latency) && self.span == Span::Process;
        match self.patterns.contains(&Pattern::FanOut) {
            true => Some(FanOut::Native),
            false => {
                let has_one_end = self.alternating || self.one_end;
                (has_two_ends && !has_one_end).then_some(FanOut::NSends)
            }
        }
    }

    /// The number of followers that one leader can have in this pattern.
    pub fn most_subscribers(&self, pattern: Pattern) -> u32 {
        match (pattern, self.fan_out()) {
            (Pattern::FanOut, Some(FanOut::NSends)) => MOST_ENDS,
            _ => self.max_subscribers,
        }
    }

    /// True if the transport can carry a pattern. Ping-pong between two ends implies one-way timing and, unless the
    /// ends take turns with each message, streams and fan-out by a send to each follower. A native fan-out, whose
    /// publication reaches several followers, implies fan-in.
    pub fn carries(&self, pattern: Pattern) -> bool {
        let has_two_ends = self.patterns.contains(&Pattern::Latency) && self.span != Span::None;
        match pattern {
            Pattern::Latency => self.patterns.contains(&pattern),
            Pattern::FanOut => self.fan_out().is_some(),
            // The answers of followers that one publication reaches share one return path.
            Pattern::FanIn => self.fan_out() == Some(FanOut::Native),
            Pattern::OneWay => has_two_ends,
            Pattern::Throughput => has_two_ends && !self.alternating,
        }
    }

    /// All patterns that the transport can carry.
    pub fn carried(&self) -> impl Iterator<Item = Pattern> {
        Pattern::ALL.iter().copied().filter(|pattern| self.carries(*pattern))
    }

    /// The usual capabilities, with these waits.
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

/// The static description of a transport. Each fact stands here once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Lower-case words joined by `-`: `uds-stream`.
    pub name: Cow<'static, str>,
    /// `os` for transports of the operating system, else the library.
    pub family: Cow<'static, str>,
    /// One line: the mechanism and its copies.
    pub summary: Cow<'static, str>,
    /// The declared carrier of its messages.
    pub carrier: DeclaredCarrier,
    /// The options that users can set. The values in the settings of an end have been checked.
    pub options: Cow<'static, [OptionSpec]>,
    /// The capabilities.
    pub capabilities: Capabilities,
}

/// The result of a probe: available on this machine or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Available, with the version of its library where it has one.
    Available {
        /// The library's own version text.
        version: Option<String>,
    },
    /// Not available.
    Unavailable {
        /// The missing part.
        reason: String,
        /// The package to install or the setting to change, as a command where there is one.
        install: Option<String>,
    },
}

macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+) => {
        impl $type {
            /// Every value, in display order.
            pub const ALL: &[$type] = &[$($type::$variant),+];

            /// The word for the value in flags, tables and files.
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
    fn the_carrier_can_depend_on_the_message_size() {
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
    fn words_read_back_as_written() {
        assert!(Wait::ALL.iter().all(|wait| wait.as_str().parse() == Ok(*wait)));
        assert!(Pattern::ALL.iter().all(|pattern| pattern.as_str().parse() == Ok(*pattern)));
        assert!(Carrier::ALL.iter().all(|carrier| carrier.as_str().parse() == Ok(*carrier)));
        assert!(Span::ALL.iter().all(|span| span.as_str().parse() == Ok(*span)));
        assert_eq!("sleep".parse::<Wait>(), Err(()));
    }
}
