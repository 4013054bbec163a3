//! Counts the system calls of this process: for each call the number made and failed, and the bytes that it carried.
//!
//! A child of the process traces it (ptrace(2)): the kernel stops every thread at each call and notifies the tracer,
//! which takes tens of microseconds. Counts are exact; times of a traced process mean nothing.

mod counts;
mod tracer;

use std::sync::{OnceLock, atomic::Ordering};

use ipcmark_transport::Error;

use counts::CallTable;

/// The counts of this process, once counting has started.
static COUNTS: OnceLock<&'static CallTable> = OnceLock::new();

/// The counts of one system call of this process, since counting started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Its number on this architecture.
    pub number: u32,
    /// The number of calls.
    pub made: u64,
    /// Calls that failed: for a call that does not sleep, those that found nothing.
    pub failed: u64,
    /// Bytes that the successful calls reported.
    pub bytes: u64,
}

/// Starts counting the calls of this process. It must have one thread; threads that it starts later are counted too,
/// child processes are not.
///
/// # Errors
/// The system does not allow tracing, or is out of processes or memory.
pub fn count_from_now() -> Result<(), Error> {
    let counts = tracer::start()?;
    // If counting had started before, the earlier counts include these calls.
    let _ = COUNTS.set(counts);
    Ok(())
}

/// The calls that this process has made since counting started, by number. None if it does not count, or if the tracer
/// has ended, because then some are missing.
pub fn counted() -> Option<Vec<Calls>> {
    let counts = COUNTS.get().filter(|_| is_traced())?;
    let calls = counts.0.iter().enumerate().map(|(number, count)| Calls {
        number: number as u32,
        made: count.made.load(Ordering::Relaxed),
        failed: count.failed.load(Ordering::Relaxed),
        bytes: count.bytes.load(Ordering::Relaxed),
    });
    Some(calls.filter(|calls| calls.made > 0).collect())
}

fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// The name of a call on this architecture.
pub fn name(number: u32) -> String {
    let known = syscalls::Sysno::new(number as usize);
    known.map_or_else(|| format!("call-{number}"), |call| call.name().to_owned())
}

/// The time of a system call that does nothing, in nanoseconds: the shortest of many blocks, because disturbances only
/// make a call slower.
pub fn bare_call_ns() -> f64 {
    const CALLS: u32 = 1000;
    let block = |_| {
        let start = crate::clock::now_ns();
        for _ in 0..CALLS {
            // SAFETY: asks for the parent's number. The libraries do not cache it, so each call enters the kernel.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
        (crate::clock::now_ns() - start) as f64 / f64::from(CALLS)
    };
    (0..20).map(block).fold(f64::MAX, f64::min)
}

/// The time to copy this many bytes once, from and to memory that is in the caches as far as it fits, in nanoseconds:
/// the median of many copies.
pub fn copy_ns(bytes: usize) -> f64 {
    const BLOCKS: usize = 31;
    let (source, mut target) = (vec![1_u8; bytes.max(1)], vec![2_u8; bytes.max(1)]);
    let copies = ((1 << 20) / bytes.max(1)).clamp(1, 4096);
    let mut times: Vec<f64> = (0..BLOCKS)
        .map(|_| {
            let start = crate::clock::now_ns();
            for _ in 0..copies {
                target.copy_from_slice(std::hint::black_box(&source));
                std::hint::black_box(&mut target);
            }
            (crate::clock::now_ns() - start) as f64 / copies as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[BLOCKS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_names() {
        assert_eq!(name(libc::SYS_write as u32), "write");
        assert_eq!(name(1023), "call-1023");
    }

    #[test]
    fn a_larger_copy_takes_longer_and_a_call_some_time() {
        assert!(copy_ns(4 << 20) > copy_ns(64) && bare_call_ns() > 0.0);
        assert!(copy_ns(0) >= 0.0);
    }
}
