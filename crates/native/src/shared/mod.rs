//! What the transports over shared memory have in common; their own files say how the memory is
//! made and how the receiver is woken, and nothing else.
//!
//! - [`region`]: memory that two processes map; [`posix`]: the POSIX way to make it;
//! - [`cursor`]: two indices that hand room to and fro; [`ring`]: messages in that room;
//! - [`slot`]: one word that hands one room to and fro;
//! - [`futex`]: how an end sleeps until the other one rings;
//! - [`duplex`]: an endpoint of two rings, whatever its notice is.
//!
//! Nothing that the other process writes is trusted to be sane: a number out of range is an error,
//! never a read or a write outside the region. Only the content of a message is what it is.

pub mod cursor;
pub mod duplex;
pub mod futex;
pub mod posix;
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

/// The error for a number that the other process cannot have written while it kept to the protocol.
#[cold]
pub fn corrupt(number: &str) -> Error {
    let cause = format!("the {number} that the other process wrote is out of range");
    Error::new("use", "the shared memory", cause)
}

/// Whether a length can be that of a message.
#[inline]
pub fn is_length(len: usize, payload: usize) -> bool {
    (MIN_PAYLOAD..=payload).contains(&len)
}
