//! The monotonic clock, in integer nanoseconds, and what a reading of it costs.

use std::{fs, hint::black_box};

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

#[inline(always)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What one reading costs in nanoseconds: the least of several rounds' means, since whatever
/// disturbs a round only makes it longer.
pub fn reading_cost_ns() -> f64 {
    const READINGS: u64 = 10_000;
    let round = || {
        let start = now_ns();
        for _ in 0..READINGS {
            black_box(now_ns());
        }
        (now_ns() - start) as f64 / READINGS as f64
    };
    (0..9).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The smallest step between two readings that differ, in nanoseconds. Some processors count time in
/// steps of 10 ns.
pub fn step_ns() -> u64 {
    let steps = (0..10_000).map(|_| {
        let start = now_ns();
        std::iter::repeat_with(now_ns).find(|now| *now != start).map_or(0, |now| now - start)
    });
    steps.min().unwrap_or(0)
}

/// The kernel's clock source.
pub fn source() -> String {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    fs::read_to_string(path).map_or("unknown".into(), |source| source.trim().into())
}

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
}
