//! Hiccups: the moments in which a processor does not run the thread that wants it.

use std::{thread, time::Duration};

use ipcmark_transport::Error;

use crate::{clock::now_ns, conditions::ThreadTime, pin::Pin};

/// Gaps of at least each of these lengths are counted. A reading of the clock takes far less.
pub const THRESHOLDS_NS: [u64; 3] = [1_000, 10_000, 100_000];

/// The hiccups of one processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hiccups {
    /// Its number.
    pub cpu: u32,
    /// The time for which it was watched.
    pub watched_ns: u64,
    /// The gaps of at least each of [`THRESHOLDS_NS`].
    pub gaps: [Gaps; 3],
    /// The longest gap, 0 if none reached the first threshold.
    pub longest_ns: u64,
    /// The kernel's times of the watching thread; `None` if the kernel does not count them.
    pub thread: Option<ThreadTime>,
}

/// Gaps between two readings of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The number of gaps.
    pub count: u64,
    /// Their total length.
    pub total_ns: u64,
}

/// Watches all these processors at the same time, each by a thread that reads the clock without a pause.
///
/// # Errors
/// A thread cannot be started, or cannot be pinned to its processor.
pub fn watch(cpus: &[u32], duration: Duration) -> Result<Vec<Hiccups>, Error> {
    let all: Result<Vec<Hiccups>, Error> = thread::scope(|scope| {
        let start = |cpu: &u32| {
            let cpu = *cpu;
            let thread = thread::Builder::new().name(format!("hiccups {cpu}"));
            thread
                .spawn_scoped(scope, move || watch_one(cpu, duration))
                .map_err(|e| Error::scarce("start", "a thread", e))
        };
        // Every thread is started before the first is joined.
        let threads: Vec<_> = cpus.iter().map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread?.join().unwrap_or_else(|_| Err(panicked())))
            .collect()
    });
    all
}

fn panicked() -> Error {
    Error::new("watch", "a processor", "the thread panicked")
}

fn watch_one(cpu: u32, duration: Duration) -> Result<Hiccups, Error> {
    Pin::to(cpu)?;
    let mut hiccups = Hiccups::none(cpu);
    let before = ThreadTime::own();
    hiccups.fill(duration.as_nanos() as u64);
    hiccups.thread = ThreadTime::own().zip(before).map(|(now, then)| now.since(&then));
    Ok(hiccups)
}

impl Hiccups {
    fn none(cpu: u32) -> Self {
        Self { cpu, watched_ns: 0, gaps: Default::default(), longest_ns: 0, thread: None }
    }

    fn fill(&mut self, duration_ns: u64) {
        let start = now_ns();
        let mut last = start;
        while last - start < duration_ns {
            let now = now_ns();
            if now - last >= THRESHOLDS_NS[0] {
                self.add(now - last);
            }
            last = now;
        }
        self.watched_ns = last - start;
    }

    fn add(&mut self, gap_ns: u64) {
        self.longest_ns = self.longest_ns.max(gap_ns);
        let reached =
            THRESHOLDS_NS.iter().zip(&mut self.gaps).filter(|(least, _)| gap_ns >= **least);
        for (_, gaps) in reached {
            gaps.count += 1;
            gaps.total_ns += gap_ns;
        }
    }

    /// Adds the results for the same processor at another time.
    pub fn merge(&mut self, other: &Self) {
        self.watched_ns += other.watched_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (gaps, more) in self.gaps.iter_mut().zip(&other.gaps) {
            gaps.count += more.count;
            gaps.total_ns += more.total_ns;
        }
        self.thread = self.thread.zip(other.thread).map(|(a, b)| ThreadTime {
            cpu_ns: a.cpu_ns + b.cpu_ns,
            run_delay_ns: a.run_delay_ns + b.run_delay_ns,
        });
    }

    /// The share of the time that all gaps take.
    pub fn share(&self) -> f64 {
        self.gaps[0].total_ns as f64 / self.watched_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;

    #[test]
    fn a_gap_counts_from_every_threshold_that_it_reaches() {
        let mut hiccups = Hiccups::none(3);
        [1_000, 9_999, 10_000, 250_000].into_iter().for_each(|gap| hiccups.add(gap));
        hiccups.watched_ns = 1_000_000;
        let expected = [(4, 270_999), (2, 260_000), (1, 250_000)];
        assert_eq!(hiccups.gaps.map(|gaps| (gaps.count, gaps.total_ns)), expected);
        assert_eq!(hiccups.longest_ns, 250_000);
        assert!((hiccups.share() - 0.270_999).abs() < 1e-9);
    }

    #[test]
    fn merged_hiccups_add_up() {
        let mut first = Hiccups::none(3);
        first.add(5_000);
        let mut second = first.clone();
        second.add(20_000);
        second.watched_ns = 10;
        first.merge(&second);
        assert_eq!(first.gaps[0], Gaps { count: 3, total_ns: 30_000 });
        assert_eq!((first.longest_ns, first.watched_ns), (20_000, 10));
    }

    #[test]
    fn every_processor_is_watched_for_the_time() {
        let cpus: Vec<u32> = topology::usable().unwrap().iter().map(|cpu| cpu.id).collect();
        let all = watch(&cpus, Duration::from_millis(20)).unwrap();
        assert_eq!(all.iter().map(|hiccups| hiccups.cpu).collect::<Vec<_>>(), cpus);
        for hiccups in all {
            assert!(hiccups.watched_ns >= 20_000_000, "{hiccups:?}");
            assert!(hiccups.gaps[0].total_ns <= hiccups.watched_ns);
            assert!(hiccups.gaps.is_sorted_by(|more, fewer| more.count >= fewer.count));
        }
    }

    #[test]
    fn two_threads_on_one_processor_cause_hiccups() {
        let cpu = topology::usable().unwrap()[0].id;
        let see_each_other = || {
            let all = watch(&[cpu, cpu], Duration::from_millis(100)).unwrap();
            all.iter().any(|hiccups| hiccups.longest_ns > 100_000)
        };
        // On a busy machine one can end before the other starts.
        let watchdog = now_ns() + 120_000_000_000;
        while !see_each_other() {
            assert!(now_ns() < watchdog, "for two minutes neither waited for the other");
        }
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error() {
        let error = watch(&[1_023], Duration::from_millis(1)).unwrap_err().to_string();
        assert!(error.contains("cpu 1023"), "{error}");
    }
}
