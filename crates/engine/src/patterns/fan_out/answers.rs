//! The answers of one follower: their times are kept in an array, and in a histogram after the block.

use hdrhistogram::Histogram;

use crate::{patterns::blocks::MOST_SAMPLES, wire::AnswerReport};

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

    /// Sorts the times of this block into the histogram.
    pub(super) fn keep(&mut self) {
        let times = &self.times[..self.taken];
        times.iter().for_each(|time_ns| self.samples.saturating_record(*time_ns));
        self.taken = 0;
    }

    /// Its report.
    pub(super) fn report(&self) -> AnswerReport {
        AnswerReport { histogram: ipcmark_results::encode(&self.samples), lost: self.lost }
    }
}
