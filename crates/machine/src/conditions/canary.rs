//! The canary: a fixed chain of dependent operations, whose time follows the clock frequency of the processor.

use std::{hint::black_box, time::Instant};

use ipcmark_transport::Error;

use crate::pin;

/// Steps of a round: about 5 µs.
const STEPS: u32 = 8_192;

/// The number of rounds, of which the fastest counts: disturbances only make a round longer.
const ROUNDS: usize = 5;

/// Nanoseconds of one step, a rotation and an addition that depend on each other, on the processor of this thread.
/// About two clock cycles in an optimised build. It touches no memory and takes some tens of µs.
pub fn canary_ns() -> f64 {
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The same on one processor.
///
/// # Errors
/// A thread cannot be started or pinned.
pub fn canary_on(cpu: u32) -> Result<f64, Error> {
    pin::work_on(cpu, "canary", canary_ns)
}

fn round() -> f64 {
    let start = Instant::now();
    let mut value = black_box(1_u64);
    for _ in 0..STEPS {
        // No compiler can simplify a chain with rotations.
        value = value.rotate_left(7).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    black_box(value);
    start.elapsed().as_nanos() as f64 / f64::from(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_time_and_is_no_shorter_than_a_cycle_of_any_processor() {
        let least = (0..20).map(|_| canary_ns()).fold(f64::INFINITY, f64::min);
        assert!(least > 0.1, "{least} ns: the chain was reduced");
    }

    #[test]
    fn one_processor_can_be_chosen() {
        let cpu = crate::topology::usable().unwrap()[0].id;
        assert!(canary_on(cpu).unwrap() > 0.0);
        assert!(canary_on(1_023).unwrap_err().to_string().contains("cpu 1023"));
    }
}
