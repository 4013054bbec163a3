//! One way: from the sender's clock to the receiver's. Both are the same clock, read on two processors. How far the
//! receiver's is ahead is measured before each block, subtracted from its arrivals, and stands in the result.
//!
//! In a closed loop every message is answered, and the next follows the answer: nothing is in its way. In an open
//! loop each message is sent at its time and not answered. The sender's stamp is taken before the message is
//! written, the receiver's after it has been read: so a one-way message contains half of the work of a round trip, and
//! one clock reading. In a closed loop the mean of a block is free of that reading; samples have it, as those of round
//! trips do.

use hdrhistogram::Histogram;
use ipcmark_machine::clock::{now_ns, reading_cost_ns};
use ipcmark_transport::{Endpoint, Error, Pattern};

use super::{
    blocks::{BlockLoop, MOST_SAMPLES},
    context::{LoopContext, PatternLoops},
    latency::LatencyLeader,
    losses::Losses,
    marks::{self, Collector, MOST_MARKS},
    message::{Head, MARKED, STREAM, TouchPolicy, begin},
    pacer::{Pacer, Sent},
    probe::ProbePages,
    steps::{ClockFree, Sampled, send},
    turns,
};
use crate::wire::{FollowerReport, LeaderReport, OneWayReport, Pass, Traffic};

/// One-way messages.
pub(super) struct OneWay;

impl PatternLoops for OneWay {
    const PATTERN: Pattern = Pattern::OneWay;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        mut context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let mut ends = LatencyLeader::<E, T, RELIABLE>::verified(end, pass, &mut context, false)?;
        let collector = Collector::new(&mut ends, &mut context)?;
        turns::lead(&mut Sender::new(ends, collector), pass, context)
    }

    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error> {
        match pass.load.has_sizes() {
            true => marks::follow::<E, T, RELIABLE, true>(end, pass, context),
            false => marks::follow::<E, T, RELIABLE, false>(end, pass, context),
        }
    }
}

/// The arrivals of a block's messages by the sender's clock.
struct Arrivals {
    /// None for a lost message.
    at_ns: Vec<Option<u64>>,
    /// What had not arrived by then is lost.
    until_ns: u64,
    /// The least time for which a lost message counts as waited for: less has been waited if nobody answers.
    patience_ns: u64,
}

impl Arrivals {
    fn lost(&self) -> u64 {
        self.at_ns.iter().filter(|at_ns| at_ns.is_none()).count() as u64
    }

    /// The time until which a message counts that was sent at `start_ns`.
    fn end_ns(&self, at: usize, start_ns: u64) -> u64 {
        let given_up_ns = self.until_ns.max(start_ns + self.patience_ns);
        self.at_ns[at].unwrap_or(given_up_ns).max(start_ns)
    }
}

