//! What a clock reading before each message adds to bare round trips between two threads, with both words in one cache
//! line and with each in a line of its own.
//!
//! An end that does something before it answers gives the waiting end time to poll once more. If both words share a
//! line, that poll takes the line away, and the answer must first get it back.

use std::{
    hint::{black_box, spin_loop},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use crate::{
    bare::{pin, unpin},
    blocks::now_ns,
    measured::median,
};

/// Where the two words lie.
#[derive(Clone, Copy)]
pub(crate) enum Words {
    /// In one cache line.
    Together,
    /// Each in a line of its own.
    Apart,
}

/// The length of a slice, and the number of pairs of slices.
const SLICE_NS: u64 = 1_000_000;
const PAIRS: usize = 41;

/// The round trips between two looks at the clock that end a slice.
const BATCH: u64 = 256;

/// A flag beside the number of a message: the follower ends.
const END: u64 = 1 << 63;

/// Two words in one line, and a third in another one that the processor does not load together with it.
#[repr(align(128))]
#[derive(Default)]
struct Line([AtomicU64; 2]);

/// What a reading before each of the leader's messages adds to a round trip, in nanoseconds: the median of pairs of
/// slices with and without.
pub(crate) fn added_ns(words: Words) -> f64 {
    let lines = [Line::default(), Line::default()];
    let question = &lines[0].0[0];
    let answer = match words {
        Words::Together => &lines[0].0[1],
        Words::Apart => &lines[1].0[0],
    };
    thread::scope(|scope| {
        scope.spawn(|| follow(question, answer));
        pin(0);
        let mut leader = Leader { question, answer, number: 0 };
        let added = |_| {
            let without = leader.slice::<false>();
            leader.slice::<true>() - without
        };
        let mut added: Vec<f64> = (0..PAIRS).map(added).collect();
        question.store(END, Ordering::Release);
        unpin();
        added.sort_by(f64::total_cmp);
        median(&added)
    })
}

/// Answers until the end.
fn follow(question: &AtomicU64, answer: &AtomicU64) {
    pin(1);
    let mut seen = 0;
    loop {
        let number = changed(question, seen);
        if number == END {
            return;
        }
        seen = number;
        answer.store(number, Ordering::Release);
    }
}

/// The value of the word once it is another than `seen`.
#[inline(always)]
fn changed(word: &AtomicU64, seen: u64) -> u64 {
    loop {
        let value = word.load(Ordering::Acquire);
        if value != seen {
            return value;
        }
        spin_loop();
    }
}

struct Leader<'a> {
    question: &'a AtomicU64,
    answer: &'a AtomicU64,
    number: u64,
}

impl Leader<'_> {
    /// The time of a round trip in a slice, in nanoseconds.
    #[inline(never)]
    fn slice<const READS: bool>(&mut self) -> f64 {
        let (start, mut count) = (now_ns(), 0);
        loop {
            for _ in 0..BATCH {
                if READS {
                    black_box(now_ns());
                }
                self.question.store(self.number + 1, Ordering::Release);
                self.number = changed(self.answer, self.number);
            }
            count += BATCH;
            let elapsed = now_ns() - start;
            if elapsed > SLICE_NS {
                return elapsed as f64 / count as f64;
            }
        }
    }
}
