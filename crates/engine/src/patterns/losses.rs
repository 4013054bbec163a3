//! What an unreliable transport loses: how long an answer is waited for, and the round trips that were given up.

use std::time::Duration;

use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Error, Wait};

/// After this long without an answer, a message of an unreliable transport counts as lost; longer, once answers
/// came late.
const LOSS_AFTER: Duration = Duration::from_millis(100);

/// The same for the first round trip that confirms a stream. It is often lost: it comes when the receiver's socket is full
/// of the stream. Each that is lost doubles the time, and each late answer makes it four times as long.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(5);

/// The limit of a wait for a message that may never come. It reads the clock only now and then, so that an answer
/// in time costs no clock reading.
pub(super) struct LossTimeout {
    polls_a_look: u32,
    polls: u32,
    /// The time of the first look.
    pub since_ns: Option<u64>,
    lasts: Duration,
}

impl LossTimeout {
    /// A polling attempt takes nanoseconds, a sleeping one milliseconds.
    pub(super) fn new(wait: Wait) -> Self {
        let polls_a_look = if wait == Wait::Spin { 1 << 10 } else { 1 };
        Self { polls_a_look, polls: 0, since_ns: None, lasts: LOSS_AFTER }
    }

    /// Counts a poll; true if this one should check the clock.
    pub(super) fn look(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(self.polls_a_look)
    }

    /// True once the loss timeout is exhausted.
    pub(super) fn exhausted(&mut self) -> bool {
        let now = now_ns();
        let since = *self.since_ns.get_or_insert(now);
        now - since > self.lasts.as_nanos() as u64
    }

    /// The time waited so far.
    pub(super) fn waited_ns(&self) -> u64 {
        self.since_ns.map_or(0, |since| now_ns() - since)
    }
}

/// This many lost round trips in a row end the case.
const LOST_IN_A_ROW: u32 = 20;

/// The most times that the loss timeout is doubled.
const MOST_DOUBLINGS: u32 = 4;

/// Round trips of an unreliable transport that never completed.
#[derive(Default)]
pub(super) struct Losses {
    pub count: u64,
    /// Answers that came after they had been given up.
    pub late: u64,
    pub waited_ns: u64,
    /// True while a round trip confirms a stream, and is repeated until one completes.
    pub is_confirming: bool,
    in_a_row: u32,
    /// The number of times that the loss timeout was doubled.
    doublings: u32,
}

impl Losses {
    /// The loss timeout for the next answer.
    pub(super) fn loss_timeout(&self, wait: Wait) -> LossTimeout {
        let confirmed =
            CONFIRMED_WITHIN * (1 << (self.in_a_row + 2 * self.doublings).min(LOST_IN_A_ROW));
        let lasts =
            if self.is_confirming { confirmed.min(self.patience()) } else { self.patience() };
        LossTimeout { lasts, ..LossTimeout::new(wait) }
    }

    fn patience(&self) -> Duration {
        LOSS_AFTER * (1 << self.doublings)
    }

    /// The time for which the next answer is waited for.
    pub(super) fn patience_ns(&self) -> u64 {
        self.patience().as_nanos() as u64
    }

    /// Resets the counts, but keeps what was learned about the answer times.
    pub(super) fn restart(&mut self) {
        *self = Self { doublings: self.doublings, ..Self::default() };
    }

    /// Counts an answer that came after it had been given up: the other endpoint is alive but slower. On a busy
    /// machine either endpoint may wait for its processor as long as the loss timeout lasts.
    #[cold]
    pub(super) fn came_late(&mut self) {
        self.late += 1;
        self.in_a_row = 0;
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }

    /// A round trip completed.
    pub(super) fn none(&mut self) {
        self.in_a_row = 0;
    }

