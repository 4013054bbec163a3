//! The floor: the time in which a cache line goes to another processor and back, with nothing else.
//!
//! It depends on the line. Each line has a home in the processor, which follows from its physical address, and where
//! that is far away both ways are longer: on an Intel Xeon of two dies the lines of one half took 140 ns and those of the
//! other 185, always the same ones, when both ends were on one die. The homes of neighbouring lines alternate, there every
//! 512 bytes. So a floor is made of lines that lie side by side: the mean of eight, 128 bytes apart, was the same within
//! 1.5 % wherever they began; the median of eight lines on eight pages was not, by 7 % (standard deviations).

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::clock::now_ns;

/// The number of lines.
pub const LINES: usize = 8;

/// The bytes from one line to the next: two lines, because processors fetch them in pairs.
pub const STRIDE: usize = 128;

/// The round trips of a line that are timed: long compared with a clock reading, short compared with an interrupt.
const TIMED: u32 = 6;

/// A floor round trip in nanoseconds, with a clock that takes `reading_ns` to read. `round_trips` makes a number of them
/// on a line; none if it gives up.
#[inline(always)]
pub fn measure(
    reading_ns: f64,
    mut round_trips: impl FnMut(usize, u32) -> Option<()>,
) -> Option<f64> {
    let mut times = [0.0; LINES];
    for (line, time) in times.iter_mut().enumerate() {
        // The first round trip on a line brings it into this processor's cache.
        round_trips(line, 1)?;
        let start = now_ns();
        round_trips(line, TIMED)?;
        *time = ((now_ns() - start) as f64 - reading_ns).max(1.0) / f64::from(TIMED);
    }
    Some(middle(times))
}

/// The other end's part: `answer` answers one round trip on a line, or gives up.
#[inline(always)]
pub fn answer(mut answer: impl FnMut(usize) -> Option<()>) -> Option<()> {
    (0..LINES).try_for_each(|line| (0..=TIMED).try_for_each(|_| answer(line)))
}

/// Waits for a step; none if it is given up, which is asked for once in so many polls.
#[inline(always)]
pub fn await_step(
    word: &AtomicU64,
    step: u64,
    polls_a_look: u32,
    gives_up: impl Fn() -> bool,
) -> Option<()> {
    let mut polls: u32 = 0;
    // Release and acquire pair as in a transport that hands a payload over with the word.
    while word.load(Ordering::Acquire) != step {
        polls = polls.wrapping_add(1);
        if polls.is_multiple_of(polls_a_look) && gives_up() {
            return None;
        }
        spin_loop();
    }
    Some(())
}

/// The mean of the middle half: half of the lines can have near homes, and an interrupt at either end delays one line.
fn middle(mut times: [f64; LINES]) -> f64 {
    times.sort_by(f64::total_cmp);
    let half = &times[LINES / 4..LINES - LINES / 4];
    half.iter().sum::<f64>() / half.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_homes_count_alike_and_interrupts_do_not() {
        let near_and_far = [140.0, 185.0, 140.0, 185.0, 140.0, 185.0, 140.0, 185.0];
        assert_eq!(middle(near_and_far), 162.5);
        let mut interrupted = near_and_far;
        (interrupted[1], interrupted[7]) = (3_000.0, 33_000.0);
        assert_eq!(middle(interrupted), 162.5);
    }

    #[test]
    fn both_ends_make_the_same_round_trips() {
        let (mut led, mut answered) = (Vec::new(), Vec::new());
        let lead = |line, count| {
            led.extend((0..count).map(|_| line));
            Some(())
        };
        assert!(measure(0.0, lead).is_some_and(|ns| ns > 0.0));
        let all = answer(|line| {
            answered.push(line);
            Some(())
        });
        assert_eq!((all, led), (Some(()), answered));
    }

    #[test]
    fn one_that_gives_up_has_no_floor() {
        assert_eq!(measure(0.0, |line, _| (line < 3).then_some(())), None);
        assert_eq!(answer(|line| (line < 3).then_some(())), None);
    }

    #[test]
    fn the_clock_takes_no_more_than_the_time_that_there_is() {
        let floor = measure(1e12, |_, _| Some(())).unwrap();
        assert_eq!(floor, 1.0 / f64::from(TIMED));
    }
}
