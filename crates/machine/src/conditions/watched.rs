//! Processes that are watched during a measurement, such as a library's daemon: their use in selected intervals. A
//! start or a stop costs one system call a process.

use super::processes::{Processes, cpu_ns};

/// Some processes, and their use.
#[derive(Debug, Default)]
pub struct Watched(Vec<WatchedProcess>);

/// A process, and its use in the intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedProcess {
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// CPU time of all its threads.
    pub cpu_ns: u64,
    pid: i32,
    /// CPU time at the start of the interval; none if it could not be read.
    start_ns: Option<u64>,
}

impl Watched {
    /// The current descendants of a process, without those for which `is_known` is true.
    pub fn below(root: i32, is_known: impl Fn(i32, &str) -> bool) -> Self {
        let tree = Processes::tree(root);
        let others = tree.names().filter(|(pid, name)| *pid != root && !is_known(*pid, name));
        Self(others.map(|(pid, name)| WatchedProcess::new(pid, name)).collect())
    }

    /// Starts an interval.
    pub fn start(&mut self) {
        self.0.iter_mut().for_each(|process| process.start_ns = cpu_ns(process.pid));
    }

    /// Ends an interval.
    pub fn stop(&mut self) {
        for process in &mut self.0 {
            let used = cpu_ns(process.pid).zip(process.start_ns.take());
            process.cpu_ns += used.map_or(0, |(now, start)| now.saturating_sub(start));
        }
    }

    /// The use of each process.
    pub fn finish(self) -> Vec<WatchedProcess> {
        self.0
    }
}

impl WatchedProcess {
    fn new(pid: i32, name: &str) -> Self {
        Self { name: name.into(), cpu_ns: 0, pid, start_ns: None }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_watched_in_its_stretches_only() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = child.id() as i32;
        let mut watched = Watched::below(std::process::id() as i32, |other, _| other != pid);
        watched.start();
        let used = loop {
            watched.stop();
            let used = watched.0[0].cpu_ns;
            if used > 10_000_000 {
                break used;
            }
            watched.start();
        };
        // Nothing is added without a start.
        watched.stop();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(watched.finish()[0].cpu_ns, used);
    }
}
