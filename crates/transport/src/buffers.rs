//! The buffers that an application writes messages into and reads them from, where a transport copies them.

use crate::OptionSpec;

/// The option of every transport that copies messages from and into memory of the end itself.
pub const BUFFERS: OptionSpec = OptionSpec::new(
    "buffers",
    "1..1M|cold",
    "1",
    "buffers of its own that each end writes messages into, and as many that it reads them from, one after the other; \
     cold: as many as the last-level cache holds, so that all of them together exceed it",
);

/// The word for as many buffers as the last-level cache holds.
pub const COLD: &str = "cold";

/// The most bytes of the buffers of one way of an end.
pub const MOST_BUFFER_BYTES: u64 = 1 << 30;
