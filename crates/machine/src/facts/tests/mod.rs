//! Judgements of synthetic machines: each effect is present if and only if its cause is.

mod causes;
mod machine;

use std::{collections::BTreeSet, fs, path::Path};

use ipcmark_transport::Error;

use self::{
    causes::{Cause, causes},
    machine::Machine,
};
use super::{Finding, System, all, findings};

/// Facts without a cause of harm: they only inform.
const HARMLESS: [&str; 11] = [
    "processor",
    "kernel",
    "load",
    "distribution",
    "cpuset",
    "preemption model",
    "boot options",
    "real-time throttling",
    "reserved huge pages",
    "no_new_privs",
    "real-time priority",
];

/// The fact that also changes with the cause of this one.
fn comes_with(fact: &str) -> &'static str {
    match fact {
        "processors" => "isolated processors",
        "NUMA balancing" => "NUMA nodes",
        "halt polling" => "hypervisor",
        _ => "",
    }
}

#[test]
fn a_quiet_machine_has_no_harmful_fact() {
    let harmful = Machine::quiet().harmful();
    assert!(harmful.is_empty(), "{harmful:#?}");
}

#[test]
fn each_cause_shows_in_its_fact_and_in_no_other() {
    for Cause { machine, fact, weight, question, remedy } in causes() {
        let harmful = machine.harmful();
        let own: Vec<&Finding> =
            harmful.iter().filter(|finding| finding.name != comes_with(fact)).collect();
        assert_eq!(own.iter().map(|finding| finding.name).collect::<Vec<_>>(), [fact]);
        let effect = own[0].effect.as_ref().unwrap();
        assert_eq!(effect.weight, weight, "{fact}");
        assert!(effect.questions.contains(&question), "{fact}: {effect:?}");
        assert!(!effect.sentence.ends_with('.') && !effect.sentence.contains('\n'), "{fact}");
        match &effect.remedy {
            Some(found) => {
                assert!(!remedy.is_empty() && found.command.contains(remedy), "{fact}: {found:?}");
                assert!(!found.price.is_empty(), "{fact}");
            }
            None => assert!(remedy.is_empty(), "{fact} has no remedy"),
        }
    }
}

