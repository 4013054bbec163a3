//! Inherited state that ipcmark does not change, because it may be intended, but that affects the figures.

use std::env;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t};

use crate::inherited::STACK_BYTES;

/// Prefixes of the names of variables that change the code in every measured process.
const VARIABLES: [&str; 4] = ["LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_"];

/// The remarks of a result on the state that this process inherited, a sentence or two each.
pub fn remarks() -> Vec<String> {
    [niceness(), policy(), memory(), stack(), variables()].into_iter().flatten().collect()
}

fn niceness() -> Option<String> {
    // SAFETY: asks about the caller only.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    (nice > 0).then(|| {
        format!(
            "ipcmark runs at nice {nice}: while another process wants a processor, the measured ones \
             wait for it. Start it without nice."
        )
    })
}

fn policy() -> Option<String> {
    // SAFETY: asks about the caller only.
    let policy = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    let (name, effect) = match policy {
        libc::SCHED_IDLE => ("SCHED_IDLE", "every other process comes before the measured ones"),
        libc::SCHED_BATCH => ("SCHED_BATCH", "a process that wakes up waits longer"),
        libc::SCHED_FIFO => ("SCHED_FIFO", "a process that spins gives its processor to nobody"),
        libc::SCHED_RR => ("SCHED_RR", "a process that spins gives its processor to few others"),
        _ => return None,
    };
    let remedy = "Start it without chrt to measure what other programs get.";
    Some(format!("ipcmark runs with the scheduling policy {name}: {effect}. {remedy}"))
}

fn memory() -> Option<String> {
    let limits = [(Resource::RLIMIT_AS, "-v"), (Resource::RLIMIT_DATA, "-d")];
    let limited = |(resource, flag)| soft_limit(resource).map(|bytes| (bytes, flag));
    limits.into_iter().find_map(limited).map(|(bytes, flag)| {
        format!(
            "A process may have {} MiB of memory only (ulimit {flag}): transports that need more fail. \
             Start ipcmark with: ulimit {flag} unlimited.",
            bytes >> 20
        )
    })
}

/// A library's threads still get a stack of the usual size; a program that it starts does not.
fn stack() -> Option<String> {
    let bytes =
        soft_limit(Resource::RLIMIT_STACK).filter(|bytes| *bytes < STACK_BYTES as rlim_t)?;
    Some(format!(
        "A program that a library starts gets a stack of {} KiB only (ulimit -s), and may crash. Start \
         ipcmark with: ulimit -s {}.",
        bytes >> 10,
        STACK_BYTES >> 10
    ))
}

fn soft_limit(resource: Resource) -> Option<rlim_t> {
    getrlimit(resource).ok().map(|(soft, _)| soft).filter(|soft| *soft != RLIM_INFINITY)
}

fn variables() -> Option<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut set: Vec<String> =
        names.filter(|name| VARIABLES.iter().any(|start| name.starts_with(start))).collect();
    set.sort();
    let names = set.join(", ");
    (!set.is_empty())
        .then(|| format!("Set in the environment, and so in the measured processes too: {names}."))
}
