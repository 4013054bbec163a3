//! The costs of turns, for the leader and for every follower.

use ipcmark_machine::{clock, idle::IdleCount};

use crate::wire::{Costs, ThreadCosts};

/// The costs of a leader that waits until its next message is due. They are not the transport's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pauses {
    /// The number of times that it slept; each is a voluntary context switch.
    pub sleeps: u64,
    /// CPU time in the kernel for these sleeps.
    pub sleeping_ns: u64,
    /// CPU time of polling the clock.
    pub polled_ns: u64,
}

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
    /// How long the probes since `start` took, unless the turn has a schedule.
    probing_ns: u64,
    /// The sleeps since `start` until messages were due.
    pauses: Pauses,
    /// The costs of all turns, but `user_ns` and `system_ns` with what is [`Self::left_out`].
    total: Costs,
    left_out: LeftOut,
    /// The thread's costs when it entered its loop, and the CPU time of all other threads.
    thread_start: Option<(ThreadCosts, u64)>,
    thread: ThreadCosts,
    other_threads_ns: u64,
    /// The end of the last turn: the time, and the CPU time of the process's other threads until then. The measuring
    /// thread itself only works for the harness between turns: a reply, falling asleep and waking up.
    stopped: Option<(u64, u64)>,
}

/// CPU time of all turns that is not the transport's.
#[derive(Default)]
struct LeftOut {
    user_ns: u64,
    system_ns: u64,
}

