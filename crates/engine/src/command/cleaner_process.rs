//! The cleaner's process, as the command sees it.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
};

use ipcmark_machine::mark::Owner;
use ipcmark_transport::{Error, RunId};

use super::keeper_process::KEEPER_COMMAND;

/// The argument that makes a keeper a cleaner.
pub(crate) const CLEANER: &str = "cleaner";

/// The byte that tells a cleaner that nothing is left to do.
pub(crate) const DISMISSED: u8 = b'.';

/// A process that outlives this command if the command is killed, ends its sessions and removes its run's
/// leftovers. It notices that by its standard input. Dropping this value tells it that nothing is left to do.
pub struct CleanerProcess {
    run: Option<RunId>,
    child: Child,
}

impl CleanerProcess {
    /// Starts the cleaner of this command, and of the names of its run if it has one.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(run: Option<RunId>) -> Result<Self, Error> {
        let child =
            spawn(run).map_err(|e| Error::scarce("start", "a process that cleans up", e))?;
        Ok(Self { run, child })
    }

    /// Restarts the cleaner if it was killed.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            return Ok(());
        }
        *self = Self::start(self.run)?;
        Ok(())
    }
}

impl Drop for CleanerProcess {
    fn drop(&mut self) {
        let told =
            self.child.stdin.take().map(|mut stdin: ChildStdin| stdin.write_all(&[DISMISSED]));
        // A cleaner that has already ended cannot be told.
        drop(told);
        let _ = self.child.wait();
    }
}

fn spawn(run: Option<RunId>) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("ipcmark").args([KEEPER_COMMAND, CLEANER, &Owner::this().to_string()]);
    command.args(run.map(|run| run.to_string()));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: the terminal's signals are for the command.
    command.process_group(0).spawn()
}
