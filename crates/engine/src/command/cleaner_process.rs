//! The process of a cleaner, as the command sees it.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
};

use ipcmark_machine::mark::Owner;
use ipcmark_transport::{Error, RunId};

use super::keeper_process::KEEPER_COMMAND;

/// The word by which a keeper is told to be a cleaner.
pub(crate) const CLEANER: &str = "cleaner";

/// What tells a cleaner that there is nothing for it to do.
pub(crate) const DISMISSED: u8 = b'.';

/// A process that outlives this command if that is killed, ends its sessions and removes what its run has
/// left. It learns of that by its standard input. Dropping it says that nothing is left to do.
pub struct CleanerProcess {
    run: Option<RunId>,
    child: Child,
}

impl CleanerProcess {
    /// Starts the cleaner of this command, and of the names of its run if it has any.
    ///
    /// # Errors
    /// There is no process left.
    pub fn start(run: Option<RunId>) -> Result<Self, Error> {
        let child =
            spawn(run).map_err(|e| Error::scarce("start", "a process that cleans up", e))?;
        Ok(Self { run, child })
    }

    /// Starts it again where somebody has killed it.
    pub(crate) fn revive(&mut self) -> Result<(), Error> {
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
        // One that has ended already cannot be told.
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