impl LeftOut {
    /// The CPU time of these costs outside and within the kernel. Kernels that divide by ticks can say of a turn that it
    /// was all in the kernel, so that only the sums over all turns can be subtracted, and give the parts of the time.
    fn divided(&self, costs: &Costs) -> (u64, u64) {
        let user_ns = costs.user_ns.saturating_sub(self.user_ns);
        let all_ns = user_ns + costs.system_ns.saturating_sub(self.system_ns);
        let share = if all_ns == 0 { 1.0 } else { user_ns as f64 / all_ns as f64 };
        let user_ns = ((costs.cpu_ns as f64 * share) as u64).min(costs.cpu_ns);
        (user_ns, costs.cpu_ns - user_ns)
    }
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
        (self.probes_ns, self.probing_ns, self.pauses) = (0, 0, Pauses::default());
        self.start = Some(Costs::now());
        self.began_ns = clock::now_ns();
        self.thread_start = Some((self.thread_now(), others_cpu_ns()));
    }

    /// The thread has left its loop.
    pub(super) fn stop_thread(&mut self) {
        if let Some((start, others_ns)) = self.thread_start.take() {
            self.other_threads_ns += others_cpu_ns().saturating_sub(others_ns);
            let mut now = self.thread_now();
            now.sleeps = now.sleeps.saturating_sub(self.pauses.sleeps);
            self.thread.add(&start, &now);
            self.thread.pauses += self.pauses.sleeps;
        }
    }

    /// Ends the turn; false if none had begun.
    pub(super) fn stop(&mut self) -> bool {
        let Some(start) = self.start.take() else { return false };
        let mut turn = Costs::since(&start);
        let Pauses { sleeps, sleeping_ns, .. } = self.pauses;
        turn.cpu_ns = turn.cpu_ns.saturating_sub(self.probes_ns + sleeping_ns);
        self.left_out.user_ns += self.probes_ns;
        self.left_out.system_ns += sleeping_ns;
        turn.switches.voluntary = turn.switches.voluntary.saturating_sub(sleeps);
        turn.turns_ns = (clock::now_ns() - self.began_ns).saturating_sub(self.probing_ns);
        self.total.add(&turn);
        self.stopped = Some((clock::now_ns(), others_cpu_ns()));
        true
    }

    /// Runs a probe: neither its CPU time nor its time is the transport's.
    pub(super) fn around_probe<R>(&mut self, probe: impl FnOnce() -> R) -> R {
        let (began_ns, start) = (clock::now_ns(), clock::thread_cpu_ns());
        let result = probe();
        self.probes_ns += clock::thread_cpu_ns() - start;
        self.probing_ns += clock::now_ns() - began_ns;
        result
    }

    /// Excludes CPU time of the turn that is not the transport's.
    pub(super) fn leave_out(&mut self, cpu_ns: u64) {
        self.probes_ns += cpu_ns;
    }

    /// Excludes the pauses of the turn. Its schedule goes on during probes, so that their time belongs to it.
    pub(super) fn leave_out_pauses(&mut self, pauses: Pauses) {
        self.leave_out(pauses.polled_ns);
        self.pauses = pauses;
        self.probing_ns = 0;
    }

    /// The costs of all turns, of the process and of its measuring thread.
    pub(super) fn total(self) -> (Costs, ThreadCosts) {
        let other_threads_ns = self.other_threads_ns;
        let peak_memory_bytes = Costs::peak_memory_of_process();
        let (user_ns, system_ns) = self.left_out.divided(&self.total);
        (
            Costs { user_ns, system_ns, other_threads_ns, peak_memory_bytes, ..self.total },
            self.thread,
        )
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_results::{Arrivals, Load};
    use ipcmark_transport::Wait;

    use super::*;
    use crate::{patterns::pacer::Pacer, wire::Pass};

    fn spin() {
        let begin = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begin < 5_000_000 {}
    }

    /// Regression: turns whose ticks were all within the kernel had more time there than CPU time.
    #[test]
    fn the_parts_of_the_time_are_all_of_it() {
        let left_out = LeftOut { user_ns: 4_000, system_ns: 0 };
        let divided = |user_ns, system_ns, cpu_ns| {
            left_out.divided(&Costs { user_ns, system_ns, cpu_ns, ..Costs::default() })
        };
        assert_eq!(divided(7_000, 1_000, 5_000), (3_750, 1_250));
        assert_eq!(divided(0, 9_745, 5_282), (0, 5_282));
        assert_eq!(divided(4_000, 0, 10), (10, 0));
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
    fn sleeps_until_messages_are_due_are_counted_apart() {
        let load = Load::Rate { per_second: 1000, arrivals: Arrivals::Fixed };
        let mut pacer = Pacer::new(&Pass::of(load), Wait::Block).unwrap();
        let mut meter = CostMeter::new();
        meter.start();
        let before = ThreadCosts::sleeps_so_far();
        pacer.begin(u64::MAX);
        assert_eq!((0..50).filter_map(|_| pacer.wait()).count(), 50);
        let sleeps = ThreadCosts::sleeps_so_far() - before;
        let pauses = pacer.take_pauses();
        // A busy machine can be late for some of them.
        assert!(pauses.sleeps > 0 && pauses.sleeps <= sleeps, "{pauses:?} of {sleeps}");
        assert_eq!(pacer.take_pauses(), Pauses::default());
        meter.leave_out_pauses(pauses);
        meter.stop_thread();
        assert!(meter.stop());
        assert_eq!(meter.thread.pauses, pauses.sleeps);
        // Nothing else in this thread sleeps.
        assert!(meter.thread.sleeps < pauses.sleeps, "{:?}", meter.thread);
    }

    #[test]
    fn pauses_cost_neither_time_in_the_kernel_nor_switches() {
        let mut meter = CostMeter::new();
        meter.start();
        let pauses = Pauses { sleeps: u64::MAX, sleeping_ns: u64::MAX / 2, polled_ns: 7 };
        meter.leave_out_pauses(pauses);
        assert_eq!(meter.probes_ns, 7);
        assert!(meter.stop());
        meter.start();
        assert_eq!(meter.pauses, Pauses::default(), "each turn has its own");
        let (costs, _) = meter.total();
        assert_eq!((costs.cpu_ns, costs.system_ns, costs.switches.voluntary), (0, 0, 0));
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

    /// Regression: two processes that never slept kept 1.78 processors busy.
    #[test]
    fn the_length_of_a_turn_contains_its_probes_only_if_it_has_a_schedule() {
        for has_schedule in [false, true] {
            let mut meter = CostMeter::new();
            let began_ns = clock::now_ns();
            meter.start();
            let probed_ns = meter.around_probe(|| {
                let began_ns = clock::now_ns();
                spin();
                clock::now_ns() - began_ns
            });
            if has_schedule {
                meter.leave_out_pauses(Pauses::default());
            }
            assert!(meter.stop());
            let all_ns = clock::now_ns() - began_ns;
            let turns_ns = meter.total().0.turns_ns;
            match has_schedule {
                false => {
                    assert!(turns_ns + probed_ns <= all_ns, "{turns_ns}, {probed_ns}, {all_ns}")
                }
                true => assert!((probed_ns..=all_ns).contains(&turns_ns), "{turns_ns}"),
            }
        }
    }
}
