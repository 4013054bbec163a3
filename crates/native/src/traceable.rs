//! Checks if the kernel lets one process trace another, as required to read its memory and take its descriptors, and
//! gives the permission that a process must grant for that.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use ipcmark_transport::Availability;

use crate::limits;

/// The remedy if the system refuses it.
pub const REMEDY: &str =
    "allow ptrace: kernel.yama.ptrace_scope below 2, or --cap-add SYS_PTRACE for a container";

/// The file in which Yama, if the kernel has it, keeps its tracing policy.
const YAMA: &str = "kernel/yama/ptrace_scope";

/// The bit of CAP_SYS_PTRACE in a set of capabilities.
const SYS_PTRACE: u64 = 1 << 19;

/// The number of ends of this process that others must be able to trace.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// Permission for others to trace this process, for the lifetime of this value. Yama (`ptrace_scope` 1) requires it;
/// elsewhere the kernel does not know the option. A process can name only one tracer, and an end of a fan-out needs
/// several: so it names all, which leaves the kernel's usual rule, that a process may trace those of its own user.
pub struct Traceable;

impl Traceable {
    /// Grants the permission.
    pub fn allow() -> Self {
        if OPEN.fetch_add(1, Ordering::Relaxed) == 0 {
            name_tracer(libc::PR_SET_PTRACER_ANY);
        }
        Self
    }
}

impl Drop for Traceable {
    fn drop(&mut self) {
        if OPEN.fetch_sub(1, Ordering::Relaxed) == 1 {
            name_tracer(0);
        }
    }
}

fn name_tracer(tracer: libc::c_ulong) {
    // SAFETY: no memory is passed. Without Yama it fails, and is not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer) };
}

/// The expected availability: known here are the capabilities of the process, the system's policy, and the reason if
/// the required call is refused. The permissions between two ends are known only when both exist.
pub fn probe(call_refused: impl FnOnce() -> Option<String>) -> Availability {
    let refused = scope(limits::read(YAMA), effective_capabilities());
    match refused.map(str::to_owned).or_else(call_refused) {
        None => Availability::Available { version: None },
        Some(reason) => Availability::Unavailable { reason, install: Some(REMEDY.into()) },
    }
}

/// The reason why Yama refuses tracing to all processes, or to one with these capabilities.
fn scope(scope: Option<usize>, capabilities: u64) -> Option<&'static str> {
    match scope {
        Some(3..) => Some("no process may trace another (kernel.yama.ptrace_scope is 3)"),
        Some(2) if capabilities & SYS_PTRACE == 0 => Some(
            "only a process with CAP_SYS_PTRACE may trace another (kernel.yama.ptrace_scope is 2)",
        ),
        _ => None,
    }
}

fn effective_capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn yama_decides_by_its_scope() {
        assert!([None, Some(0), Some(1)].iter().all(|yama| scope(*yama, 0).is_none()));
        assert!(scope(Some(2), 0).unwrap().contains("CAP_SYS_PTRACE"));
        assert!(scope(Some(2), SYS_PTRACE).is_none());
        assert!(scope(Some(3), SYS_PTRACE).unwrap().contains("is 3"));
    }
}
