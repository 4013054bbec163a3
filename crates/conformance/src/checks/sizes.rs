//! `sizes`: every length around a limit of a page, a pipe, a datagram, a queue or a ring makes a
//! round trip through one endpoint and arrives complete.

use std::{collections::BTreeSet, iter};

use crate::check::{Check, none_exempt, one_scenario};
use crate::{context::CheckContext, failure::Failure};

/// A length at which behaviour may change, and the distance around it to test.
const LIMITS: [(usize, usize); 12] = [
    (16, 1),
    (32, 1),
    (48, 1),
    (64, 8),
    // A page, and the default message size limits of POSIX and System V queues.
    (4096, 20),
    (8192, 8),
    // The default size limit of a System V queue.
    (16_384, 8),
    // The longest UDP datagram; a little less with the headers that a transport adds.
    (65_507, 40),
    // The default capacity of a pipe.
    (65_536, 40),
    (131_072, 8),
    // The default buffer of a socket.
    (212_992, 8),
    (1 << 20, 1),
];

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let payloads: Vec<usize> = context.payloads().collect();
    let smaller = iter::once(0).chain(payloads.clone());
    for (smaller, payload) in smaller.zip(payloads) {
        let mut end = context.open(payload)?;
        context.echo(&mut end, &lengths(smaller, payload))?;
        context.meet("both are done")?;
        drop(end);
        context.meet("both are closed")?;
    }
    Ok(())
}

/// The lengths for this payload: those around limits, and the largest possible ones. Around limits up to `smaller`, which
/// another end has passed, only the nearest.
fn lengths(smaller: usize, payload: usize) -> Vec<usize> {
    let around = LIMITS.iter().flat_map(|(limit, span)| {
        let span = if limit + span <= smaller { 1 } else { *span };
        limit - span..=limit + span
    });
    let largest = [payload.saturating_sub(1), payload];
    let all: BTreeSet<usize> =
        around.chain(largest).filter(|len| (16..=payload).contains(len)).collect();
    all.into_iter().collect()
}

/// Lengths around every limit arrive complete.
pub const SIZES: Check =
    Check { name: "sizes", exempt: none_exempt, run_process, run_test: one_scenario, kills: false };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_and_the_largest_length_are_always_included() {
        for payload in [16, 17, 64, 1 << 20, 4 << 20] {
            let lengths = lengths(0, payload);
            assert_eq!((lengths[0], *lengths.last().unwrap()), (16, payload));
            assert!(lengths.is_sorted());
        }
        assert_eq!(lengths(0, 17), [16, 17]);
    }

    #[test]
    fn every_length_around_a_limit_is_tried_by_one_end_and_the_nearest_by_all() {
        let (small, large) = (lengths(0, 65_536), lengths(65_536, 1 << 20));
        for len in [4096 - 20, 65_507 - 40, 65_536] {
            assert!(small.contains(&len), "{len}");
        }
        for len in [4095, 4096, 4097, 65_496, 65_536 + 40, 212_992 - 8, 1 << 20] {
            assert!(large.contains(&len), "{len}");
        }
        assert!(!large.contains(&(4096 - 20)));
    }
}
