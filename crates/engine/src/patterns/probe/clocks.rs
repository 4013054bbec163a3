//! The clock comparison: how far the clock is ahead that the first follower reads on its processor.
//!
//! The two endpoints pass a line to and fro, and each reads its clock whenever the line comes. Both run the same machine
//! code for that: when only the leader took the time before and after each exchange, as it is often done, the ways there
//! seemed about 20 ns longer than the ways back.

use std::{hint::spin_loop, sync::atomic::Ordering};

use ipcmark_machine::clock::now_ns;
use ipcmark_results::ClockOffset;

use super::{POLLS_A_LOOK, PROBE_TIMEOUT, ProbePages, STEP_BITS};

/// The number of ways there, and of ways back.
const WAYS: usize = 64;

/// The readings of an endpoint.
const READINGS: usize = WAYS + 1;

/// The first of the words of the first page in which the follower leaves its readings: on other lines than its step.
const FIRST_READING: usize = 16;

impl ProbePages {
    /// The leader's part, after it has called the follower; none if the comparison is given up.
    pub(crate) fn compare_clocks(&mut self) -> Option<ClockOffset> {
        self.probe += 1;
        let deadline = now_ns() + PROBE_TIMEOUT.as_nanos() as u64;
        let readings = self.readings(deadline);
        self.over().store(self.probe, Ordering::Release);
        readings.map(|[ours, theirs]| {
            let way = |from: &[u64], to: &[u64]| -> [i64; WAYS] {
                std::array::from_fn(|at| to[at].wrapping_sub(from[at]) as i64)
            };
            offset([way(&ours, &theirs[1..]), way(&theirs, &ours)])
        })
    }

    /// Both endpoints' readings; the follower's first one precedes the leader's.
    fn readings(&self, deadline: u64) -> Option<[[u64; READINGS]; 2]> {
        let mut step = (self.probe << STEP_BITS) + 1;
        self.round_trips(0, &mut step, 1, deadline)?;
        self.word(0).store(step, Ordering::Release);
        let ours = self.exchange(step + 1, &|| now_ns() > deadline)?;
        self.their_core(deadline)?;
        let reading = |at| self.word_of_first_page(FIRST_READING + at).load(Ordering::Relaxed);
        Some([ours, std::array::from_fn(reading)])
    }

    /// The follower's part.
    pub(crate) fn tell_clock(&mut self) {
        let expected = ((self.probe + 1) << STEP_BITS) + 1;
        let Some(arrived) = self.answer(0, expected) else { return };
        let is_over = || self.over().load(Ordering::Acquire) >= arrived >> STEP_BITS;
        if let Some(readings) = self.exchange(arrived + 2, &is_over) {
            // Ordered by what is told then.
            for (at, ns) in readings.into_iter().enumerate() {
                self.word_of_first_page(FIRST_READING + at).store(ns, Ordering::Relaxed);
            }
            self.tell(arrived, false);
        }
        self.await_end(arrived);
    }

    /// Reads the clock whenever one of every second step comes, the first of which is `first`, and passes the line on.
    /// None if it is given up.
    // One copy for both endpoints, so that they do the same.
    #[inline(never)]
    fn exchange(&self, first: u64, gives_up: &dyn Fn() -> bool) -> Option<[u64; READINGS]> {
        let (word, mut readings) = (self.word(0), [0; READINGS]);
        let mut expected = first;
        for reading in &mut readings {
            let mut polls: u32 = 0;
            while word.load(Ordering::Acquire) != expected {
                polls = polls.wrapping_add(1);
                if polls.is_multiple_of(POLLS_A_LOOK) && gives_up() {
                    return None;
                }
                spin_loop();
            }
            *reading = now_ns();
            word.store(expected + 1, Ordering::Release);
            expected += 2;
        }
        Some(readings)
    }
}

/// How far the follower's clock is ahead, from ways there, which contain it, and ways back, which lack it.
///
/// No way takes less than no time: that gives the bounds. If the line travels as fast there as back, the offset is half of
/// the difference (Cristian 1989, Mills 1991). The slower half of the ways in either direction does not count, because
/// an interrupt delays one way only.
fn offset([mut there, mut back]: [[i64; WAYS]; 2]) -> ClockOffset {
    there.sort_unstable();
    back.sort_unstable();
    let [least, most] = [back[0].saturating_neg(), there[0]];
    // If a clock has jumped, the two are the wrong way round.
    let [least_ns, most_ns] = [least.min(most), least.max(most)];
    let faster = |ways: &[i64]| ways[..WAYS / 2].iter().map(|way| *way as f64).sum::<f64>();
    let estimate = (faster(&there) - faster(&back)) / WAYS as f64;
    let estimate_ns = (estimate.round() as i64).clamp(least_ns, most_ns);
    ClockOffset { least_ns, estimate_ns, most_ns }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{super::tests::pages, *};

    #[test]
    fn clocks_are_compared_between_two_readings() {
        let (mut leader, mut follower) = pages();
        assert_eq!(leader.compare_clocks(), None, "nobody came");
        // Both endpoints of one process have one clock; on a busy machine a comparison can be given up.
        let mut compared = None;
        while compared.is_none() {
            thread::scope(|scope| {
                scope.spawn(|| follower.tell_clock());
                compared = leader.compare_clocks();
            });
        }
        let ClockOffset { least_ns, estimate_ns, most_ns } = compared.unwrap();
        assert!(least_ns <= 0 && most_ns >= 0, "{least_ns} {most_ns}");
        assert!((least_ns..=most_ns).contains(&estimate_ns), "{estimate_ns}");
    }

    #[test]
    fn the_offset_is_half_the_difference_of_the_ways() {
        // Between clocks that are so far apart; some ways are delayed.
        let ways = |ahead_ns: i64, delayed: usize| {
            std::array::from_fn(|at| match at < delayed {
                true => 9_000,
                false => 40 + (at as i64) % 32 + ahead_ns,
            })
        };
        let expected = ClockOffset { least_ns: -25, estimate_ns: 15, most_ns: 55 };
        assert_eq!(offset([ways(15, 0), ways(-15, 0)]), expected);
        assert_eq!(offset([ways(15, 32), ways(-15, 32)]), expected, "delays do not count");
        assert_eq!(offset([ways(-15, 0), ways(15, 0)]).estimate_ns, -15);
    }

    #[test]
    fn the_estimate_is_within_its_bounds() {
        let mixed = std::array::from_fn(|at| if at == 0 { 5 } else { 1_000 });
        assert_eq!(offset([mixed, [70; WAYS]]).estimate_ns, 5);
        let jumped = offset([[-20; WAYS], [-10; WAYS]]);
        assert_eq!(jumped, ClockOffset { least_ns: -20, estimate_ns: -5, most_ns: 10 });
        for wild in [i64::MIN, i64::MAX] {
            let ClockOffset { least_ns, estimate_ns, most_ns } = offset([[wild; WAYS]; 2]);
            assert!(least_ns <= estimate_ns && estimate_ns <= most_ns);
        }
    }
}
