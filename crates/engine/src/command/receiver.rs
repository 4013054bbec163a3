//! The receiver of messages one way, whose wake-ups the kernel notes, and the command reads after each turn.

use hdrhistogram::Histogram;
use ipcmark_machine::{placement::Placement, wakeups::WakeUps};
use ipcmark_transport::{Error, Pattern, Wait};

use super::session::Session;
use crate::wire::FOLLOWER_THREAD;

/// The receiver of a row.
#[derive(Default)]
pub(super) enum Receiver {
    /// It has no wake-ups of interest: it spins, or messages go both ways.
    #[default]
    Awake,
    /// They cannot be known, and why.
    Unknown(String),
    /// They are noted; what they took so far.
    Watched(Box<(WakeUps, Histogram<u64>)>),
}

/// The wake-ups of a trial in nanoseconds, or why they are not known.
pub(crate) type KnownWakeUps = Result<Histogram<u64>, String>;

impl Receiver {
    /// That of a session whose ends are open, which sends about so many messages in a turn.
    pub(super) fn of(
        session: &Session<'_>,
        pattern: Pattern,
        wait: Wait,
        placement: &Placement,
        messages: u64,
    ) -> Self {
        if pattern != Pattern::OneWay || wait == Wait::Spin {
            return Self::Awake;
        }
        match watched(session, placement, messages) {
            Ok(wake_ups) => Self::Watched(Box::new((wake_ups, ipcmark_results::new_histogram()))),
            Err(error) => Self::Unknown(error.to_string()),
        }
    }

    /// A turn begins.
    pub(super) fn start(&mut self) {
        if let Self::Watched(watched) = self {
            watched.0.start();
        }
    }

    /// The turn is over.
    pub(super) fn stop(&mut self) {
        let Self::Watched(watched) = self else { return };
        match watched.0.stop() {
            Ok(times) => times.into_iter().for_each(|ns| watched.1.saturating_record(ns)),
            Err(error) => *self = Self::Unknown(error.to_string()),
        }
    }

    /// Of all its turns; nothing where nobody asks.
    pub(super) fn wake_ups(self) -> Option<KnownWakeUps> {
        match self {
            Self::Awake => None,
            Self::Unknown(reason) => Some(Err(reason)),
            Self::Watched(watched) => Some(Ok(watched.1)),
        }
    }
}

fn watched(session: &Session<'_>, placement: &Placement, messages: u64) -> Result<WakeUps, Error> {
    let thread = session.keeper_of_followers().and_then(|keeper| {
        ipcmark_machine::wakeups::oldest_thread(keeper, FOLLOWER_THREAD.to_str().ok()?)
    });
    let Some(thread) = thread else {
        return Err(Error::new("trace", "wake-ups", "another command started the receiver"));
    };
    WakeUps::of(thread, &placement.cpus().collect::<Vec<_>>(), messages)
}
