//! The application's buffers that messages are written into and read from, where a transport copies them.

use crate::OptionSpec;

/// The option of every transport that copies messages from and into the end's own memory.
pub const BUFFERS: OptionSpec = OptionSpec::new(
    "buffers",
    "1..1M|cold",
    "1",
    "buffers of its own that each end writes messages into, and as many that it reads them from, one after the other; \
     cold: as many as the last-level cache holds, so that all of them together exceed it",
);

/// The option's value for as many buffers as the last-level cache holds.
pub const COLD: &str = "cold";

/// The most bytes of all buffers of one direction of an end.
pub const MOST_BUFFER_BYTES: u64 = 1 << 30;
