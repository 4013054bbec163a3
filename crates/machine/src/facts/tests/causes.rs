//! Causes of harm, each one change of a quiet machine.

use ipcmark_transport::Error;

use super::{
    super::{Question, System, Weight},
    machine::Machine,
};

/// A cause, the fact that it affects, and the expected judgement.
pub(super) struct Cause {
    pub(super) machine: Machine,
    pub(super) fact: &'static str,
    pub(super) weight: Weight,
    pub(super) question: Question,
    /// A part of the remedy; empty if there is no command.
    pub(super) remedy: &'static str,
}

fn refused(cause: &str) -> Option<Result<(), Error>> {
    Some(Err(Error::new("open", "an event", cause)))
}

pub(super) fn causes() -> Vec<Cause> {
    use Question::{Large, Sleeping, Spinning, Tails};
    use Weight::{Note, Reservation, Unfit};
    let with = |path: &str, text: &str| Machine::with(&[(path, text)]);
    let cpu = "sys/devices/system/cpu";
    let cause =
        |machine, fact, weight, question, remedy| Cause { machine, fact, weight, question, remedy };
    let changed = |change: fn(&mut System)| {
        let mut machine = Machine::quiet();
        change(&mut machine.system);
        machine
    };
    let two_nodes = [
        ("sys/devices/system/node/node0/cpulist", "0-5\n"),
        ("sys/devices/system/node/node1/cpulist", "6-7\n"),
    ];
    let haltpoll = [
        ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
        ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "0\n"),
    ];
    vec![
        cause(
            changed(|system| system.hypervisor = Some("KVM".into())),
            "hypervisor",
            Note,
            Tails,
            "",
        ),
        cause(
            changed(|system| system.cpus.drain(..3).for_each(drop)),
            "processors",
            Unfit,
            Spinning,
            "taskset",
        ),
        cause(
            changed(|system| system.cpus.drain(..2).for_each(drop)),
            "processors",
            Note,
            Tails,
            "",
        ),
        cause(
            changed(|system| system.cpus[3].core = 6),
            "SMT siblings",
            Note,
            Tails,
            "smt/control",
        ),
        cause(
            changed(|system| system.cpus.iter_mut().for_each(|cpu| cpu.core = 4)),
            "SMT siblings",
            Reservation,
            Spinning,
            "smt/control",
        ),
        cause(Machine::with(&two_nodes), "NUMA nodes", Note, Large, "numactl --cpunodebind=0"),
        cause(
            with(&format!("{cpu}/isolated"), "\n"),
            "isolated processors",
            Note,
            Tails,
            "isolcpus=6-7",
        ),
        cause(
            with(&format!("{cpu}/isolated"), "1-3\n"),
            "isolated processors",
            Note,
            Tails,
            "taskset --cpu-list 1-3",
        ),
        cause(
            with(&format!("{cpu}/cpu5/cpufreq/scaling_governor"), "powersave\n"),
            "frequency governor",
            Reservation,
            Spinning,
            "cpupower frequency-set",
        ),
        cause(
            with(&format!("{cpu}/intel_pstate/no_turbo"), "0\n"),
            "turbo",
            Note,
            Tails,
            "no_turbo",
        ),
        cause(
            with(&format!("{cpu}/cpu7/thermal_throttle/core_throttle_count"), "3\n"),
            "thermal throttling",
            Note,
            Tails,
            "",
        ),
        cause(
            with(&format!("{cpu}/cpu4/cpuidle/state1/disable"), "0\n"),
            "C-states",
            Reservation,
            Sleeping,
            "--disable-by-latency 10",
        ),
        cause(
            with("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
            "clock source",
            Reservation,
            Spinning,
            "echo tsc",
        ),
        cause(
            changed(|system| system.clock_step_ns = 1_000),
            "clock step",
            Reservation,
            Spinning,
            "",
        ),
        cause(
            changed(|system| system.clock_reading_ns = 800.0),
            "clock reading",
            Reservation,
            Spinning,
            "",
        ),
        cause(
            with(&format!("{cpu}/vulnerabilities/meltdown"), "Mitigation: PTI\n"),
            "mitigations",
            Note,
            Sleeping,
            "mitigations=off",
        ),
        cause(
            with("proc/meminfo", "MemTotal: 900000 kB\nMemAvailable: 300000 kB\n"),
            "memory",
            Reservation,
            Large,
            "",
        ),
        cause(
            changed(|system| system.shared_memory_bytes = Some(64 << 20)),
            "shared memory",
            Reservation,
            Large,
            "--shm-size",
        ),
        cause(
            with(
                "proc/meminfo",
                "MemTotal: 9 kB\nMemAvailable: 16777216 kB\nSwapTotal: 8 kB\nSwapFree: 7 kB\n",
            ),
            "swap",
            Note,
            Tails,
            "swapoff",
        ),
        cause(
            with("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            "transparent huge pages",
            Note,
            Large,
            "echo madvise",
        ),
        cause(with("sys/kernel/mm/ksm/run", "1\n"), "page merging", Note, Tails, "ksm/run"),
        cause(
            with("sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
            "cgroup processor time",
            Unfit,
            Spinning,
            "--cpus=2",
        ),
        cause(
            with("sys/fs/cgroup/a.slice/memory.max", "134217728\n"),
            "cgroup memory",
            Reservation,
            Large,
            "--memory",
        ),
        cause(
            with("sys/fs/cgroup/a.slice/pids.max", "100\n"),
            "cgroup processes",
            Note,
            Spinning,
            "--pids-limit",
        ),
        cause(
            with(
                "proc/self/status",
                "Uid:\t1 1 1 1\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
            ),
            "seccomp",
            Note,
            Sleeping,
            "seccomp=unconfined",
        ),
        cause(
            with("proc/sys/user/max_user_namespaces", "0\n"),
            "user namespaces",
            Note,
            Tails,
            "user.max_user_namespaces=",
        ),
        cause(
            with("proc/sys/kernel/unprivileged_userns_clone", "0\n"),
            "user namespaces",
            Note,
            Tails,
            "unprivileged_userns_clone=1",
        ),
        cause(
            with("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
            "user namespaces",
            Note,
            Tails,
            "apparmor_restrict_unprivileged_userns=0",
        ),
        cause(
            with("proc/sys/kernel/yama/ptrace_scope", "1\n"),
            "ptrace scope",
            Note,
            Large,
            "ptrace_scope=0",
        ),
        cause(
            changed(|system| system.counters = refused("No such file or directory (os error 2)")),
            "performance counters",
            Note,
            Spinning,
            "",
        ),
        cause(
            changed(|system| system.counters = refused("Permission denied (os error 13)")),
            "performance counters",
            Note,
            Sleeping,
            "--cap-add PERFMON",
        ),
        cause(
            changed(|system| system.tracepoints = refused("Operation not permitted (os error 1)")),
            "tracepoints",
            Note,
            Sleeping,
            "sudo ipcmark",
        ),
        cause(
            with("proc/sys/kernel/io_uring_disabled", "1\n"),
            "io_uring",
            Note,
            Spinning,
            "io_uring_disabled=0",
        ),
        cause(
            Machine::with_limit("Max open files", "64"),
            "limit of open files",
            Reservation,
            Large,
            "ulimit -n",
        ),
        cause(
            Machine::with_limit("Max processes", "64"),
            "limit of processes",
            Reservation,
            Large,
            "ulimit -u",
        ),
        cause(
            Machine::with_limit("Max locked memory", "0"),
            "limit of locked memory",
            Reservation,
            Tails,
            "ulimit -l",
        ),
        cause(
            Machine::with_limit("Max address space", "1000000"),
            "limit of memory",
            Reservation,
            Large,
            "ulimit -v",
        ),
        cause(
            Machine::with_limit("Max file size", "1024"),
            "limit of file size",
            Reservation,
            Large,
            "ulimit -f",
        ),
        cause(
            Machine::with_limit("Max msgqueue size", "1024"),
            "limit of message queues",
            Reservation,
            Large,
            "ulimit -q",
        ),
        cause(
            Machine::with_limit("Max pending signals", "0"),
            "limit of signals",
            Reservation,
            Sleeping,
            "ulimit -i",
        ),
        cause(
            Machine::with_limit("Max cpu time", "60"),
            "limit of CPU time",
            Reservation,
            Spinning,
            "ulimit -t",
        ),
        cause(
            with("proc/sys/fs/mqueue/msg_max", "1\n"),
            "fs.mqueue.msg_max",
            Reservation,
            Large,
            "msg_max=10",
        ),
        cause(
            with("proc/sys/fs/mqueue/msgsize_max", "128\n"),
            "fs.mqueue.msgsize_max",
            Reservation,
            Large,
            "msgsize_max=8192",
        ),
        cause(
            with("proc/sys/fs/mqueue/queues_max", "1\n"),
            "fs.mqueue.queues_max",
            Reservation,
            Large,
            "queues_max=",
        ),
        cause(
            with("proc/sys/kernel/msgmax", "128\n"),
            "kernel.msgmax",
            Reservation,
            Large,
            "msgmax=8192",
        ),
        cause(
            with("proc/sys/kernel/msgmnb", "128\n"),
            "kernel.msgmnb",
            Reservation,
            Large,
            "msgmnb=16384",
        ),
        cause(
            with("proc/sys/kernel/msgmni", "2\n"),
            "kernel.msgmni",
            Reservation,
            Large,
            "msgmni=",
        ),
        cause(
            with("proc/sys/kernel/shmmax", "1024\n"),
            "kernel.shmmax",
            Reservation,
            Large,
            "shmmax=",
        ),
        cause(
            with("proc/sys/kernel/shmall", "1024\n"),
            "kernel.shmall",
            Reservation,
            Large,
            "shmall=",
        ),
        cause(
            with("proc/sys/kernel/shmmni", "1\n"),
            "kernel.shmmni",
            Reservation,
            Large,
            "shmmni=",
        ),
        cause(
            with("proc/sys/net/core/rmem_max", "4096\n"),
            "net.core.rmem_max",
            Reservation,
            Large,
            "rmem_max=",
        ),
        cause(
            with("proc/sys/net/core/wmem_max", "4096\n"),
            "net.core.wmem_max",
            Reservation,
            Large,
            "wmem_max=",
        ),
        cause(
            with("proc/sys/net/unix/max_dgram_qlen", "1\n"),
            "net.unix.max_dgram_qlen",
            Reservation,
            Large,
            "max_dgram_qlen=10",
        ),
        cause(
            with("proc/sys/fs/pipe-max-size", "65536\n"),
            "fs.pipe-max-size",
            Reservation,
            Large,
            "pipe-max-size=1048576",
        ),
        cause(
            with("proc/sys/fs/pipe-user-pages-soft", "16\n"),
            "fs.pipe-user-pages-soft",
            Reservation,
            Large,
            "pages-soft=",
        ),
        cause(
            with("proc/stat", "cpu0 100 0 100 1000 0 0 0 50 0 0\n"),
            "stolen time since the start",
            Note,
            Tails,
            "",
        ),
        cause(
            with("proc/pressure/cpu", "some avg10=7.50 avg60=0\n"),
            "pressure",
            Reservation,
            Sleeping,
            "",
        ),
        // These have a second effect, which the test ignores.
        cause(
            Machine::with(&[&two_nodes[..], &[("proc/sys/kernel/numa_balancing", "1\n")]].concat()),
            "NUMA balancing",
            Reservation,
            Tails,
            "numa_balancing=0",
        ),
        cause(
            Machine::virtual_one(&haltpoll),
            "halt polling",
            Reservation,
            Sleeping,
            "guest_halt_poll_ns",
        ),
        cause(
            Machine::virtual_one(&[
                ("sys/devices/system/cpu/cpuidle/current_driver", "none\n"),
                haltpoll[1],
            ]),
            "halt polling",
            Reservation,
            Sleeping,
            "modprobe cpuidle-haltpoll",
        ),
    ]
}
