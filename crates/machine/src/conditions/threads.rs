//! The time that a thread ran, and the time that it waited for a processor.

use crate::{clock, files::Files};

/// A thread by the numbers of its process and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The number of its process.
    pub pid: i32,
    /// Its own number.
    pub tid: i32,
}

/// The times of a thread since its start, or between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time in which it ran. The kernel updates it only at each tick and switch.
    pub cpu_ns: u64,
    /// Time in which it was ready to run and waited for a processor.
    pub run_delay_ns: u64,
}

impl Thread {
    /// The calling thread.
    pub fn this() -> Self {
        // SAFETY: both ask for the caller's own numbers only.
        unsafe { Self { pid: libc::getpid(), tid: libc::gettid() } }
    }

    /// Its times since its start; `None` if it has ended, or the kernel does not count them.
    pub fn time(&self, files: &Files) -> Option<ThreadTime> {
        let text = files.text(&format!("proc/{}/task/{}/schedstat", self.pid, self.tid))?;
        let mut numbers = text.split(' ').map(|word| word.parse().ok());
        Some(ThreadTime { cpu_ns: numbers.next()??, run_delay_ns: numbers.next()?? })
    }
}

impl ThreadTime {
    /// The times of the calling thread, its CPU time to the nanosecond.
    pub fn own() -> Option<Self> {
        let time = Thread::this().time(&Files::of_system())?;
        Some(Self { cpu_ns: clock::thread_cpu_ns(), ..time })
    }

    /// The increase since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            run_delay_ns: self.run_delay_ns.saturating_sub(earlier.run_delay_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;
    use crate::{pin::Pin, topology};

    #[test]
    fn two_threads_on_one_processor_wait_for_one_another() {
        let cpu = topology::usable().unwrap()[0].id;
        let over = AtomicBool::new(false);
        let spin = || {
            Pin::to(cpu).unwrap();
            while !over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        thread::scope(|scope| {
            scope.spawn(spin);
            let waited = scope.spawn(|| {
                Pin::to(cpu).unwrap();
                let earlier = ThreadTime::own().unwrap();
                loop {
                    let time = ThreadTime::own().unwrap().since(&earlier);
                    if time.run_delay_ns > 1_000_000 && time.cpu_ns > 1_000_000 {
                        over.store(true, Ordering::Relaxed);
                        return time;
                    }
                }
            });
            assert!(waited.join().unwrap().run_delay_ns > 1_000_000);
        });
    }

    #[test]
    fn a_nonexistent_thread_has_no_time() {
        let files = Files::of_system();
        assert_eq!(Thread { pid: -1, tid: -1 }.time(&files), None);
        assert_eq!(Thread { pid: 1, tid: i32::MAX }.time(&files), None);
    }
}
