//! The counts in the memory that the tracer and the process share.

use std::sync::atomic::AtomicU64;

/// Numbers of system calls below this one are counted; there are fewer than 500 on any architecture.
const NUMBERS: usize = 1024;

/// The counts of one system call. In a page shared with the tracer.
#[derive(Default)]
pub(super) struct CallCounts {
    pub(super) made: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) bytes: AtomicU64,
}

pub(super) struct CallTable(pub(super) [CallCounts; NUMBERS]);
