//! The process of a keeper, as whoever starts it sees it.

use std::{
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use ipcmark_transport::Error;

use ipcmark_fdpass::FrameSocket;

use super::stderr_tail::{StderrTail, pipe};
use crate::wire::COMMAND_FD;

/// The word by which the executable is told to be a keeper.
pub const KEEPER_COMMAND: &str = "__keeper";

/// How long a keeper may take to end its workers and itself.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// A keeper's process. It ends when this is dropped.
pub(crate) struct KeeperProcess {
    child: Child,
    pub frames: FrameSocket,
    stderr: StderrTail,
}

impl KeeperProcess {
    /// Starts a keeper: a fresh copy of the executable.
    pub(crate) fn start() -> Result<Self, Error> {
        let (frames, theirs) = FrameSocket::pair()?;
        let (tail, stderr) = pipe()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").arg(KEEPER_COMMAND).stdin(Stdio::null());
        let out = stderr.try_clone().map_err(|e| Error::scarce("copy", "a pipe", e))?;
        command.stdout(out).stderr(stderr);
        let fd = theirs.as_fd().as_raw_fd();
        // SAFETY: between fork and exec only async-signal-safe calls are made. A descriptor that
        // already has the right number only loses its close-on-exec flag.
        unsafe {
            command.pre_exec(move || {
                let done = if fd == COMMAND_FD {
                    libc::fcntl(fd, libc::F_SETFD, 0)
                } else {
                    libc::dup2(fd, COMMAND_FD)
                };
                if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        let child = command.spawn().map_err(|e| Error::scarce("start", "a session", e))?;
        Ok(Self { child, frames, stderr: StderrTail::new(tail) })
    }

    /// How it ended, with the end of its standard error, once its frames have.
    pub(crate) fn exit(&mut self, patience: Duration) -> (String, Option<String>) {
        self.stderr.fill_until_end(Instant::now() + patience);
        let how = match self.child.try_wait() {
            Ok(Some(status)) => format!("the session's keeper ended ({status})"),
            _ => "the session's keeper ended".into(),
        };
        (how, self.stderr.text())
    }

    /// Waits until it is gone, after its last order. It takes along whatever the workers have
    /// started. One that does not is killed; the workers then die by their parent-death signal.
    pub(crate) fn end(&mut self) {
        self.frames.close();
        self.stderr.fill_until_end(Instant::now() + ENDS_WITHIN);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for KeeperProcess {
    fn drop(&mut self) {
        self.end();
    }
}
