//! The processes of a run, as the host's `/proc` shows them.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::watchdog::WATCHDOG;

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its id on the host.
    pub id: i32,
    /// The id of its parent.
    pub parent: i32,
    /// Its name.
    pub name: String,
    /// Its state, as one letter.
    pub state: char,
    /// Its start time, since the system's boot.
    started: Duration,
}

impl Process {
    /// Sends it a signal; it may be gone already.
    pub fn send(&self, signal: i32) {
        // SAFETY: the process was found among the descendants of a command of this test.
        unsafe { libc::kill(self.id, signal) };
    }

    /// Stops it, and waits until it has stopped; false if it was gone.
    pub fn stop(&self) -> bool {
        self.send(libc::SIGSTOP);
        await_that("it stops", || match self.now() {
            Some(now) if now.state != 'T' => None,
            now => Some(now.is_some()),
        })
    }

    /// The time since its start.
    pub fn age(&self) -> Duration {
        let uptime = fs::read_to_string("/proc/uptime").expect("the system has /proc");
        let seconds = uptime.split(' ').next().and_then(|text| text.parse().ok());
        Duration::from_secs_f64(seconds.expect("a number")).saturating_sub(self.started)
    }

    /// The same process now, unless it is gone.
    pub fn now(&self) -> Option<Self> {
        let now = Self::read(self.id)?;
        (now.started == self.started && !matches!(now.state, 'Z' | 'X')).then_some(now)
    }

    /// The process with this id.
    pub fn read(id: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (front, rest) = stat.rsplit_once(") ")?;
        let name = front.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = rest.split(' ').collect();
        let state = fields.first()?.chars().next()?;
        // SAFETY: only returns a number.
        let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let started =
            Duration::from_secs_f64(fields.get(19)?.parse::<f64>().ok()? / ticks_a_second);
        Some(Self { id, parent: fields.get(1)?.parse().ok()?, name, state, started })
    }
}

/// All living processes.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("the system has /proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let processes = ids.filter_map(Process::read);
    processes.filter(|process| !matches!(process.state, 'Z' | 'X')).collect()
}

/// The children of a process, their children, and so on.
pub fn descendants(of: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.id);
            found.push(process.clone());
        }
    }
    found
}

/// Waits until a command has descendants of this name; ordered by start time.
#[track_caller]
pub fn await_named(command: i32, name: &str) -> Vec<Process> {
    await_that(&format!("{name} appears"), || {
        let mut found = descendants(command);
        found.retain(|process| process.name == name);
        found.sort_by_key(|process| (process.started, process.id));
        (!found.is_empty()).then_some(found)
    })
}

/// Waits until none of these processes lives.
#[track_caller]
pub fn await_end_of(processes: &[Process]) {
    let lives = |process: &Process| process.now().is_some();
    await_that("they end", || (!processes.iter().any(lives)).then_some(()));
}

/// Waits until a condition holds.
#[track_caller]
pub fn await_that<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + WATCHDOG;
    loop {
        if let Some(value) = holds() {
            return value;
        }
        assert!(Instant::now() < deadline, "in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until somebody listens at a Unix socket.
#[track_caller]
pub fn await_listener(path: &Path) {
    let ending = format!(" {}", path.display());
    // Number, references, protocol, flags: the kernel's mark of a listening socket.
    let listens =
        |line: &str| line.ends_with(&ending) && line.split(' ').nth(3) == Some("00010000");
    await_that("somebody listens", || {
        let sockets = fs::read_to_string("/proc/net/unix").expect("the system has /proc");
        sockets.lines().any(listens).then_some(())
    });
}
