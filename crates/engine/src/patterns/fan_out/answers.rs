//! The answers of one follower: their times are kept in an array, and in a histogram after the block.
//!
//! Arrays have one slot for each publication of a block, so that the first answer to each can be found after the block.

use hdrhistogram::Histogram;

use crate::{patterns::blocks::MOST_SAMPLES, wire::AnswerReport};

/// The slot of an answer that was given up.
const LOST: u64 = u64::MAX;

/// The leader's state of one follower.
pub(super) struct FollowerAnswers {
    /// The sequence number of its last answer.
    pub seq: u64,
    /// Times of this block, and their number.
    times: Vec<u64>,
    taken: usize,
    pub samples: Histogram<u64>,
    /// Its answers that were given up.
    pub lost: u64,
}

impl FollowerAnswers {
    /// The state before its first answer.
    pub(super) fn new() -> Self {
        // Nonzero values, so that every page is already in memory.
        let times = vec![u64::MAX; MOST_SAMPLES];
        Self { seq: 0, times, taken: 0, samples: ipcmark_results::new_histogram(), lost: 0 }
    }

    /// Keeps a time of this block. A block has no more answers than there are slots.
    #[inline(always)]
    pub(super) fn note(&mut self, time_ns: u64) {
        if let Some(slot) = self.times.get_mut(self.taken) {
            *slot = time_ns;
            self.taken += 1;
        }
    }

    /// Leaves out an answer of this block that was given up, so that later ones stay in their slots.
    pub(super) fn skip(&mut self) {
        self.note(LOST);
    }

    /// Sorts the times of this block into the histogram.
    pub(super) fn keep(&mut self) {
        let times = self.times[..self.taken].iter().filter(|time_ns| **time_ns != LOST);
        times.for_each(|time_ns| self.samples.saturating_record(*time_ns));
        self.taken = 0;
    }

    /// Its time in a slot of this block; none if it did not answer.
    pub(super) fn time(&self, slot: usize) -> Option<u64> {
        self.times[..self.taken].get(slot).copied().filter(|time_ns| *time_ns != LOST)
    }

    /// Its report.
    pub(super) fn report(&self) -> AnswerReport {
        AnswerReport { histogram: ipcmark_results::encode(&self.samples), lost: self.lost }
    }
}

/// The time of the first answer to each publication of this block that was answered. Silent followers have no slots.
pub(super) fn firsts(followers: &[FollowerAnswers]) -> impl Iterator<Item = u64> {
    let published = followers.iter().map(|follower| follower.taken).max().unwrap_or(0);
    (0..published).filter_map(|slot| followers.iter().filter_map(|one| one.time(slot)).min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_is_the_shortest_of_its_publication() {
        let follower = |times: &[Option<u64>]| {
            let mut follower = FollowerAnswers::new();
            for time in times {
                match time {
                    Some(time_ns) => follower.note(*time_ns),
                    None => follower.skip(),
                }
            }
            follower
        };
        let mut followers = [
            follower(&[Some(5), None, Some(9), None]),
            follower(&[Some(7), Some(6), Some(2), None]),
            follower(&[]),
        ];
        assert_eq!(firsts(&followers).collect::<Vec<_>>(), [5, 6, 2], "nobody answered the last");
        followers.iter_mut().for_each(FollowerAnswers::keep);
        assert_eq!(followers.map(|one| one.samples.len()), [2, 3, 0]);
    }
}
