//! How far ahead the clock is that is read on another processor. It is the same clock of the system, but two processors
//! need not read the same nanosecond at the same time.
//!
//! Two ends pass a cache line to and fro, and each reads its clock whenever the line comes. Both run the same machine code
//! for that: when only one took the time before and after each exchange, as it is often done, the ways there seemed about
//! 20 ns longer than the ways back.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{clock::now_ns, floor::await_step};

/// The number of ways there, and of ways back, that are compared.
pub const WAYS: usize = 64;

/// The readings of one end.
pub type Readings = [u64; WAYS + 1];

/// The number of polls between two looks whether the exchange is given up.
const POLLS_A_LOOK: u32 = 1 << 10;

/// How far the other end's clock is ahead, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// It is at least this much.
    pub least_ns: i64,
    /// If the line travels as fast there as back, it is this much.
    pub estimate_ns: i64,
    /// It is at most this much.
    pub most_ns: i64,
}

/// One end's part of an exchange: whenever one of every second step comes, the first of which is `first`, it reads the
/// clock and passes the line on with the next step. None if it is given up.
// One copy for both ends, so that they do the same.
#[inline(never)]
pub fn exchange(line: &AtomicU64, first: u64, gives_up: &dyn Fn() -> bool) -> Option<Readings> {
    let (mut readings, mut expected) = ([0; WAYS + 1], first);
    for reading in &mut readings {
        await_step(line, expected, POLLS_A_LOOK, gives_up)?;
        *reading = now_ns();
        line.store(expected + 1, Ordering::Release);
        expected += 2;
    }
    Some(readings)
}

impl Offset {
    /// From the readings of both ends in one exchange, which the other end's first reading begins.
    ///
    /// No way takes less than no time: that gives the bounds. If the line travels as fast there as back, the offset is half
    /// of the difference of the ways (Cristian 1989, Mills 1991). The slower half of the ways in either direction does not
    /// count, because an interrupt delays one way only.
    #[must_use]
    pub fn of(ours: &Readings, theirs: &Readings) -> Self {
        let mut there = ways(ours, &theirs[1..]);
        let mut back = ways(theirs, ours);
        there.sort_unstable();
        back.sort_unstable();
        let [least, most] = [back[0].saturating_neg(), there[0]];
        // If a clock has jumped, the two are the wrong way round.
        let [least_ns, most_ns] = [least.min(most), least.max(most)];
        let faster = |ways: &[i64]| ways[..WAYS / 2].iter().map(|way| *way as f64).sum::<f64>();
        let estimate = (faster(&there) - faster(&back)) / WAYS as f64;
        let estimate_ns = (estimate.round() as i64).clamp(least_ns, most_ns);
        Self { least_ns, estimate_ns, most_ns }
    }
}

/// The time of each way, from a reading of one clock to one of the other.
fn ways(from: &[u64], to: &[u64]) -> [i64; WAYS] {
    std::array::from_fn(|at| to[at].wrapping_sub(from[at]) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset of ends whose clocks are so far apart, from the times of the ways there and back.
    fn offset(ahead_ns: i64, there: [u64; WAYS], back: [u64; WAYS]) -> Offset {
        let mut now = 1_000_000_u64;
        let theirs = |now: u64| now.wrapping_add_signed(ahead_ns);
        let mut readings: [Readings; 2] = [[0; WAYS + 1]; 2];
        readings[1][0] = theirs(now);
        for at in 0..WAYS {
            now = now.wrapping_add(back[at]);
            readings[0][at] = now;
            now = now.wrapping_add(there[at]);
            readings[1][at + 1] = theirs(now);
        }
        Offset::of(&readings[0], &readings[1])
    }

    /// Ways of 40 to 71 ns, but for the first ones, which are delayed.
    fn delayed(count: usize) -> [u64; WAYS] {
        std::array::from_fn(|at| if at < count { 9_000 } else { 40 + at as u64 % 32 })
    }

    #[test]
    fn the_offset_is_half_the_difference_of_the_ways() {
        for ahead_ns in [-5_000_000_000, -15, 0, 15] {
            let expected =
                Offset { least_ns: ahead_ns - 40, estimate_ns: ahead_ns, most_ns: ahead_ns + 40 };
            assert_eq!(offset(ahead_ns, delayed(0), delayed(0)), expected);
            assert_eq!(offset(ahead_ns, delayed(32), delayed(32)), expected, "delays do not count");
        }
    }

    #[test]
    fn the_estimate_is_within_its_bounds() {
        let mostly_slow = std::array::from_fn(|at| if at == 0 { 5 } else { 1_000 });
        assert_eq!(offset(0, mostly_slow, [70; WAYS]).estimate_ns, 5);
        // A clock has jumped back: ways of less than no time.
        let jumped = offset(0, [20_u64.wrapping_neg(); WAYS], [10_u64.wrapping_neg(); WAYS]);
        assert_eq!(jumped, Offset { least_ns: -20, estimate_ns: -5, most_ns: 10 });
        for wild in [[0, u64::MAX], [1 << 63, 0], [0, 1 << 63]] {
            let [ours, theirs] = wild.map(|ns| [ns; WAYS + 1]);
            let Offset { least_ns, estimate_ns, most_ns } = Offset::of(&ours, &theirs);
            assert!(least_ns <= estimate_ns && estimate_ns <= most_ns);
        }
    }
}
