//! Processes that are watched during a measurement, such as a library's daemon: their use in selected intervals, and
//! between these. A start or a stop costs one system call a process.

use super::processes::{Processes, cpu_ns};

/// Some processes, and their use.
#[derive(Debug, Default)]
pub struct Watched(Vec<WatchedProcess>);

/// A process, and its use in the intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedProcess {
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// CPU time of all its threads in the intervals.
    pub cpu_ns: u64,
    /// The same between the intervals.
    pub idle_cpu_ns: u64,
    pid: i32,
    /// CPU time at the last start or stop; none before the first start, and if it could not be read.
    last_ns: Option<u64>,
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
        self.0.iter_mut().for_each(|process| process.idle_cpu_ns += process.since_last());
    }

    /// Ends an interval.
    pub fn stop(&mut self) {
        self.0.iter_mut().for_each(|process| process.cpu_ns += process.since_last());
    }

    /// The use of each process.
    pub fn finish(self) -> Vec<WatchedProcess> {
        self.0
    }
}

impl WatchedProcess {
    fn new(pid: i32, name: &str) -> Self {
        Self { name: name.into(), cpu_ns: 0, idle_cpu_ns: 0, pid, last_ns: None }
    }

    /// CPU time since the last start or stop.
    fn since_last(&mut self) -> u64 {
        let last_ns = std::mem::replace(&mut self.last_ns, cpu_ns(self.pid));
        self.last_ns.zip(last_ns).map_or(0, |(now, last)| now.saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_watched_in_its_stretches_and_between_them() {
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = child.id() as i32;
        let mut watched = Watched::below(std::process::id() as i32, |other, _| other != pid);
        let mut use_until = |goes_on: &dyn Fn(&WatchedProcess) -> bool| {
            while goes_on(&watched.0[0]) {
                watched.start();
                watched.stop();
            }
            watched.0[0].clone()
        };
        let first = use_until(&|process| process.last_ns.is_none());
        assert_eq!(first.idle_cpu_ns, 0, "nothing is known of the time before the first start");
        let used = use_until(&|process| process.cpu_ns.min(process.idle_cpu_ns) < 1_000_000);
        child.kill().unwrap();
        child.wait().unwrap();
        watched.start();
        watched.stop();
        let last = &watched.finish()[0];
        assert_eq!((last.cpu_ns, last.idle_cpu_ns), (used.cpu_ns, used.idle_cpu_ns));
    }
}
