//! Ends all descendants of a process, even those that left their parent, its group or its terminal.

use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        wait::waitpid,
    },
    unistd::{Pid, getpid},
};

use crate::process::{Stat, all};

/// The signals that ask a process to end.
const ENDING: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// Makes this process the parent of its descendants' orphans.
///
/// # Errors
/// The kernel refuses.
pub fn adopt() -> Result<(), Error> {
    prctl::set_child_subreaper(true).map_err(|e| Error::os("adopt", "orphans", e))
}

/// Blocks the signals that report a child's end and those that ask this process to end; from now on they arrive through
/// the descriptor. Children must restore their mask.
///
/// # Errors
/// No descriptor is left.
pub fn signals() -> Result<SignalFd, Error> {
    let mut signals = SigSet::from_iter(ENDING);
    signals.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)
        .and_then(|()| SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC))
        .map_err(|e| Error::scarce("watch", "child processes", e))
}

/// The signal that is pending, if it is one of [`signals`].
pub fn next(signals: &SignalFd) -> Option<Signal> {
    let info = signals.read_signal().ok().flatten()?;
    Signal::try_from(info.ssi_signo as i32).ok()
}

/// Kills every descendant of this process, which must have called [`adopt`] or be the first of its PID namespace, and
/// waits until they are gone. The children of a killed child become children of this process, so in the end none is
/// left.
pub fn end() {
    loop {
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
        }
        if waitpid(None, None) == Err(Errno::ECHILD) {
            return;
        }
    }
}

/// Ends this process by a signal, so that its parent learns of it; returns if the signal does not end a process.
pub fn end_by(signal: i32) {
    // SAFETY: the default action runs no code of ours, and the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

fn children() -> Vec<Pid> {
    let is_child = |process: &Pid| Stat::of(*process).is_some_and(|stat| stat.parent == getpid());
    all().filter(is_child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_found_by_its_parent() {
        let mut child = Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::null())
            .spawn()
            .expect("sleep is there");
        let process = Pid::from_raw(child.id() as i32);
        assert!(children().contains(&process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children().contains(&process));
    }
}
