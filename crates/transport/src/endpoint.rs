//! One process's end of a transport: the hot path.

use std::collections::BTreeMap;

use crate::Error;

/// How far an attempt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// It is done.
    Done,
    /// It cannot be done yet; call again with the same arguments.
    WouldBlock,
}

/// One process's end of a transport.
///
/// A sender calls `loan`, writes into `room`, calls `publish`; a receiver calls `take`, reads
/// `message`, calls `release`. One message at most is on loan and one at most is taken at any time.
/// The four attempts follow the wait that the end was opened with:
///
/// - `spin`: they never sleep; what cannot be done now is [`Step::WouldBlock`];
/// - `block`: they sleep in the kernel until it can be done. They may return `WouldBlock` early
///   (a signal, a timeout of the mechanism), and the caller then calls again;
/// - `hybrid`: they poll for a while, then sleep.
///
/// An attempt that returned `WouldBlock` may have done a part of the work (half of a large message
/// is in the pipe); the next call goes on where it stopped. So the caller repeats it until it is
/// `Done`; it may take a message in between, and must where both ends could be full. An end is used
/// by one thread.
///
/// An error is final: the end is only fit to be dropped. Dropping it releases everything, whatever
/// state it is in; an end whose peer died does not hang in its drop.
pub trait Endpoint {
    /// Gets room for one message of exactly `len` bytes, [`MIN_PAYLOAD`](crate::MIN_PAYLOAD) ≤
    /// `len` ≤ the `payload` of the settings. The content of the room is undefined.
    fn loan(&mut self, len: usize) -> Result<Step, Error>;

    /// The room on loan. Call it only between a `loan` that is done and `publish`.
    fn room(&mut self) -> &mut [u8];

    /// Hands the message on loan over to the other end.
    fn publish(&mut self) -> Result<Step, Error>;

    /// Receives the next message.
    fn take(&mut self) -> Result<Step, Error>;

    /// The message taken. Call it only between a `take` that is done and `release`.
    fn message(&self) -> &[u8];

    /// Gives the room of the message taken back. Never blocks.
    fn release(&mut self) -> Result<(), Error>;

    /// Writes the next message into the next of several buffers. Called between a `publish` that is done and a `loan`,
    /// only where the option [`BUFFERS`](crate::BUFFERS) is set.
    fn next_source(&mut self) {}

    /// Reads the next message from the next of several buffers. Called between a `release` and a `take`, only where the
    /// option [`BUFFERS`](crate::BUFFERS) is set.
    fn next_target(&mut self) {}

    /// Whether messages may be lost with the options that it was opened with, though the transport is
    /// reliable as a rule. Both ends say the same. What [`Capabilities::reliable`] says of sleeps
    /// holds then.
    ///
    /// [`Capabilities::reliable`]: crate::Capabilities::reliable
    fn may_lose(&self) -> bool {
        false
    }

    /// What this end set of its library, in the library's own words, for the result. Asked once,
    /// after open.
    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// The parts that a message was published in, on average: more than one where what carries it holds less than a
    /// message, so that the receiver has to make room before the sender can go on. Asked once, at the end; none where
    /// the transport does not know.
    fn parts_per_message(&self) -> Option<f64> {
        None
    }
}
