//! The bytes of a message after its head: written, read and verified. A crate of its own, because its loops are
//! optimised in development builds, unlike the crates that call them for every message.

pub mod sequence;
pub mod word;
