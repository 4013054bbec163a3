//! The costs of a turn for a process and its measuring thread: CPU time, context switches, page faults, memory.

use std::{fs, io::Write};

use ipcmark_machine::{
    calls::{self, Calls},
    clock,
    conditions::ThreadTime,
    counters::{self, Counted},
};
use ipcmark_results::{ContextSwitches, PageFaults};

use super::evidence::loopback_bytes;
use crate::wire::{CallCosts, Costs, ProcessorCosts, ThreadCosts};

impl Costs {
    /// The costs of the process so far.
    pub(crate) fn now() -> Self {
        let usage = usage(libc::RUSAGE_SELF);
        Self {
            cpu_ns: clock::process_cpu_ns(),
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            switches: ContextSwitches {
                voluntary: usage.ru_nvcsw as u64,
                involuntary: usage.ru_nivcsw as u64,
            },
            faults: PageFaults { minor: usage.ru_minflt as u64, major: usage.ru_majflt as u64 },
            loopback_bytes: loopback_bytes(),
            calls: calls::counted().into_iter().flatten().map(CallCosts::from).collect(),
            processor: counters::counted().map(ProcessorCosts::from),
            ..Self::default()
        }
    }

    /// The costs of the process since `start`.
    pub(crate) fn since(start: &Costs) -> Self {
        let now = Self::now();
        Self {
            cpu_ns: now.cpu_ns - start.cpu_ns,
            user_ns: now.user_ns - start.user_ns,
            system_ns: now.system_ns - start.system_ns,
            switches: ContextSwitches {
                voluntary: now.switches.voluntary - start.switches.voluntary,
                involuntary: now.switches.involuntary - start.switches.involuntary,
            },
            faults: PageFaults {
                minor: now.faults.minor - start.faults.minor,
                major: now.faults.major - start.faults.major,
            },
            loopback_bytes: now.loopback_bytes.saturating_sub(start.loopback_bytes),
            calls: now.calls.into_iter().map(|calls| calls.since(&start.calls)).collect(),
            processor: now.processor.and_then(|now| Some(now.since(start.processor?))),
            ..Self::default()
        }
    }

    /// Resets the kernel's record of this process's peak memory. If the kernel refuses, the peak is that of all
    /// rows so far.
    pub(crate) fn forget_peak_memory() {
        let file = fs::OpenOptions::new().write(true).open("/proc/self/clear_refs");
        let _ = file.and_then(|mut file| file.write_all(b"5"));
    }

    /// The peak resident memory of this process since the last [`Self::forget_peak_memory`]; 0 if the kernel does
    /// not report it.
    pub(crate) fn peak_memory_of_process() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
        kib.map_or(0, |kib| kib * 1024)
    }

    /// Adds the costs of another period of the same process.
    pub(crate) fn add(&mut self, other: &Costs) {
        self.cpu_ns += other.cpu_ns;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.switches.voluntary += other.switches.voluntary;
        self.switches.involuntary += other.switches.involuntary;
        self.faults.minor += other.faults.minor;
        self.faults.major += other.faults.major;
        self.loopback_bytes += other.loopback_bytes;
        self.turns_ns += other.turns_ns;
        for calls in &other.calls {
            calls.add_to(&mut self.calls);
        }
        // A counter that missed a stretch has no count from then on, so the sum stays unknown.
        self.processor = other.processor.map(|other| other.and(self.processor));
    }
}

impl CallCosts {
    /// The counts of the same call since `start`.
    fn since(self, start: &[CallCosts]) -> Self {
        let before = start.iter().find(|calls| calls.number == self.number);
        let before = before.copied().unwrap_or_default();
        Self {
            number: self.number,
            made: self.made - before.made,
            failed: self.failed - before.failed,
            bytes: self.bytes - before.bytes,
        }
    }

    fn add_to(self, all: &mut Vec<CallCosts>) {
        match all.iter_mut().find(|calls| calls.number == self.number) {
            Some(calls) => {
                calls.made += self.made;
                calls.failed += self.failed;
                calls.bytes += self.bytes;
            }
            None => all.push(self),
        }
    }
}

impl ProcessorCosts {
    /// The same counters since they stood so.
    fn since(self, start: Self) -> Self {
        Self {
            instructions: self.instructions - start.instructions,
            cycles: self.cycles - start.cycles,
            ..self
        }
    }

