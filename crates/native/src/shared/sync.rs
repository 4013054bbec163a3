//! The atomics of the protocols: the processor's, or loom's, with which a test explores all
//! interleavings that the memory model allows.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