struct Sender<'a, E, T, const RELIABLE: bool> {
    ends: LatencyLeader<'a, E, T, RELIABLE>,
    collector: Collector,
    /// For each message of a block, the time at which it was begun and the time at which the call to publish it
    /// returned.
    stamps: Vec<[u64; 2]>,
    /// Durations of those calls.
    calls: Histogram<u64>,
    /// Round trips of answered messages that follow each other at once: from the stamp of one to that of the next.
    round_trips: Histogram<u64>,
    /// The cost of a clock reading: that of its second part at the sender, and of its first part at the receiver.
    reading_ns: f64,
    /// The shortest way of an unanswered message so far.
    fastest_ns: u64,
    /// The number of unanswered messages, and of those lost.
    unanswered: u64,
    lost: u64,
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop for Sender<'_, E, T, RELIABLE> {
    /// The pattern measures by clock readings, so it has no clock-free blocks.
    fn has_clock_free(&self) -> bool {
        false
    }

    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.ends.flagged(flags)
    }

    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        self.ends.certainly(begin(0))?;
        let most = slots.len().min(wanted as usize).min(MOST_MARKS);
        let count = self.answered(most, length_ns)?;
        let arrivals = self.arrivals(count)?;
        for (at, slot) in slots[..count].iter_mut().enumerate() {
            let start_ns = self.stamps[at][0];
            *slot = arrivals.end_ns(at, start_ns) - start_ns;
        }
        self.keep_calls(count);
        self.keep_round_trips(count);
        let (events, sum) = (count as u64, slots[..count].iter().sum());
        let elapsed_ns = without_readings(sum, events, self.reading_ns);
        Ok(Sampled { samples: count, events, elapsed_ns, spent: events })
    }

    fn clock_free(&mut self, _: u64) -> Result<ClockFree, Error> {
        Err(Error::new("measure", "one way", "without a clock there is nothing to measure"))
    }

    fn paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        self.ends.certainly(begin(0))?;
        let most = slots.len().min(MOST_MARKS);
        let count = match pacer.is_open() {
            true => self.unanswered(&mut slots[..most], pacer)?,
            false => self.answered_paced(&mut slots[..most], pacer)?,
        };
        self.ends.len = self.ends.payload;
        pacer.pause();
        if pacer.is_open() {
            // Its answer shows that everything before it has arrived, or never will.
            self.ends.confirm()?;
        }
        let mut arrivals = self.arrivals(count)?;
        if pacer.is_open() {
            let lost = arrivals.lost();
            self.ends.count_lost(lost);
            pacer.lost(lost);
            (self.unanswered, self.lost) = (self.unanswered + count as u64, self.lost + lost);
            arrivals.patience_ns = self.ends.losses.patience_ns();
        }
        for (at, slot) in slots[..count].iter_mut().enumerate() {
            slot.end_ns = arrivals.end_ns(at, slot.due.start_ns);
        }
        pacer.still_queued(self.queued_ns(&slots[..count], &arrivals));
        self.keep_calls(count);
        Ok(count)
    }

    fn met(&mut self, pages: &mut ProbePages) -> Result<(), Error> {
        self.collector.compare_clocks(&mut self.ends, pages)
    }

    fn start_measuring(&mut self) {
        self.ends.start_measuring();
        self.calls.reset();
        self.round_trips.reset();
    }

    fn losses(&self) -> &Losses {
        self.ends.losses()
    }

    fn traffic(&self) -> Traffic {
        let Traffic { sent, received } = self.ends.traffic();
        // Lost unanswered messages are in neither count.
        Traffic { sent, received: received.saturating_sub(self.unanswered - self.lost) }
    }

    fn take_aside_ns(&mut self) -> u64 {
        self.collector.take_aside_ns()
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        let send = ipcmark_results::encode(&self.calls);
        let is_known = !self.round_trips.is_empty();
        let round_trips = is_known.then(|| ipcmark_results::encode(&self.round_trips));
        self.ends.complete(report);
        let clock_offset = self.collector.clock_offset();
        report.one_way = Some(OneWayReport { send, round_trips, clock_offset });
    }
}

