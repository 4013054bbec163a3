//! The process between the command and the process that loads the module. Every process that the library starts, even
//! if it leaves its parent, its group and its terminal, finally becomes a child of this process and ends before it
//! does.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::{self, ExitStatus},
};

use ipcmark_machine::{descendants, process::reap};
use ipcmark_transport::Error;
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, SigmaskHow, Signal, sigprocmask},
        signalfd::SignalFd,
    },
    unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork},
};

/// Returns in a child of this process, which works on the module. This process ends with the child's status, or when
/// the command closes the pipe to standard input.
///
/// # Errors
/// No process could be started.
pub(crate) fn begin() -> Result<(), Error> {
    descendants::adopt()?;
    let signals = descendants::signals()?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|e| Error::scarce("open", "/dev/null", e))?;
    let settled = |result: nix::Result<()>| {
        result.map_err(|e| Error::os("settle", "a process for a module", e))
    };
    // SAFETY: this process is a fresh copy of the executable, with one thread.
    match unsafe { fork() }.map_err(|e| Error::scarce("fork", "a process for a module", e))? {
        ForkResult::Child => {
            let none = Some(&SigSet::empty());
            settled(dup2_stdin(null).and(sigprocmask(SigmaskHow::SIG_SETMASK, none, None)))
        }
        ForkResult::Parent { child } => {
            // Only the child keeps the pipes to the command.
            settled(dup2_stdout(&null).and(dup2_stderr(&null)))?;
            supervise(child, &signals)
        }
    }
}

fn supervise(child: Pid, signals: &SignalFd) -> ! {
    let status = await_end(child, signals);
    descendants::end();
    if let Some(signal) = status.and_then(|status| status.signal()) {
        descendants::end_by(signal);
    }
    process::exit(status.and_then(|status| status.code()).unwrap_or(1))
}

/// The status of the child; `None` if the child must be ended.
fn await_end(child: Pid, signals: &SignalFd) -> Option<ExitStatus> {
    let stdin = io::stdin();
    loop {
        let mut wanted = [
            PollFd::new(stdin.as_fd(), PollFlags::empty()),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        let _ = poll(&mut wanted, PollTimeout::NONE);
        let [closed, signalled] = wanted.map(|fd| fd.any().unwrap_or(false));
        let signal = signalled.then(|| descendants::next(signals)).flatten();
        if closed || signal.is_some_and(|signal| signal != Signal::SIGCHLD) {
            return None;
        }
        if let Some((_, status)) = reap(Some(child)) {
            return Some(status);
        }
    }
}
