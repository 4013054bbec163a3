//! The early end of a rank's measurements.

use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    sync::OnceLock,
};

/// The reason why a rank stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HaltCause {
    /// The user interrupted it.
    Signal,
    /// Rank 0 ends the job.
    Ordered,
    /// Rank 0 is gone.
    Deserted(String),
    /// Only on rank 0: these ranks are gone, and why.
    Died(Vec<u32>, String),
}

/// Set once, by the first thread that finds a cause; measuring and waiting code checks it.
pub(super) struct Halt {
    /// Readable once it is set.
    pub readable: UnixStream,
    written: UnixStream,
    cause: OnceLock<HaltCause>,
}

impl Halt {
    pub(super) fn new() -> io::Result<Self> {
        let (readable, written) = UnixStream::pair()?;
        Ok(Self { readable, written, cause: OnceLock::new() })
    }

    /// Sets it; only the first cause is kept.
    pub(super) fn set(&self, cause: HaltCause) {
        if self.cause.set(cause).is_ok() {
            let _ = (&self.written).write_all(b"!");
        }
    }

    /// The cause, if it is set.
    pub(super) fn cause(&self) -> Option<&HaltCause> {
        self.cause.get()
    }

    pub(super) fn is_set(&self) -> bool {
        self.cause.get().is_some()
    }
}
