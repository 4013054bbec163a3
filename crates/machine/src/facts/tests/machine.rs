//! Synthetic machines.

use std::fs;

use super::super::{Finding, System, findings};
use crate::{files::Files, topology::Cpu};

/// A machine without harmful facts: eight processors on bare metal, two of them isolated.
pub(super) const QUIET: &[(&str, &str)] = &[
    ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Test Linux 1\"\n"),
    ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test Processor\n"),
    ("proc/cmdline", "root=UUID=1234 quiet isolcpus=6-7 -- idle=poll\n"),
    (
        "proc/meminfo",
        "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    ),
    ("proc/loadavg", "0.10 0.20 0.30 1/100 4711\n"),
    ("proc/stat", "cpu 1 1 1 1 1 1 1 0\ncpu0 100 0 100 1000 0 0 0 0 0 0\n"),
    ("proc/pressure/cpu", "some avg10=0.00 avg60=9.00 avg300=0.00 total=1\n"),
    ("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"),
    (
        "proc/self/status",
        "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n",
    ),
    ("proc/self/cgroup", "0::/a.slice\n"),
    ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max cpu time              unlimited            unlimited            seconds   \n\
         Max file size             unlimited            unlimited            bytes     \n\
         Max processes             4096                 4096                 processes \n\
         Max open files            1024                 524288               files     \n\
         Max locked memory         65536                65536                bytes     \n\
         Max address space         unlimited            unlimited            bytes     \n\
         Max pending signals       4096                 4096                 signals   \n\
         Max msgqueue size         819200               819200               bytes     \n\
         Max realtime priority     0                    0                    \n",
    ),
    ("proc/sys/fs/mqueue/msg_max", "10\n"),
    ("proc/sys/fs/mqueue/msgsize_max", "8192\n"),
    ("proc/sys/fs/mqueue/queues_max", "256\n"),
    ("proc/sys/fs/pipe-max-size", "1048576\n"),
    ("proc/sys/fs/pipe-user-pages-soft", "16384\n"),
    ("proc/sys/kernel/io_uring_disabled", "0\n"),
    ("proc/sys/kernel/msgmax", "8192\n"),
    ("proc/sys/kernel/msgmnb", "16384\n"),
    ("proc/sys/kernel/msgmni", "32000\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("proc/sys/kernel/perf_event_paranoid", "2\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/kernel/shmall", "18446744073692774399\n"),
    ("proc/sys/kernel/shmmax", "18446744073692774399\n"),
    ("proc/sys/kernel/shmmni", "4096\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian\n"),
    ("proc/sys/kernel/yama/ptrace_scope", "0\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
    ("proc/sys/net/core/wmem_max", "212992\n"),
    ("proc/sys/net/unix/max_dgram_qlen", "512\n"),
    ("proc/sys/user/max_user_namespaces", "10000\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"),
    ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state0/name", "POLL\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state0/latency", "0\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state0/disable", "0\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state1/name", "C6\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state1/latency", "133\n"),
    ("sys/devices/system/cpu/cpu4/cpuidle/state1/disable", "1\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/cpu/isolated", "6-7\n"),
    ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
    ("sys/devices/system/node/node0/cpulist", "0-7\n"),
    ("sys/fs/cgroup/a.slice/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/a.slice/cpuset.cpus.effective", "0-7\n"),
    ("sys/fs/cgroup/a.slice/memory.max", "max\n"),
    ("sys/fs/cgroup/a.slice/pids.max", "max\n"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n"),
];

/// A synthetic machine in its own directory.
pub(super) struct Machine {
    pub(super) directory: tempfile::TempDir,
    pub(super) system: System,
}

impl Machine {
    pub(super) fn empty(cpus: Vec<Cpu>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let system = System {
            files: Files::below(directory.path()),
            cpus,
            hypervisor: None,
            clock_step_ns: 1,
            clock_reading_ns: 20.0,
            shared_memory_bytes: None,
            counters: None,
            tracepoints: None,
        };
        Self { directory, system }
    }

    pub(super) fn quiet() -> Self {
        let cpus =
            (4..8).map(|id| Cpu { id, package: 0, core: i64::from(id), cache: "0-7".into() });
        let mut machine = Self::empty(cpus.collect());
        machine.system.shared_memory_bytes = Some(16 << 30);
        (machine.system.counters, machine.system.tracepoints) = (Some(Ok(())), Some(Ok(())));
        QUIET.iter().for_each(|(path, text)| machine.write(path, text));
        for id in 4..8 {
            let base = format!("sys/devices/system/cpu/cpu{id}");
            machine.write(&format!("{base}/cpufreq/scaling_governor"), "performance\n");
            machine.write(&format!("{base}/topology/core_id"), &format!("{id}\n"));
            machine.write(&format!("{base}/thermal_throttle/core_throttle_count"), "0\n");
        }
        machine
    }

    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let machine = Self::quiet();
        files.iter().for_each(|(path, text)| machine.write(path, text));
        machine
    }

    /// The machine with one limit of `/proc/self/limits` changed.
    pub(super) fn with_limit(row: &str, soft: &str) -> Self {
        let (_, text) = QUIET.iter().find(|(path, _)| *path == "proc/self/limits").unwrap();
        let change = |line: &str| match line.strip_prefix(row) {
            Some(rest) => format!("{row}   {soft}   {}\n", rest.split_whitespace().nth(1).unwrap()),
            None => format!("{line}\n"),
        };
        let limits: String = text.lines().map(change).collect();
        Self::with(&[("proc/self/limits", &limits)])
    }

    pub(super) fn virtual_one(files: &[(&str, &str)]) -> Self {
        let mut machine = Self::with(files);
        machine.system.hypervisor = Some("KVM".into());
        machine
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn harmful(&self) -> Vec<Finding> {
        findings(&self.system).into_iter().filter(|finding| finding.effect.is_some()).collect()
    }

    pub(super) fn value(&self, name: &str) -> String {
        let found = findings(&self.system).into_iter().find(|finding| finding.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).value
    }
}
