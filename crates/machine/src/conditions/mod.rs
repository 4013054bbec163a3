//! The conditions of a measurement: the machine's disturbances while it ran. Snapshots hold counters, and `since`
//! returns the changes after an earlier one. Values that the system does not report are `None`.

mod canary;
mod processes;
mod processors;
mod threads;
mod throttling;
mod watched;

pub use canary::{canary_ns, canary_on};
pub(crate) use processes::tree_of;
pub use processes::{ProcessUse, Processes, ProcessesUse, ThreadUse};
pub use processors::{ProcessorUse, Processors};
pub use threads::{Thread, ThreadTime};
pub use throttling::{Throttling, ThrottlingCounters};
pub use watched::{Watched, WatchedProcess};

use crate::{clock::now_ns, files::Files};

/// The counters of the machine and of a few threads at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at_ns: u64,
    processors: Option<Processors>,
    throttling: Option<ThrottlingCounters>,
    threads: Vec<Option<ThreadTime>>,
    canary_ns: Vec<f64>,
}

/// The changes between two snapshots.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// The time between them.
    pub elapsed_ns: u64,
    /// The use of each processor.
    pub processors: Option<Vec<ProcessorUse>>,
    /// The time for which this process's control groups were stopped because they had used up their processor time.
    pub throttling: Option<Throttling>,
    /// The times of the threads, in the given order; `None` for one that has ended.
    pub threads: Vec<Option<ThreadTime>>,
    /// Nanoseconds of a step of the canary, before and after, on each of the given processors.
    pub canary_ns: Vec<[f64; 2]>,
}

impl Snapshot {
    /// The counters now, those of `threads`, and the speed of these processors; without processors, of the one that
    /// this thread is on. It takes about 100 µs for each, mostly for the canary, so it must be taken outside the
    /// measured time.
    pub fn now(threads: &[Thread], cpus: &[u32]) -> Self {
        let files = Files::of_system();
        let here = || vec![canary_ns()];
        let on_cpus = || cpus.iter().map(|cpu| canary_on(*cpu).unwrap_or_else(|_| canary_ns()));
        Self {
            canary_ns: if cpus.is_empty() { here() } else { on_cpus().collect() },
            processors: Processors::now(&files),
            throttling: ThrottlingCounters::now(&files),
            threads: threads.iter().map(|thread| thread.time(&files)).collect(),
            at_ns: now_ns(),
        }
    }

    /// The changes since `earlier`, a snapshot of the same threads and processors.
    pub fn since(&self, earlier: &Self) -> Conditions {
        let threads = self.threads.iter().zip(&earlier.threads);
        let canaries = earlier.canary_ns.iter().zip(&self.canary_ns);
        Conditions {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            processors: both(&self.processors, &earlier.processors)
                .map(|(now, then)| now.since(then)),
            throttling: both(&self.throttling, &earlier.throttling)
                .map(|(now, then)| now.since(then)),
            threads: threads
                .map(|pair| both(pair.0, pair.1).map(|(now, then)| now.since(then)))
                .collect(),
            canary_ns: canaries.map(|(before, after)| [*before, *after]).collect(),
        }
    }
}

fn both<'a, T>(now: &'a Option<T>, then: &'a Option<T>) -> Option<(&'a T, &'a T)> {
    now.as_ref().zip(then.as_ref())
}

impl Conditions {
    /// The share of the time of these processors that the hypervisor gave to others.
    pub fn stolen_share(&self, cpus: &[u32]) -> Option<f64> {
        let used = self.processors.as_ref()?.iter().filter(|used| cpus.contains(&used.cpu));
        let (count, stolen) =
            used.fold((0, 0), |(count, sum), used| (count + 1, sum + used.stolen_ns));
        (count > 0).then(|| stolen as f64 / (self.elapsed_ns.max(1) * count) as f64)
    }

    /// The change of the canary, relative to its smaller value: the mean over the processors. The largest of several
    /// would be the noise of the noisiest.
    pub fn canary_shift(&self) -> f64 {
        let shift = |[before, after]: &[f64; 2]| before.max(*after) / before.min(*after) - 1.0;
        self.canary_ns.iter().map(shift).sum::<f64>() / self.canary_ns.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conditions_of_this_thread_are_read() {
        let thread = Thread::this();
        let earlier = Snapshot::now(&[thread], &[]);
        let start = crate::clock::thread_cpu_ns();
        while crate::clock::thread_cpu_ns() - start < 20_000_000 {}
        let conditions = Snapshot::now(&[thread], &[]).since(&earlier);
        assert!(conditions.elapsed_ns >= 20_000_000);
        let time = conditions.threads[0].unwrap();
        // The kernel updates it at each tick, and a busy host can skip ticks.
        assert!(time.cpu_ns > 0, "{time:?}");
        assert!(conditions.canary_ns.iter().flatten().all(|ns| *ns > 0.0));
        assert!(conditions.canary_shift() >= 0.0);
    }

    /// Regression: the speed was that of whichever processor the command was on.
    #[test]
    fn the_speed_is_that_of_the_given_processors() {
        let cpus: Vec<u32> = crate::topology::usable().unwrap().iter().map(|cpu| cpu.id).collect();
        let earlier = Snapshot::now(&[], &cpus);
        let conditions = Snapshot::now(&[], &cpus).since(&earlier);
        assert_eq!(conditions.canary_ns.len(), cpus.len());
        assert!(conditions.canary_ns.iter().flatten().all(|ns| *ns > 0.0), "{conditions:?}");
    }

    #[test]
    fn an_exited_thread_has_no_time() {
        let gone = std::thread::spawn(Thread::this).join().unwrap();
        let here = Thread::this();
        let earlier = Snapshot::now(&[gone, here], &[]);
        let threads = Snapshot::now(&[gone, here], &[]).since(&earlier).threads;
        assert_eq!(threads[0], None);
        assert!(threads[1].is_some());
    }

    #[test]
    fn the_stolen_share_covers_only_the_given_processors() {
        let used = |cpu, stolen_ns| ProcessorUse { cpu, stolen_ns, busy_ns: 0, idle_ns: 0 };
        let conditions = Conditions {
            elapsed_ns: 1_000,
            processors: Some(vec![used(0, 100), used(1, 0), used(2, 500)]),
            throttling: None,
            threads: vec![],
            canary_ns: vec![[1.0, 1.1], [1.2, 1.0], [1.0, 1.0]],
        };
        assert_eq!(conditions.stolen_share(&[0, 1]), Some(0.05));
        assert_eq!(conditions.stolen_share(&[2]), Some(0.5));
        assert_eq!(conditions.stolen_share(&[7]), None);
        assert!((conditions.canary_shift() - 0.1).abs() < 1e-9, "up and down do not cancel out");
    }
}
