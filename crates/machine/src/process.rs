//! What a process of ours sets for itself.

use ipcmark_transport::Error;
use nix::sys::{prctl, signal::Signal};

/// Makes the kernel kill this process when the thread that started it ends: nothing outlives the command,
/// however that ends.
///
/// # Errors
/// The kernel refuses, as under some seccomp profiles.
pub fn die_with_parent() -> Result<(), Error> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL))
        .map_err(|e| Error::os("tie", "a process to ipcmark", e))
}
