//! The processes of a run, as the host's `/proc` shows them.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// A process.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its number on the host.
    pub id: i32,
    /// The number of its parent.
    pub parent: i32,
    /// Its name.
    pub name: String,
    /// Its state, as one letter.
    pub state: char,
}

/// How long something may take to appear or to be gone.
const PATIENCE: Duration = Duration::from_secs(60);

impl Process {
    /// Sends it a signal; it may be gone already.
    pub fn send(&self, signal: i32) {
        // SAFETY: the process was found among the descendants of a command of this test.
        unsafe { libc::kill(self.id, signal) };
    }

    fn read(id: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (front, rest) = stat.rsplit_once(") ")?;
        let name = front.split_once(" (")?.1.to_owned();
        let mut fields = rest.split(' ');
        let state = fields.next()?.chars().next()?;
        Some(Self { id, parent: fields.next()?.parse().ok()?, name, state })
    }
}

/// All processes that live.
fn all() -> Vec<Process> {
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

/// Waits until a command has descendants of this name; the nearest to the command comes first.
#[track_caller]
pub fn await_named(command: i32, name: &str) -> Vec<Process> {
    await_that(&format!("{name} appears"), || {
        let mut found = descendants(command);
        found.retain(|process| process.name == name);
        (!found.is_empty()).then_some(found)
    })
}

/// Waits until none of these processes lives.
#[track_caller]
pub fn await_end_of(processes: &[Process]) {
    let same = |process: &Process| {
        Process::read(process.id)
            .is_some_and(|now| now.name == process.name && !matches!(now.state, 'Z' | 'X'))
    };
    await_that("they end", || (!processes.iter().any(same)).then_some(()));
}

/// Waits until something holds.
#[track_caller]
pub fn await_that<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = holds() {
            return value;
        }
        assert!(Instant::now() < deadline, "in vain until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
