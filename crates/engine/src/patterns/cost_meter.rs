//! The costs of turns, for the leader and for every follower.

use ipcmark_machine::{clock, idle::IdleCount};

use crate::wire::{Costs, ThreadCosts};

/// The costs of a process and its measuring thread in its turns, without probes, and the idle costs between turns.
#[derive(Default)]
pub(super) struct CostMeter {
    /// How often the thread's processor goes idle.
    idle: Option<IdleCount>,
    start: Option<Costs>,
    /// The start time of the turn.
    began_ns: u64,
    /// CPU time since `start` of probes and of other work that is not the transport's.
    probes_ns: u64,
    total: Costs,
    /// The thread's costs when it entered its loop, and the CPU time of all other threads.
    thread_start: Option<(ThreadCosts, u64)>,
    thread: ThreadCosts,
    other_threads_ns: u64,
    /// The end of the last turn: the time, and the CPU time of the process's other threads until then. The measuring
    /// thread itself only works for the harness between turns: a reply, falling asleep and waking up.
    stopped: Option<(u64, u64)>,
}

/// CPU time of all threads of the process but the calling one.
fn others_cpu_ns() -> u64 {
    clock::process_cpu_ns().saturating_sub(clock::thread_cpu_ns())
}

impl CostMeter {
    /// Of the calling thread.
    pub(super) fn new() -> Self {
        let idle = IdleCount::of_this_thread();
        let thread = ThreadCosts { idles: idle.as_ref().map(|_| 0), ..ThreadCosts::default() };
        Self { idle, thread, ..Self::default() }
    }

    /// The costs of the thread so far.
    fn thread_now(&self) -> ThreadCosts {
        ThreadCosts { idles: self.idle.as_ref().map(IdleCount::so_far), ..ThreadCosts::now() }
    }

    /// Ends the wait for a turn. The harness's work before the turn begins counts for neither.
    pub(super) fn wake(&mut self) {
        if let Some((at_ns, others_ns)) = self.stopped.take() {
            self.total.idle_ns += clock::now_ns().saturating_sub(at_ns);
            self.total.idle_cpu_ns += others_cpu_ns().saturating_sub(others_ns);
        }
    }

    /// Begins a turn.
    pub(super) fn start(&mut self) {
        self.wake();
        self.probes_ns = 0;
        self.start = Some(Costs::now());
        self.began_ns = clock::now_ns();
        self.thread_start = Some((self.thread_now(), others_cpu_ns()));
    }

    /// The thread has left its loop.
    pub(super) fn stop_thread(&mut self) {
        if let Some((start, others_ns)) = self.thread_start.take() {
            self.other_threads_ns += others_cpu_ns().saturating_sub(others_ns);
            self.thread.add(&start, &self.thread_now());
        }
    }

    /// Ends the turn; false if none had begun.
    pub(super) fn stop(&mut self) -> bool {
        let Some(start) = self.start.take() else { return false };
        let mut turn = Costs::since(&start);
        turn.cpu_ns = turn.cpu_ns.saturating_sub(self.probes_ns);
        turn.user_ns = turn.user_ns.saturating_sub(self.probes_ns);
        turn.turns_ns = clock::now_ns() - self.began_ns;
        self.total.add(&turn);
        self.stopped = Some((clock::now_ns(), others_cpu_ns()));
        true
    }

    /// Runs a probe, whose CPU time is not the transport's.
    pub(super) fn around_probe<R>(&mut self, probe: impl FnOnce() -> R) -> R {
        let start = clock::thread_cpu_ns();
        let result = probe();
        self.probes_ns += clock::thread_cpu_ns() - start;
        result
    }

    /// Excludes CPU time of the turn that is not the transport's.
    pub(super) fn leave_out(&mut self, cpu_ns: u64) {
        self.probes_ns += cpu_ns;
    }

    /// The costs of all turns, of the process and of its measuring thread.
    pub(super) fn total(self) -> (Costs, ThreadCosts) {
        let other_threads_ns = self.other_threads_ns;
        let peak_memory_bytes = Costs::peak_memory_of_process();
        (Costs { other_threads_ns, peak_memory_bytes, ..self.total }, self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin() {
        let begin = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begin < 5_000_000 {}
    }

    #[test]
    fn a_wait_costs_what_other_threads_use() {
        // The idle time, and that of all threads. Other tests run in this process, and may use any amount.
        let measured = |wait: fn()| {
            let mut meter = CostMeter::new();
            meter.start();
            let begin_ns = clock::process_cpu_ns();
            assert!(meter.stop());
            wait();
            meter.wake();
            (meter.total.idle_cpu_ns, clock::process_cpu_ns() - begin_ns)
        };
        let (idle_ns, _) = measured(|| std::thread::spawn(spin).join().unwrap());
        assert!(idle_ns >= 4_900_000, "{idle_ns}: a thread of the library spins");
        let (idle_ns, all_ns) = measured(spin);
        assert!(
            idle_ns + 4_900_000 <= all_ns,
            "{idle_ns} of {all_ns}: the measuring thread does not count"
        );
    }

    #[test]
    fn other_threads_count_while_the_measuring_one_is_in_its_loop() {
        let mut meter = CostMeter::new();
        let begin_ns = clock::process_cpu_ns();
        meter.start();
        std::thread::spawn(spin).join().unwrap();
        meter.stop_thread();
        assert!(meter.stop());
        let all_ns = clock::process_cpu_ns() - begin_ns;
        let (costs, thread) = meter.total();
        let others_ns = costs.other_threads_ns;
        assert!(others_ns >= 4_900_000, "{others_ns}");
        assert!(others_ns + thread.cpu_ns <= all_ns, "{others_ns} of {all_ns} besides {thread:?}");
        // Outside the loop nothing counts. Other tests run in this process, and may use any amount within it.
        let mut meter = CostMeter::new();
        let begin_ns = clock::process_cpu_ns();
        meter.start();
        meter.stop_thread();
        std::thread::spawn(spin).join().unwrap();
        assert!(meter.stop());
        let all_ns = clock::process_cpu_ns() - begin_ns;
        assert!(meter.total().0.other_threads_ns + 4_900_000 <= all_ns);
    }

    #[test]
    fn the_time_of_probes_is_not_the_transport_s() {
        let total = |around_probe: bool| {
            let mut meter = CostMeter::new();
            assert!(!meter.stop(), "there is no turn to stop");
            meter.start();
            if around_probe {
                meter.around_probe(spin)
            } else {
                spin()
            }
            assert!(meter.stop());
            meter.total().0.cpu_ns
        };
        assert!(total(false) >= 5_000_000);
        // Other tests run in this process, so the rest of the turn may have cost any amount.
        let mut meter = CostMeter::new();
        meter.start();
        meter.around_probe(spin);
        assert!(meter.probes_ns >= 5_000_000);
        meter.start();
        assert_eq!(meter.probes_ns, 0, "each turn has its own");
        let _ = total(true);
    }
}
