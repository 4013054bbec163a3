//! The receiver of messages one way, whose wake-ups the kernel notes for the command.

use hdrhistogram::Histogram;
use ipcmark_machine::{placement::Placement, wakeups::WakeUps};
use ipcmark_transport::Error;

use super::session::Session;
use crate::wire::FOLLOWER_THREAD;

/// The wake-ups of a trial in nanoseconds, or the reason why they are unknown.
pub(crate) type KnownWakeUps = Result<Histogram<u64>, String>;

/// Begins to watch the receiver of a session, which will be woken about so many times.
pub(super) fn watch(
    session: &Session<'_>,
    placement: &Placement,
    messages: u64,
) -> Result<WakeUps, Error> {
    let thread = session.keeper_of_followers().and_then(|keeper| {
        ipcmark_machine::wakeups::oldest_thread(keeper, FOLLOWER_THREAD.to_str().ok()?)
    });
    let Some(thread) = thread else {
        return Err(Error::new("trace", "wake-ups", "another command started the receiver"));
    };
    WakeUps::of(thread, &placement.cpus().collect::<Vec<_>>(), messages)
}
