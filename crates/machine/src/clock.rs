//! The monotonic clock, in integer nanoseconds, and the cost of reading it.

use std::hint::black_box;

use crate::{clock_step::clock_step, files::Files};

/// The monotonic clock in nanoseconds since an arbitrary moment. Integers throughout: a double holds
/// a wall clock's nanoseconds in steps of 256.
#[inline(always)]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time of this process, all its threads, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The cost of one reading in nanoseconds: the least of several rounds' means, because disturbances only make a round
/// longer.
pub fn reading_cost_ns() -> f64 {
    // Long compared with the clock's step; every worker waits for this before its first row.
    const READINGS: u64 = 1_000;
    let round = || {
        let start = now_ns();
        for _ in 0..READINGS {
            black_box(now_ns());
        }
        (now_ns() - start) as f64 / READINGS as f64
    };
    (0..9).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The clock's step in nanoseconds. No difference between two readings is below the cost of one, so the smallest
/// difference says nothing; the common divisor of many is the step.
pub fn step_ns() -> u64 {
    clock_step(&differences_ns()).map_or(1, |step| step.round() as u64)
}

/// Differences between consecutive readings.
fn differences_ns() -> Vec<u64> {
    const READINGS: usize = 20_000;
    let readings: Vec<u64> = (0..READINGS).map(|_| now_ns()).collect();
    readings.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The kernel's clock source.
pub fn source() -> String {
    Files::of_system().text(SOURCE).unwrap_or_else(|| "unknown".into())
}

/// The file in which the kernel reports its clock source.
pub(crate) const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_runs_backwards_and_moves_in_small_steps() {
        let readings: Vec<u64> = (0..100_000).map(|_| now_ns()).collect();
        assert!(readings.is_sorted());
        let coarse = readings.windows(2).filter(|pair| (pair[1] - pair[0]) % 256 == 0).count();
        assert!(coarse < 90_000, "{coarse} of 100,000 steps are multiples of 256 ns");
        assert!(reading_cost_ns() > 0.0);
    }

    #[test]
    fn this_clock_has_a_step() {
        assert!(step_ns() > 0);
        assert_eq!(differences_ns().len(), 19_999);
    }
}