    /// Counts a round trip that was given up.
    #[cold]
    pub(super) fn add(&mut self, loss_timeout: &LossTimeout) -> Result<(), Error> {
        self.count += 1;
        self.in_a_row += 1;
        self.waited_ns += loss_timeout.waited_ns();
        if self.in_a_row == LOST_IN_A_ROW {
            let cause = format!("{LOST_IN_A_ROW} round trips in a row were lost");
            return Err(Error::new("measure", "an unreliable transport", cause));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ipcmark_transport::{Endpoint, Step};

    use super::*;
    use crate::patterns::steps::take_unless;

    /// An end whose attempts to receive all return this.
    struct Always(Step);

    impl Endpoint for Always {
        fn loan(&mut self, _: usize) -> Result<Step, Error> {
            unreachable!()
        }

        fn room(&mut self) -> &mut [u8] {
            unreachable!()
        }

        fn publish(&mut self) -> Result<Step, Error> {
            unreachable!()
        }

        fn take(&mut self) -> Result<Step, Error> {
            Ok(self.0)
        }

        fn message(&self) -> &[u8] {
            unreachable!()
        }

        fn release(&mut self) -> Result<(), Error> {
            unreachable!()
        }
    }

    #[test]
    fn losses_in_a_row_end_the_case_and_others_do_not() {
        let loss_timeout = LossTimeout::new(Wait::Block);
        let mut losses = Losses::default();
        for _ in 0..3 * LOST_IN_A_ROW {
            losses.add(&loss_timeout).unwrap();
            losses.none();
        }
        (1..LOST_IN_A_ROW).for_each(|_| losses.add(&loss_timeout).unwrap());
        let error = losses.add(&loss_timeout).unwrap_err().to_string();
        assert!(error.contains("20 round trips in a row were lost"), "{error}");
        assert_eq!(losses.count, 4 * u64::from(LOST_IN_A_ROW));
    }

    #[test]
    fn answers_that_come_late_are_waited_for_longer_and_do_not_end_the_case() {
        let mut losses = Losses::default();
        let lasts = |losses: &Losses| losses.loss_timeout(Wait::Block).lasts;
        assert_eq!(lasts(&losses), LOSS_AFTER);
        for _ in 0..3 * LOST_IN_A_ROW {
            let loss_timeout = losses.loss_timeout(Wait::Block);
            losses.add(&loss_timeout).unwrap();
            losses.came_late();
        }
        assert_eq!(lasts(&losses), LOSS_AFTER * 16);
        assert_eq!(losses.patience_ns(), 1_600_000_000);
        losses.restart();
        assert_eq!((losses.count, losses.late, lasts(&losses)), (0, 0, LOSS_AFTER * 16));
    }

    /// Regression: each stream of an unreliable transport could wait for 100 ms and more.
    #[test]
    fn a_lost_confirmation_is_soon_repeated_and_a_late_one_waited_for_longer() {
        let mut losses = Losses { is_confirming: true, ..Losses::default() };
        let lasts = |losses: &Losses| losses.loss_timeout(Wait::Block).lasts.as_millis();
        let mut all = Vec::new();
        for _ in 0..7 {
            all.push(lasts(&losses));
            losses.add(&losses.loss_timeout(Wait::Block)).unwrap();
        }
        assert_eq!(all, [5, 10, 20, 40, 80, 100, 100]);
        losses.came_late();
        assert_eq!(lasts(&losses), 20);
        (0..9).for_each(|_| losses.came_late());
        assert_eq!(lasts(&losses), 1280);
    }

    #[test]
    fn a_missing_message_is_given_up_after_the_loss_timeout_and_not_before() {
        for wait in [Wait::Spin, Wait::Block] {
            let mut loss_timeout = LossTimeout::new(wait);
            let begin = now_ns();
            assert!(
                !take_unless(
                    &mut loss_timeout,
                    &mut Always(Step::WouldBlock),
                    LossTimeout::exhausted
                )
                .unwrap()
            );
            let waited = loss_timeout.waited_ns();
            assert!(waited > LOSS_AFTER.as_nanos() as u64 && waited <= now_ns() - begin);
        }
        let mut loss_timeout = LossTimeout::new(Wait::Block);
        assert!(
            take_unless(&mut loss_timeout, &mut Always(Step::Done), LossTimeout::exhausted)
                .unwrap()
        );
        assert_eq!(loss_timeout.since_ns, None, "an answer in time costs no look at the clock");
    }
}
