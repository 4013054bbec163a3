//! The limits of a message's size.

/// The smallest message in bytes: the header that the engine writes into each.
pub const MIN_PAYLOAD: usize = 16;

/// The largest message in bytes that ipcmark sends.
pub const MAX_PAYLOAD: usize = 4 << 20;
