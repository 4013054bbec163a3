//! Ctrl-C and SIGTERM: the run ends once its measurements are saved.

use std::{
    io,
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ipcmark_machine::inherited::is_ignored;
use ipcmark_transport::Error;
use signal_hook::{
    consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM},
    flag,
    low_level::pipe,
};

/// Signals that end a run. An alarm is a time limit that was set before the command was executed. Ignored
/// signals stay ignored, as under nohup and in a shell's background job.
const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGALRM];

/// Reports that the user wants to stop, and by which signal.
pub(crate) struct Interrupts {
    /// Readable from the first signal on.
    pub readable: UnixStream,
    signal: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Catches the signals from here on.
    pub(crate) fn catch() -> Result<Self, Error> {
        Self::register().map_err(|e| Error::scarce("catch", "signals", e))
    }

    fn register() -> io::Result<Self> {
        let (readable, written) = UnixStream::pair()?;
        let signal = Arc::new(AtomicUsize::new(0));
        for number in SIGNALS.into_iter().filter(|number| !is_ignored(*number)) {
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            pipe::register(number, written.try_clone()?)?;
        }
        Ok(Self { readable, signal })
    }

    /// The received signal, if there is one.
    pub(crate) fn signal(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::Relaxed);
        u8::try_from(signal).ok().filter(|signal| *signal != 0)
    }

    /// The exit status of a command that a signal ended, as shells report it.
    pub(crate) fn exit_status(&self) -> ExitCode {
        ExitCode::from(128 + self.signal().unwrap_or(SIGINT as u8))
    }
}
