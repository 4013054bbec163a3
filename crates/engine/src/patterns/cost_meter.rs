//! The costs of turns, for the leader and for every follower.

use ipcmark_machine::clock;

use crate::wire::{Costs, ThreadCosts};

/// CPU time of a wait that is the harness's: a reply to the command, falling asleep and waking up. It takes about a
/// third of that in a development build.
const OWN_OF_A_WAIT_NS: u64 = 100_000;

/// The costs of a process and its measuring thread in its turns, without probes, and the idle costs between turns.
#[derive(Default)]
pub(super) struct CostMeter {
    start: Option<Costs>,
    /// The start time of the turn.
    began_ns: u64,
    /// CPU time since `start` of probes and of other work that is not the transport's.
    probes_ns: u64,
    total: Costs,
    thread_start: Option<ThreadCosts>,
    thread: ThreadCosts,
    /// The end of the last turn: the time, and the CPU time until then.
    stopped: Option<(u64, u64)>,
}

impl CostMeter {
    /// Ends the wait for a turn. The harness's work before the turn begins counts for neither.
    pub(super) fn wake(&mut self) {
        if let Some((at_ns, cpu_ns)) = self.stopped.take() {
            let waited_ns = clock::now_ns().saturating_sub(at_ns);
            self.add_wait(waited_ns, clock::process_cpu_ns().saturating_sub(cpu_ns));
        }
    }

    fn add_wait(&mut self, waited_ns: u64, cpu_ns: u64) {
        self.total.idle_ns += waited_ns;
        self.total.idle_cpu_ns += cpu_ns.saturating_sub(OWN_OF_A_WAIT_NS);
    }

    /// Begins a turn.
    pub(super) fn start(&mut self) {
        self.wake();
        self.probes_ns = 0;
        self.start = Some(Costs::now());
        self.began_ns = clock::now_ns();
        self.thread_start = Some(ThreadCosts::now());
    }

    /// The thread has left its loop.
    pub(super) fn stop_thread(&mut self) {
        if let Some(start) = self.thread_start.take() {
            self.thread.add_since(&start);
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
        self.stopped = Some((clock::now_ns(), clock::process_cpu_ns()));
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
        (Costs { peak_memory_bytes: Costs::peak_memory_of_process(), ..self.total }, self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_asleep_and_waking_up_keeps_nobody_awake() {
        let mut meter = CostMeter::default();
        for _ in 0..1000 {
            meter.add_wait(300_000, 40_000);
        }
        assert_eq!((meter.total.idle_ns, meter.total.idle_cpu_ns), (300_000_000, 0));
        meter.add_wait(5_000_000, 5_000_000);
        assert_eq!(meter.total.idle_cpu_ns, 4_900_000, "a thread that spins");
    }

    #[test]
    fn the_time_of_probes_is_not_the_transport_s() {
        let spin = || {
            let begin = clock::thread_cpu_ns();
            while clock::thread_cpu_ns() - begin < 5_000_000 {}
        };
        let total = |around_probe: bool| {
            let mut meter = CostMeter::default();
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
        let mut meter = CostMeter::default();
        meter.start();
        meter.around_probe(spin);
        assert!(meter.probes_ns >= 5_000_000);
        meter.start();
        assert_eq!(meter.probes_ns, 0, "each turn has its own");
        let _ = total(true);
    }
}
