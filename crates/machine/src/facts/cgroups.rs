//! Limits of the control groups of this process. The lowest on the path to the root counts.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    quantity::bytes,
    system::System,
};
use crate::cgroup::Groups;

/// The needs of the largest default run, with some room.
const ENOUGH_MEMORY: u64 = 512 << 20;

/// Processes and threads of the largest session: 64 followers, or a library's threads.
const ENOUGH_PROCESSES: u64 = 512;

/// Version 1 writes the largest number of pages if there is no limit.
const UNLIMITED: u64 = i64::MAX as u64 & !0xfff;

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "cgroup processor time",
        source: "cpu.max, or cpu.cfs_quota_us and cpu.cfs_period_us",
        examine: examine_time,
    },
    Fact {
        name: "cgroup memory",
        source: "memory.max, or memory.limit_in_bytes",
        examine: examine_memory,
    },
    Fact { name: "cgroup processes", source: "pids.max", examine: examine_processes },
];

/// The processor time that the groups allow, in processors.
fn quota(system: &System, groups: &Groups) -> Option<f64> {
    let read = |name: &str| groups.texts(&system.files, name);
    let pairs: Vec<String> = match groups.unified {
        true => read("cpu.max"),
        false => {
            let periods = read("cpu.cfs_period_us");
            let pairs = read("cpu.cfs_quota_us").into_iter().zip(periods);
            pairs.map(|(quota, period)| format!("{quota} {period}")).collect()
        }
    };
    pairs.iter().filter_map(|pair| share(pair)).reduce(f64::min)
}

/// `50000 100000` is half a processor; `max` and -1 are no limit.
fn share(pair: &str) -> Option<f64> {
    let (quota, period) = pair.split_once(' ')?;
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

fn examine_time(system: &System) -> Option<Examined> {
    let groups = Groups::of(&system.files, "cpu")?;
    let Some(quota) = quota(system, &groups) else {
        return Some(Examined::harmless("not limited"));
    };
    let is_short = quota < system.cpus.len().min(2) as f64;
    Some(Examined::harmless(format!("{quota:.2} processors")).with(is_short.then(stopped)))
}

fn stopped() -> Effect {
    Effect::new(
        Weight::Unfit,
        &[Question::Spinning, Question::Tails],
        "two ends that spin use up their time early in each period, and the kernel stops both for the rest of it",
    )
    .remedy(
        "docker run --cpus=2  # systemd-run: -p CPUQuota=200%; Kubernetes: limits.cpu: 2",
        "the processors are no longer available to others",
    )
}

fn examine_memory(system: &System) -> Option<Examined> {
    let groups = Groups::of(&system.files, "memory")?;
    let name = if groups.unified { "memory.max" } else { "memory.limit_in_bytes" };
    let limit = groups.least(&system.files, name).filter(|limit| *limit < UNLIMITED);
    let Some(limit) = limit else { return Some(Examined::harmless("not limited")) };
    let effect = Effect::new(
        Weight::Reservation,
        &[Question::Large],
        "shared memory counts as well: rows with large messages, many subscribers or pools are killed here",
    )
    .remedy("docker run --memory=2g", "memory that others cannot have");
    Some(Examined::harmless(bytes(limit)).with((limit < ENOUGH_MEMORY).then_some(effect)))
}

fn examine_processes(system: &System) -> Option<Examined> {
    let groups = Groups::of(&system.files, "pids")?;
    let Some(limit) = groups.least(&system.files, "pids.max") else {
        return Some(Examined::harmless("not limited"));
    };
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Sleeping],
        "rows with many subscribers, and libraries with threads of their own, cannot start all of them",
    )
    .remedy("docker run --pids-limit=4096", "a runaway program can start more processes");
    Some(Examined::harmless(limit.to_string()).with((limit < ENOUGH_PROCESSES).then_some(effect)))
}
