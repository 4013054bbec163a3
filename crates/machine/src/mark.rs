//! A mark in the environment of every process of a session, by which its processes are found.
//!
//! A process that a library starts can leave its parent, its process group and its terminal, but it keeps the
//! environment. The mark exists before the process does, and identifies its command permanently: by PID namespace,
//! number and start time. So the processes of a dead command are distinguished from those of a running one.

use std::{
    fmt, fs,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};

use crate::process::{Stat, all, pidfd};

/// The environment variable that carries the mark.
pub const VARIABLE: &str = "IPCMARK_SESSION";

/// The pause between two checks of processes that are ending.
const PAUSE: Duration = Duration::from_millis(2);

/// The permanent identity of a command, which no other process ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The inode of the PID namespace in which the number is valid.
    namespace: u64,
    pid: i32,
    start: u64,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let pid = Pid::this();
        let start = Stat::of(pid).map_or(0, |stat| stat.start);
        Self { namespace: namespace(), pid: pid.as_raw(), start }
    }

    /// True if the command is known to be dead: only a process of the same PID namespace can know.
    pub fn is_dead(&self) -> bool {
        let lives = |stat: Stat| stat.start == self.start && !stat.has_ended();
        self.namespace == namespace() && !Stat::of(Pid::from_raw(self.pid)).is_some_and(lives)
    }

    /// The command in a mark or in a text that [`Owner`]'s `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let namespace = numbers.next()?.parse().ok()?;
        let pid = numbers.next()?.parse().ok().filter(|pid| *pid > 0)?;
        Some(Self { namespace, pid, start: numbers.next()?.parse().ok()? })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.namespace, self.pid, self.start)
    }
}

fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// The mark of one session of this command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// A mark that no other session has.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(format!("{}.{}", Owner::this(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Its text, for the value of [`VARIABLE`] in the environment of the session's first process.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Kills all processes with this mark, and waits until they are gone, for up to `time_limit`.
    pub fn end(&self, time_limit: Duration) {
        end(&|text| text == self.0, time_limit);
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

/// A process that was ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndedProcess {
    /// Its number.
    pub pid: i32,
    /// Its name, which the process can choose.
    pub name: String,
}

/// Kills the processes of `owner`, and waits until they are gone, for up to `time_limit`.
pub fn end_of(owner: Owner, time_limit: Duration) -> Vec<EndedProcess> {
    end(&|text| Owner::parse(text) == Some(owner), time_limit)
}

/// Kills the processes of every command that is known to be dead, and waits until they are gone, for up to `time_limit`.
pub fn end_orphans(time_limit: Duration) -> Vec<EndedProcess> {
    end(&|text| Owner::parse(text).is_some_and(|owner| owner.is_dead()), time_limit)
}

/// One pass may not be enough: a process that is being killed can still start another.
fn end(is_theirs: &dyn Fn(&str) -> bool, time_limit: Duration) -> Vec<EndedProcess> {
    let deadline = Instant::now() + time_limit;
    let mut ended = Vec::new();
    loop {
        let found: Vec<Pid> = all().filter(|process| is_to_end(*process, is_theirs)).collect();
        if found.is_empty() || Instant::now() > deadline {
            ended.sort();
            ended.dedup();
            return ended;
        }
        ended.extend(found.into_iter().filter_map(|process| end_one(process, is_theirs)));
        thread::sleep(PAUSE);
    }
}

/// True if a process of this user must be ended. A process that is exiting has no environment any more and may hold
/// locks, so it is waited for, whatever its command.
fn is_to_end(process: Pid, is_theirs: &dyn Fn(&str) -> bool) -> bool {
    process != Pid::this()
        && is_own(process)
        && (carries(process, is_theirs) || Stat::of(process).is_some_and(|stat| stat.is_ending()))
}

fn end_one(process: Pid, is_theirs: &dyn Fn(&str) -> bool) -> Option<EndedProcess> {
    let pidfd = pidfd(process);
    let name = Stat::of(process)?.name;
    // Check again: the number may have been reused. The descriptor still refers to the checked process.
    if !carries(process, is_theirs) {
        return None;
    }
    match pidfd {
        Some(pidfd) => send_kill(&pidfd),
        None => drop(kill(process, Signal::SIGKILL)),
    }
    Some(EndedProcess { pid: process.as_raw(), name })
}

/// True if real, effective and saved user are all this one. A set-user-ID program gets its environment from a user that
/// it must not trust.
fn is_own(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let own = geteuid().to_string();
    users.is_some_and(|users| users.split_ascii_whitespace().take(3).all(|user| user == own))
}

fn carries(process: Pid, is_theirs: &dyn Fn(&str) -> bool) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    let mark = variables.find_map(|variable| {
        std::str::from_utf8(variable).ok()?.strip_prefix(VARIABLE)?.strip_prefix('=')
    });
    mark.is_some_and(is_theirs)
}

fn send_kill(pidfd: &OwnedFd) {
    let (fd, no_details) = (pidfd.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: an open descriptor, and no details of the signal.
    let sent =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, no_details, 0_u32) };
    // A process that has already ended is no error.
    debug_assert!(sent == 0 || Errno::last() == Errno::ESRCH);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    const END_TIMEOUT: Duration = Duration::from_secs(60);

    fn sleeper(mark: &str) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env(VARIABLE, mark).stdout(Stdio::null());
        command.spawn().expect("sleep is there")
    }

    fn is_running(child: &mut Child) -> bool {
        child.try_wait().unwrap().is_none()
    }

    #[test]
    fn this_process_lives_and_its_text_can_be_read() {
        let own = Owner::this();
        assert!(!own.is_dead());
        assert_eq!(Owner::parse(&own.to_string()), Some(own));
        assert_eq!(Owner::parse(Mark::new().text()), Some(own));
        assert!(Owner { start: own.start + 1, ..own }.is_dead(), "the number is another's now");
        let elsewhere = Owner { namespace: own.namespace + 1, pid: i32::MAX, start: 1 };
        assert!(!elsewhere.is_dead(), "nobody here can know");
    }

    #[test]
    fn invalid_texts_are_no_owners() {
        for text in
            ["", "1", "1.2", "1.-2.3", "1.0.3", "a.b.c", "1.2.99999999999999999999", "1.2.x"]
        {
            assert_eq!(Owner::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_processes_with_the_mark_end() {
        let (mark, other) = (Mark::new(), Mark::new());
        let mut theirs = sleeper(mark.text());
        let mut others = sleeper(other.text());
        mark.end(END_TIMEOUT);
        assert!(!is_running(&mut theirs) && is_running(&mut others));
        other.end(END_TIMEOUT);
        assert!(!is_running(&mut others));
    }

    #[test]
    fn processes_of_a_dead_command_end_and_are_listed() {
        let dead = Owner { start: u64::MAX, ..Owner::this() };
        let mut orphan = sleeper(&format!("{dead}.0"));
        let mut living = sleeper(Mark::new().text());
        let ended = end_orphans(END_TIMEOUT);
        assert!(!is_running(&mut orphan) && is_running(&mut living));
        let pid = orphan.id() as i32;
        assert!(ended.contains(&EndedProcess { pid, name: "sleep".into() }), "{ended:?}");
        living.kill().unwrap();
        living.wait().unwrap();
    }
}
