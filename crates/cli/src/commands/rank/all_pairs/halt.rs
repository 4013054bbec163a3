//! What ends the measurements of a rank before their time.

use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    sync::OnceLock,
};

/// Why a rank stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The user interrupts it.
    Signal,
    /// Rank 0 ends the job.
    Ordered,
    /// Rank 0 is gone.
    Deserted(String),
    /// Of rank 0 alone: these ranks are gone, and why.
    Died(Vec<u32>, String),
}

/// Set once, by whoever finds the cause; what measures or waits sees it.
pub(super) struct Halt {
    /// Readable once it is set.
    pub readable: UnixStream,
    written: UnixStream,
    cause: OnceLock<Cause>,
}

impl Halt {
    pub(super) fn new() -> io::Result<Self> {
        let (readable, written) = UnixStream::pair()?;
        Ok(Self { readable, written, cause: OnceLock::new() })
    }

    /// Sets it; the first cause counts.
    pub(super) fn set(&self, cause: Cause) {
        if self.cause.set(cause).is_ok() {
            let _ = (&self.written).write_all(b"!");
        }
    }

    /// Why, if it is set.
    pub(super) fn cause(&self) -> Option<&Cause> {
        self.cause.get()
    }

    pub(super) fn is_set(&self) -> bool {
        self.cause.get().is_some()
    }
}