    /// With another stretch, where there is one.
    fn and(self, other: Option<Self>) -> Self {
        let other = other.unwrap_or_default();
        Self {
            instructions: self.instructions + other.instructions,
            cycles: self.cycles + other.cycles,
            ..self
        }
    }
}

impl From<Counted> for ProcessorCosts {
    fn from(Counted { instructions, cycles, with_kernel }: Counted) -> Self {
        Self { instructions, cycles, with_kernel }
    }
}

impl From<Calls> for CallCosts {
    fn from(Calls { number, made, failed, bytes }: Calls) -> Self {
        Self { number, made, failed, bytes }
    }
}

impl ThreadCosts {
    /// The costs of the calling thread so far. Its run delay is 0 if the kernel does not count it.
    pub(crate) fn now() -> Self {
        let time = ThreadTime::own().unwrap_or_default();
        let (cpu_ns, sleeps) = (clock::thread_cpu_ns(), Self::sleeps_so_far());
        Self { cpu_ns, run_delay_ns: time.run_delay_ns, sleeps, ..Self::default() }
    }

    /// The number of times that the calling thread has gone to sleep: the only part that costs a single system call.
    pub(crate) fn sleeps_so_far() -> u64 {
        usage(libc::RUSAGE_THREAD).ru_nvcsw as u64
    }

    /// Adds the costs from `start` to `end`.
    pub(crate) fn add(&mut self, start: &ThreadCosts, end: &ThreadCosts) {
        self.cpu_ns += end.cpu_ns.saturating_sub(start.cpu_ns);
        self.run_delay_ns += end.run_delay_ns.saturating_sub(start.run_delay_ns);
        self.sleeps += end.sleeps.saturating_sub(start.sleeps);
        let idles = end.idles.zip(start.idles).map(|(end, start)| end.saturating_sub(start));
        self.idles = self.idles.zip(idles).map(|(sum, more)| sum + more);
    }
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: all zeros is a valid rusage, and getrusage fills it in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Duration};

    #[test]
    fn work_costs_cpu_time_and_a_sleep_costs_a_switch() {
        let start = Costs::now();
        let mut sum = 0_u64;
        while Costs::since(&start).cpu_ns < 2_000_000 {
            sum = std::hint::black_box(sum + 1);
        }
        thread::sleep(Duration::from_millis(1));
        let costs = Costs::since(&start);
        assert!(costs.cpu_ns >= 2_000_000);
        assert!(costs.switches.voluntary >= 1);
    }

    #[test]
    fn counts_add_up_until_one_is_missing() {
        let costs = |instructions| Costs {
            processor: Some(ProcessorCosts { instructions, cycles: 1, with_kernel: true }),
            ..Costs::default()
        };
        let mut total = Costs::default();
        total.add(&costs(5));
        total.add(&costs(7));
        assert_eq!(total.processor.unwrap().instructions, 12);
        total.add(&Costs::default());
        assert!(total.processor.is_none());
    }

    #[test]
    fn the_peak_of_the_memory_falls_again() {
        let much = vec![1_u8; 64 << 20];
        std::hint::black_box(&much);
        let before = Costs::peak_memory_of_process();
        drop(much);
        Costs::forget_peak_memory();
        assert!(before >= 64 << 20);
        assert!(
            Costs::peak_memory_of_process() < before,
            "the kernel of the tests can count it anew"
        );
    }

    #[test]
    fn the_sleeps_of_another_thread_are_not_counted() {
        let (start, mut own) = (ThreadCosts::now(), ThreadCosts::default());
        thread::spawn(|| (0..9).for_each(|_| thread::sleep(Duration::from_millis(1))))
            .join()
            .unwrap();
        own.add(&start, &ThreadCosts::now());
        assert!(own.sleeps < 9, "{own:?}");
    }

    #[test]
    fn first_touches_count_as_faults_and_kernel_time_is_counted_apart() {
        let start = Costs::now();
        let pages = vec![1_u8; 4 << 20];
        std::hint::black_box(&pages);
        let costs = Costs::since(&start);
        assert!(costs.faults.minor >= 1, "{costs:?}");
        while Costs::since(&start).system_ns == 0 {
            let _ = std::fs::read("/proc/self/maps");
        }
    }
}
