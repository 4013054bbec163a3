//! The checks, one file each: what both processes play, and what is looked at around it.

mod back_pressure;
mod both_full;
mod capabilities;
mod crash;
mod crash_opening;
mod held;
mod open_close;
mod own_message;
mod sizes;
mod steady;
mod two_sessions;
mod varied;

use ipcmark_transport::{Definition, Span, Wait};

use crate::{director::Director, failure::Failure, stage::Stage};

/// One check of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// What the transport says about itself holds.
    Capabilities,
    /// Ten times opened and closed, nothing stays.
    OpenClose,
    /// Nothing is allocated and no page is new between open and close.
    Steady,
    /// Lengths around every limit arrive whole.
    Sizes,
    /// Lengths in any order arrive whole.
    Varied,
    /// A full queue makes the sender wait, and loses nothing.
    BackPressure,
    /// A message that was taken stays as it is until it is released.
    Held,
    /// Both ends publish into full queues and take in between.
    BothFull,
    /// An end never takes what it published.
    OwnMessage,
    /// Two sessions at once never see each other.
    TwoSessions,
    /// A process is killed while messages flow; afterwards the name can be used again.
    Crash,
    /// A process is killed while the ends open.
    CrashOpening,
}

impl Check {
    /// All of them, in the order in which they run.
    pub const ALL: [Check; 12] = [
        Check::Capabilities,
        Check::OpenClose,
        Check::Steady,
        Check::Sizes,
        Check::Varied,
        Check::BackPressure,
        Check::Held,
        Check::BothFull,
        Check::OwnMessage,
        Check::TwoSessions,
        Check::Crash,
        Check::CrashOpening,
    ];

    /// Its word in the names of tests.
    pub fn name(self) -> &'static str {
        match self {
            Check::Capabilities => "capabilities",
            Check::OpenClose => "open-close",
            Check::Steady => "steady",
            Check::Sizes => "sizes",
            Check::Varied => "varied",
            Check::BackPressure => "back-pressure",
            Check::Held => "held",
            Check::BothFull => "both-full",
            Check::OwnMessage => "own-message",
            Check::TwoSessions => "two-sessions",
            Check::Crash => "crash",
            Check::CrashOpening => "crash-opening",
        }
    }

    /// The check with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }

    /// Why this transport need not pass it with this wait.
    pub fn exempt(self, definition: &Definition, wait: Wait) -> Option<&'static str> {
        let capabilities = &definition.capabilities;
        match self {
            Check::Steady if !is_all_ours(definition) => {
                Some("how a library treats its memory is a part of what is measured")
            }
            Check::TwoSessions if capabilities.exclusive => {
                Some("outside a sandbox one session of its family can run at a time")
            }
            _ if capabilities.span == Span::Thread => Some("it stays within one process"),
            Check::OwnMessage if capabilities.span == Span::None => {
                Some("its own messages are all that an end ever takes")
            }
            Check::BackPressure | Check::BothFull if capabilities.alternating => {
                Some("its ends take turns")
            }
            Check::Held if !capabilities.reliable => Some("it may lose what is waited for"),
            Check::BothFull if wait != Wait::Spin => {
                Some("an end that sleeps in publish cannot take in between")
            }
            _ => None,
        }
    }

    /// Whether one failure of it is not yet a failing. Libraries have races of their own when a peer
    /// is killed: a thread of Fast DDS 2.9 that crashes, one of iceoryx that waits for ever, once in
    /// some hundred times. They cost the row that has failed anyway. What is all ours has none.
    pub fn gets_second_try(self, definition: &Definition) -> bool {
        matches!(self, Check::Crash | Check::CrashOpening) && !is_all_ours(definition)
    }

    /// What one process of it does.
    pub(crate) fn play(self, stage: &mut Stage<'_>) -> Result<(), Failure> {
        match self {
            Check::Capabilities => capabilities::play(stage),
            Check::OpenClose => open_close::play(stage),
            Check::Steady => steady::play(stage),
            Check::Sizes => sizes::play(stage),
            Check::Varied => varied::play(stage),
            Check::BackPressure => back_pressure::play(stage),
            Check::Held => held::play(stage),
            Check::BothFull => both_full::play(stage),
            Check::OwnMessage => own_message::play(stage),
            Check::TwoSessions => two_sessions::play(stage),
            Check::Crash => crash::play(stage),
            Check::CrashOpening => crash_opening::play(stage),
        }
    }

    /// What is done around the two processes.
    pub(crate) fn direct(self, director: &Director<'_>) -> Result<(), Failure> {
        match self {
            Check::TwoSessions => two_sessions::direct(director),
            Check::Crash => crash::direct(director),
            Check::CrashOpening => crash_opening::direct(director),
            _ => director.play(&director.session()?, 0),
        }
    }
}

/// Whether there is no library behind it: what a library keeps, allocates and prints is its own.
pub(crate) fn is_all_ours(definition: &Definition) -> bool {
    definition.family == "os"
}
