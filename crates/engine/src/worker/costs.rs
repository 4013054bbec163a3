//! What a pass costs a process: CPU time and context switches.

use ipcmark_machine::clock;
use ipcmark_results::SwitchCount;

use super::evidence::loopback_bytes;
use crate::wire::Costs;

impl Costs {
    /// What the process has cost until now.
    pub(crate) fn now() -> Self {
        // SAFETY: all zeros is a valid rusage, and getrusage fills it in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        let switches =
            SwitchCount { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 };
        // The kernel counts it in KiB.
        let peak_memory_bytes = usage.ru_maxrss as u64 * 1024;
        let loopback_bytes = loopback_bytes();
        Self { cpu_ns: clock::process_cpu_ns(), switches, peak_memory_bytes, loopback_bytes }
    }

    /// What it has cost since `start`.
    pub(crate) fn since(start: &Costs) -> Self {
        let now = Self::now();
        let switches = SwitchCount {
            voluntary: now.switches.voluntary - start.switches.voluntary,
            involuntary: now.switches.involuntary - start.switches.involuntary,
        };
        let cpu_ns = now.cpu_ns - start.cpu_ns;
        let loopback_bytes = now.loopback_bytes.saturating_sub(start.loopback_bytes);
        Self { cpu_ns, switches, peak_memory_bytes: now.peak_memory_bytes, loopback_bytes }
    }
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
}