/// The time of `messages` messages one way without their clock readings; at least 1 ns a message.
fn without_readings(all_ns: u64, messages: u64, reading_ns: f64) -> u64 {
    all_ns.saturating_sub((messages as f64 * reading_ns) as u64).max(messages)
}

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> Sender<'a, E, T, RELIABLE> {
    fn new(ends: LatencyLeader<'a, E, T, RELIABLE>, collector: Collector) -> Self {
        Self {
            ends,
            collector,
            // Nonzero values, so that every page is already in memory.
            stamps: vec![[u64::MAX; 2]; MOST_SAMPLES],
            calls: ipcmark_results::new_histogram(),
            round_trips: ipcmark_results::new_histogram(),
            reading_ns: reading_cost_ns(),
            fastest_ns: u64::MAX,
            unanswered: 0,
            lost: 0,
        }
    }

    /// Answered messages, each sent after the answer to the last.
    #[inline(never)]
    fn answered(&mut self, most: usize, length_ns: u64) -> Result<usize, Error> {
        let mut start = now_ns();
        let until = start.saturating_add(length_ns);
        for at in 0..most {
            self.send(at, start, MARKED)?;
            self.receive_answer()?;
            start = now_ns();
            if start >= until {
                return Ok(at + 1);
            }
        }
        Ok(most)
    }

    /// The same with a pause after each answer.
    #[inline(never)]
    fn answered_paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        for (at, slot) in slots.iter_mut().enumerate() {
            let Some(due) = pacer.wait() else { return Ok(at) };
            self.send(at, due.start_ns, MARKED)?;
            self.receive_answer()?;
            slot.due = due;
        }
        Ok(slots.len())
    }

    /// Unanswered messages, each sent at its time.
    #[inline(never)]
    fn unanswered(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        for (at, slot) in slots.iter_mut().enumerate() {
            let Some(due) = pacer.wait() else { return Ok(at) };
            self.ends.len = due.len;
            self.send(at, due.start_ns, STREAM)?;
            slot.due = due;
        }
        Ok(slots.len())
    }

    #[inline(always)]
    fn send(&mut self, at: usize, start_ns: u64, flags: u32) -> Result<(), Error> {
        self.ends.seq += 1;
        send::<E, T>(self.ends.end, self.ends.len, Head { seq: self.ends.seq, flags })?;
        self.stamps[at] = [start_ns, now_ns()];
        Ok(())
    }

    #[inline(always)]
    fn receive_answer(&mut self) -> Result<(), Error> {
        let expected = Head { seq: self.ends.seq, flags: self.ends.answer };
        self.ends.receive_answer(expected).map(drop)
    }

    /// The arrivals of the last `count` messages.
    fn arrivals(&mut self, count: usize) -> Result<Arrivals, Error> {
        let until_ns = now_ns();
        let marks = self.collector.collect(&mut self.ends, count as u64, 0)?;
        let arrival = |at: usize| marks.batches.get(at).map(|mark| mark.at_ns).filter(|ns| *ns > 0);
        let at_ns = (0..count).map(|at| arrival(at).map(|ns| ns.min(until_ns))).collect();
        let arrivals = Arrivals { at_ns, until_ns, patience_ns: 0 };
        let lost = arrivals.lost();
        if RELIABLE && lost > 0 {
            let cause = format!("{lost} of {count} did not arrive: the transport loses");
            return Err(Error::new("measure", "messages one way", cause));
        }
        Ok(arrivals)
    }

    /// The time for which the last of these messages waited at the receiver: what its way took longer than the
    /// shortest.
    fn queued_ns(&mut self, sent: &[Sent], arrivals: &Arrivals) -> u64 {
        let arrived = sent.iter().zip(&arrivals.at_ns).filter(|(_, at_ns)| at_ns.is_some());
        let mut ways = arrived.map(|(one, _)| one.end_ns - one.due.start_ns);
        self.fastest_ns = ways.clone().fold(self.fastest_ns, u64::min);
        ways.next_back().map_or(0, |way| way - self.fastest_ns)
    }

    fn keep_calls(&mut self, count: usize) {
        for [start_ns, end_ns] in &self.stamps[..count] {
            self.calls.saturating_record(end_ns.saturating_sub(*start_ns));
        }
    }

    /// The last message of a block has none: nothing follows it.
    fn keep_round_trips(&mut self, count: usize) {
        for pair in self.stamps[..count].windows(2) {
            self.round_trips.saturating_record(pair[1][0].saturating_sub(pair[0][0]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It once counted until the end of its block, and so as faster than one that was waited for.
    #[test]
    fn a_lost_message_that_nobody_answers_counts_at_least_with_the_patience() {
        let at_ns = vec![Some(150), None, Some(90)];
        let arrivals = Arrivals { at_ns, until_ns: 200, patience_ns: 1000 };
        let ends = [0, 1, 2].map(|at| arrivals.end_ns(at, 100));
        assert_eq!((ends, arrivals.lost()), ([150, 1100, 100], 1));
        assert_eq!(Arrivals { until_ns: 5000, ..arrivals }.end_ns(1, 100), 5000);
    }

    #[test]
    fn a_message_is_counted_without_its_clock_reading() {
        assert_eq!(without_readings(10_000, 100, 23.5), 7_650);
    }

    #[test]
    fn a_message_takes_some_time_in_any_case() {
        assert_eq!(without_readings(2_000, 100, 23.5), 100, "the readings were faster than usual");
        assert_eq!(without_readings(0, 0, 23.5), 0);
    }
}
