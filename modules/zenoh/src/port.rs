//! The carrier of an endpoint's messages, which the library copies: publications, or queries and their replies.

use ipcmark_transport::{Error, Step};
use zenoh::bytes::ZBytes;

/// Sends and receives the messages of an endpoint.
pub trait Port: 'static {
    /// True if one more message may be sent.
    fn has_room(&mut self) -> bool;

    /// Passes a message to the library.
    fn send(&mut self, message: ZBytes) -> Result<Step, Error>;

    /// The next message, if one is there or arrives while this endpoint sleeps.
    fn receive(&mut self) -> Result<Option<ZBytes>, Error>;

    /// The received message is no longer needed.
    fn release(&mut self);
}