#[test]
fn every_fact_has_a_cause_or_only_informs() {
    let causes: BTreeSet<&str> = causes().iter().map(|cause| cause.fact).collect();
    for fact in all() {
        assert_ne!(causes.contains(fact.name), HARMLESS.contains(&fact.name), "{}", fact.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = all().map(|fact| fact.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn facts_without_a_source_are_left_out() {
    let found: Vec<&str> =
        findings(&Machine::empty(vec![]).system).iter().map(|fact| fact.name).collect();
    // All other facts need files.
    assert_eq!(found, ["kernel", "hypervisor", "processors", "clock step", "clock reading"]);
}

#[test]
fn odd_files_are_survived_and_stay_short() {
    let odd: [&[u8]; 6] = [
        b"",
        b"\xff\xfe\x00\x1b[2J",
        b"-1 -1 -1",
        b"18446744073709551616",
        b"[] () :: , - =",
        b"max max\n0::\n",
    ];
    for bytes in odd {
        let machine = Machine::quiet();
        overwrite(machine.directory.path(), bytes);
        check_short(&machine);
    }
    let machine = Machine::quiet();
    overwrite(machine.directory.path(), "x ".repeat(100_000).as_bytes());
    check_short(&machine);
}

fn overwrite(directory: &Path, bytes: &[u8]) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => overwrite(&entry.path(), bytes),
            false => fs::write(entry.path(), bytes).unwrap(),
        }
    }
}

fn check_short(machine: &Machine) {
    for finding in findings(&machine.system) {
        assert!(finding.value.chars().count() <= 301, "{finding:?}");
        assert!(!finding.value.chars().any(char::is_control), "{finding:?}");
    }
}

#[test]
fn values_are_those_of_the_machine() {
    let machine = Machine::quiet();
    for (name, value) in [
        ("processor", "Test Processor"),
        ("distribution", "Test Linux 1"),
        ("processors", "CPU 4-7 usable of 0-7 online, on 4 cores"),
        ("isolated processors", "6-7"),
        ("C-states", "POLL 0 µs, C6 off"),
        ("boot options", "isolcpus=6-7"),
        ("performance counters", "level 2: for users, without the kernel's work"),
        ("tracepoints", "usable"),
        ("preemption model", "dynamic; only root can see the active one"),
        ("memory", "32 GiB, 16 GiB available"),
        ("transparent huge pages", "madvise, defrag madvise"),
        ("reserved huge pages", "none"),
        ("limit of open files", "1024"),
        ("limit of locked memory", "64 KiB"),
        ("kernel.shmmax", "not limited"),
        ("net.core.wmem_max", "208 KiB"),
        ("pressure", "cpu 0.0 %, memory 0.0 %"),
    ] {
        assert_eq!(machine.value(name), value, "{name}");
    }
}

#[test]
fn controllers_of_version_1_limit_as_well() {
    let machine = Machine::with(&[
        (
            "proc/self/mountinfo",
            "32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             33 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        ),
        ("proc/self/cgroup", "3:cpu:/job\n2:memory:/job\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"),
    ]);
    assert_eq!(machine.value("cgroup processor time"), "0.50 processors");
    assert_eq!(machine.value("cgroup memory"), "not limited");
}

#[test]
fn the_remedy_of_a_low_limit_depends_on_the_hard_limit() {
    let price = |machine: Machine| {
        let mut harmful = machine.harmful();
        harmful.remove(0).effect.unwrap().remedy.unwrap().price
    };
    assert_eq!(price(Machine::with_limit("Max open files", "64")), "none");
    let limits = "Max open files   64   64   files\n";
    assert!(price(Machine::with(&[("proc/self/limits", limits)])).contains("hard limit"));
}

#[test]
fn taskset_is_no_remedy_for_a_choice() {
    let remedy = |allowed: &str| {
        let status = format!("Cpus_allowed_list:\t{allowed}\n");
        let mut machine = Machine::with(&[("proc/self/status", &status)]);
        machine.system.cpus.truncate(1);
        let harmful = machine.harmful();
        let processors = harmful.into_iter().find(|finding| finding.name == "processors").unwrap();
        processors.effect.unwrap().remedy
    };
    assert!(remedy("4").is_some());
    assert_eq!(remedy("4-7"), None);
}

#[test]
fn what_refuses_the_counters_decides_what_helps() {
    let remedy = |level: &str, cause: &str| {
        let mut machine = Machine::with(&[("proc/sys/kernel/perf_event_paranoid", level)]);
        let error = Error::new("count", "cycles", cause).remedy("ask the host");
        machine.system.counters = Some(Err(error));
        let effect = machine.harmful().remove(0).effect.unwrap();
        (effect.sentence.contains("ask the host"), effect.remedy.map(|remedy| remedy.command))
    };
    let (_, command) = remedy("4\n", "Permission denied (os error 13)");
    assert!(command.unwrap().contains("perf_event_paranoid=2"));
    assert_eq!(remedy("2\n", "No such file or directory (os error 2)"), (true, None));
}

#[test]
fn root_needs_another_remedy_for_tracepoints_than_a_user() {
    let remedy = |cause: &str| {
        let root = "Name:\tx\nUid:\t0\t0\t0\t0\nNoNewPrivs:\t0\nSeccomp:\t0\n";
        let mut machine = Machine::with(&[("proc/self/status", root)]);
        machine.system.tracepoints = Some(Err(Error::new("trace", "wake-ups", cause)));
        machine.harmful().remove(0).effect.unwrap().remedy
    };
    let in_container = remedy("this process is in a PID namespace of its own").unwrap();
    assert!(in_container.command.contains("--pid host"), "{in_container:?}");
    assert_eq!(remedy("No such device (os error 19)"), None, "the kernel has none");
}

#[test]
fn the_running_system_is_read() {
    let system = System::running().unwrap();
    let found = findings(&system);
    assert!(found.iter().any(|finding| finding.name == "kernel"));
    assert!(found.iter().all(|finding| !finding.value.is_empty()), "{found:#?}");
}
