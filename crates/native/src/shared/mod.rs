//! The common parts of the transports over shared memory. The transports' own files only define how
//! the memory is created and how the receiver is woken.
//!
//! - [`region`]: memory that two processes map; [`posix`]: the POSIX way to create it;
//! - [`cursor`]: slots that pass back and forth; [`ring`]: messages in these slots;
//! - [`slot`]: one word per direction that passes messages and room;
//! - [`prefetch`]: cache lines that are about to be written;
//! - [`futex`]: sleep and wake-up between two ends; [`pauses`]: the pauses of an end that polls;
//! - [`duplex`]: an endpoint of two rings, with any notifier.
//!
//! Nothing written by the other process is trusted: a number out of range is an error, never a read
//! or a write outside the region. Only the content of a message is not checked.

pub mod cursor;
pub mod duplex;
pub mod futex;
pub mod pauses;
pub mod posix;
pub mod prefetch;
pub mod region;
pub mod ring;
pub mod slot;
pub mod sync;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use ipcmark_transport::{
    Capabilities, Carrier, DeclaredCarrier, Definition, Error, MIN_PAYLOAD, OptionSpec, Wait,
};

/// The definition of a transport over shared memory.
pub const fn definition(
    name: &'static str,
    summary: &'static str,
    waits: &'static [Wait],
    options: &'static [OptionSpec],
) -> Definition {
    Definition {
        name: Cow::Borrowed(name),
        family: Cow::Borrowed("os"),
        summary: Cow::Borrowed(summary),
        carrier: DeclaredCarrier::Always(Carrier::SharedMemory),
        options: Cow::Borrowed(options),
        capabilities: {
            let mut capabilities = Capabilities::waiting(waits);
            capabilities.loans = true;
            capabilities
        },
    }
}

/// The error for a number that the other process cannot have written while following the protocol.
#[cold]
pub fn corrupt(number: &str) -> Error {
    let cause = format!("the {number} that the other process wrote is out of range");
    Error::new("use", "the shared memory", cause)
}

/// True if a message can have this length.
#[inline]
pub fn is_length(len: usize, payload: usize) -> bool {
    (MIN_PAYLOAD..=payload).contains(&len)
}
