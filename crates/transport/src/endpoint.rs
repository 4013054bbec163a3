//! One process's end of a transport: the hot path.

use std::{collections::BTreeMap, hint::spin_loop};

use crate::Error;

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// The attempt succeeded.
    Done,
    /// Not possible yet; call again with the same arguments.
    WouldBlock,
}

/// One process's end of a transport.
///
/// A sender calls `loan`, writes into `room`, calls `publish`; a receiver calls `take`, reads
/// `message`, calls `release`. At any time at most one message is on loan and at most one is taken.
/// The four attempts follow the wait that the end was opened with:
///
/// - `spin`: they never sleep, and return [`Step::WouldBlock`] where they cannot proceed;
/// - `block`: they sleep in the kernel until they can proceed. They may return `WouldBlock` early
///   (a signal, a timeout of the mechanism), and the caller then calls again;
/// - `hybrid`: they poll for a while, then sleep.
///
/// An attempt that returned `WouldBlock` may have done part of the work (half of a large message
/// is in the pipe); the next call continues where it stopped. So the caller repeats it until it is
/// `Done`. It may take a message in between, and must where both directions could be full. One
/// thread uses an end.
///
/// An error is final: after it, the end can only be dropped. Dropping releases everything, in any
/// state; an end whose peer died does not hang in its drop.
pub trait Endpoint {
    /// Gets room for one message of exactly `len` bytes, [`MIN_PAYLOAD`](crate::MIN_PAYLOAD) ≤
    /// `len` ≤ the `payload` of the settings. The initial content of the room is undefined.
    fn loan(&mut self, len: usize) -> Result<Step, Error>;

    /// The room on loan. Call it only between a completed `loan` and `publish`.
    fn room(&mut self) -> &mut [u8];

    /// Hands the message on loan over to the other end.
    fn publish(&mut self) -> Result<Step, Error>;

    /// Receives the next message.
    fn take(&mut self) -> Result<Step, Error>;

    /// The taken message. Call it only between a completed `take` and `release`.
    fn message(&self) -> &[u8];

    /// Gives back the room of the taken message. Never blocks.
    fn release(&mut self) -> Result<(), Error>;

    /// The pause between two attempts of a loop that polls: the processor's own hint for such loops. An end whose
    /// attempts take far longer than the hint, because they call the kernel or a library, has none.
    #[inline(always)]
    fn pause(&self) {
        spin_loop();
    }

    /// Exchanges the source buffer: the next message is written into the next of several. Called between a completed
    /// `publish` and a `loan`, only where the option [`BUFFERS`](crate::BUFFERS) is set.
    fn next_source(&mut self) {}

    /// Exchanges the target buffer: the next message is read from the next of several. Called between a `release` and
    /// a `take`, only where the option [`BUFFERS`](crate::BUFFERS) is set.
    fn next_target(&mut self) {}

    /// True if messages may be lost with the options of this end, although the transport is generally
    /// reliable. Both ends return the same. The limit on sleeps in [`Capabilities::reliable`] then
    /// applies.
    ///
    /// [`Capabilities::reliable`]: crate::Capabilities::reliable
    fn may_lose(&self) -> bool {
        false
    }

    /// The library settings of this end, in the library's own words, for the result. Called once,
    /// after open.
    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// The average number of parts of a published message: more than one where the carrier holds less than one
    /// message, so that the receiver must make room before the sender can continue. Called once, at the end. `None` if
    /// unknown.
    fn parts_per_message(&self) -> Option<f64> {
        None
    }
}
