//! Settings of our own processes, and the system's information on any process.

use std::{
    fs, io,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::ExitStatus,
};

use ipcmark_transport::Error;
use nix::{
    sys::{prctl, signal::Signal},
    unistd::Pid,
};

/// Makes the kernel kill this process when the thread that started it ends: nothing outlives the command, however it
/// ends.
///
/// # Errors
/// The kernel refuses, as under some seccomp profiles.
pub fn die_with_parent() -> Result<(), Error> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL))
        .map_err(|e| Error::os("tie", "a process to ipcmark", e))
}

/// The out-of-memory score of our processes: higher than that of ordinary ones, so the kernel kills them first.
const OOM_SCORE: i32 = 500;

/// Makes the kernel kill this process and its children first when memory runs out: a killed worker costs a row, a
/// killed command the run. If the system does not permit it, the score stays unchanged.
pub fn end_first_without_memory() {
    let file = "/proc/self/oom_score_adj";
    let inherited = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if inherited.is_some_and(|score| score < OOM_SCORE) {
        let _ = fs::write(file, OOM_SCORE.to_string());
    }
}

/// The processes that `/proc` shows: those of this PID namespace and of the namespaces within it.
pub fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)))
}

/// Reaps `child`, or any child of this process if it is none, if it has ended; returns it and how it ended. A signal
/// without a name, a real-time one, ends a child as any other does.
pub fn reap(child: Option<Pid>) -> Option<(Pid, ExitStatus)> {
    let (ended, status) = waitpid(child.map_or(-1, Pid::as_raw), libc::WNOHANG);
    (ended > 0).then(|| (Pid::from_raw(ended), status))
}

/// Waits until a child has ended.
///
/// # Errors
/// It is no child of this process.
pub fn wait_for_end(child: Pid) -> io::Result<ExitStatus> {
    loop {
        let (ended, status) = waitpid(child.as_raw(), 0);
        if ended > 0 {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn waitpid(child: i32, flags: i32) -> (i32, ExitStatus) {
    let mut status = 0;
    // SAFETY: the kernel writes the status, and nothing else.
    let ended = unsafe { libc::waitpid(child, &mut status, flags) };
    (ended, ExitStatus::from_raw(status))
}

/// How a process ended, in words: `was killed by signal 9 (SIGKILL)`.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match Signal::try_from(signal) {
            Ok(name) => format!("was killed by signal {signal} ({name})"),
            Err(_) => format!("was killed by signal {signal}"),
        },
        (None, Some(code)) => format!("exited with status {code}"),
        (None, None) => format!("ended: {status}"),
    }
}

/// A descriptor of a process, readable when it has ended; none if the kernel does not support it (before Linux 5.3) or
/// the process is gone.
pub fn pidfd(process: Pid) -> Option<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    // SAFETY: the kernel has just made it for this process.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A line of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The name, which the process can choose.
    pub name: String,
    /// The state, as one letter.
    pub state: char,
    /// The parent.
    pub parent: Pid,
    flags: u64,
    /// The start time, in ticks since system start. Together with the number it identifies a process permanently,
    /// because numbers are reused.
    pub start: u64,
}

impl Stat {
    /// The line of a process; none if it is gone.
    pub fn of(process: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// The name is in parentheses and can contain any character, including parentheses.
    fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            name: head.split_once('(')?.1.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
            flags: fields.get(6)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    /// True if it has ended and only its parent has not waited for it yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// True if it is exiting: it has released its memory, and may still hold files and their locks.
    pub fn is_ending(&self) -> bool {
        // The kernel's `PF_EXITING`.
        const EXITING: u64 = 4;
        self.flags & EXITING != 0 && !self.has_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 4194308 77 0 0 0 1 2 0 0 20 0 1 0 4242 9 9";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.name.as_str(), stat.state, stat.start), ("a) b (c", 'S', 4242));
        assert_eq!(stat.parent, Pid::from_raw(3));
        assert!(stat.is_ending() && !stat.has_ended());
        assert_eq!(Stat::parse("7 (a)"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn this_process_runs() {
        let own = Stat::of(Pid::this()).unwrap();
        assert!(!own.has_ended() && !own.is_ending());
        assert_eq!(own.parent, Pid::parent());
        assert!(all().any(|process| process == Pid::this()));
    }
}
