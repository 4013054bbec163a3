//! Whether the kernel lets one process trace another, as reading its memory and taking its descriptors need, and what a
//! process must say for that.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
};

use ipcmark_transport::Availability;

use crate::limits;

/// What helps where the system refuses it.
pub const REMEDY: &str =
    "allow ptrace: kernel.yama.ptrace_scope below 2, or --cap-add SYS_PTRACE for a container";

/// Where Yama, if the kernel has it, keeps who may trace whom.
const YAMA: &str = "kernel/yama/ptrace_scope";

/// The bit of CAP_SYS_PTRACE in a set of capabilities.
const SYS_PTRACE: u64 = 1 << 19;

/// Ends of this process that others must be able to trace.
static OPEN: AtomicU32 = AtomicU32::new(0);

/// The word of a process that others may trace it, as long as this lives. Yama (`ptrace_scope` 1) asks for it;
/// elsewhere the kernel does not know the option. A process can name one other only, and an end of a fan-out has
/// several: so it names all, which leaves the kernel's usual rule, that a process may trace those of its own user.
pub struct Traceable;

impl Traceable {
    /// Allows it.
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
    // SAFETY: no memory is passed. Where there is no Yama it fails, and nothing is needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer) };
}

/// Whether it can be expected to work: what a process has from its parent and the system refuses is known here, as is
/// why the call that a transport needs is refused. What an end is allowed of the other is known when both are there.
pub fn probe(call_refused: impl FnOnce() -> Option<String>) -> Availability {
    let refused = scope(limits::read(YAMA), effective_capabilities());
    match refused.map(str::to_owned).or_else(call_refused) {
        None => Availability::Available { version: None },
        Some(reason) => Availability::Unavailable { reason, install: Some(REMEDY.into()) },
    }
}

/// Why Yama refuses it to everybody, or to a process with these capabilities.
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
