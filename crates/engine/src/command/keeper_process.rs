//! The keeper's process, as the process that starts it sees it.

use std::{
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use ipcmark_transport::Error;

use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::{
    mark::{self, Mark},
    process::pidfd,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::Pid,
};

use super::stderr_tail::{StderrTail, pipe};
use crate::wire::COMMAND_FD;

/// The argument that makes the executable a keeper.
pub const KEEPER_COMMAND: &str = "__keeper";

/// The time that a keeper has to end its workers and itself.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// A keeper's process. Dropping this value ends it.
pub struct KeeperProcess {
    child: Child,
    /// The connection to it.
    pub frames: FrameSocket,
    stderr: StderrTail,
    /// The mark of all processes that it starts.
    mark: Mark,
}

impl KeeperProcess {
    /// Starts a keeper: a fresh copy of the executable.
    ///
    /// # Errors
    /// The system has no process, descriptor or memory left.
    pub fn start() -> Result<Self, Error> {
        let (frames, theirs) = FrameSocket::pair()?;
        let (tail, stderr) = pipe()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").arg(KEEPER_COMMAND).stdin(Stdio::null());
        let mark = Mark::new();
        command.env(mark::VARIABLE, mark.text());
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
        Ok(Self { child, frames, stderr: StderrTail::new(tail), mark })
    }

    /// The process id.
    pub(crate) fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Its exit status and standard error tail, once its frames have ended. The kernel closes a dying process's
    /// descriptors before it has an exit status, so this waits for the status.
    pub fn exit(&mut self, time_limit: Duration) -> (String, Option<String>) {
        let how = match self.await_exit(time_limit) {
            Some(status) => format!("the session's keeper ended ({status})"),
            None => "the session's keeper ended".into(),
        };
        // All that it wrote is in the pipe; a process that it left may keep the pipe open.
        self.stderr.fill();
        (how, self.stderr.text())
    }

    /// Sleeps until the process has ended. Without pidfds (before Linux 5.3) it checks once.
    fn await_exit(&mut self, time_limit: Duration) -> Option<ExitStatus> {
        if let Some(pidfd) = pidfd(Pid::from_raw(self.child.id() as i32)) {
            let mut wanted = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
            let most = PollTimeout::try_from(time_limit).unwrap_or(PollTimeout::MAX);
            while poll(&mut wanted, most) == Err(Errno::EINTR) {}
        }
        self.child.try_wait().ok().flatten()
    }

    /// Waits until it is gone, after its last order. It ends everything that the workers have started. If it does
    /// not, or was killed, those processes are found by its mark.
    pub fn end(&mut self) {
        self.frames.close();
        self.stderr.fill_until_end(Instant::now() + ENDS_WITHIN);
        let _ = self.child.kill();
        if !self.child.wait().is_ok_and(|status| status.success()) {
            self.mark.end(ENDS_WITHIN);
        }
    }
}

impl Drop for KeeperProcess {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The status was missing if it came after the end of the frames.
    #[test]
    fn an_exit_status_that_comes_late_is_waited_for() {
        let (frames, _) = FrameSocket::pair().unwrap();
        let (tail, stderr) = pipe().unwrap();
        let late = "echo the last line >&2; exec 2>&-; sleep 0.5; kill -9 $$";
        let child = Command::new("sh").args(["-c", late]).stderr(stderr).spawn().unwrap();
        let mut keeper =
            KeeperProcess { child, frames, stderr: StderrTail::new(tail), mark: Mark::new() };
        let (how, text) = keeper.exit(Duration::from_secs(60));
        assert_eq!(how, "the session's keeper ended (signal: 9 (SIGKILL))");
        assert_eq!(text.as_deref(), Some("the last line"));
    }
}
