//! Throughput: a stream of messages, as fast as the transport takes them. Only the transport holds the sender back.
//!
//! The follower reports when each batch of messages began to arrive; the rate is that of arrival. Of each block,
//! only a part counts: from the end of its first quarter, in which the queue fills, until the sender has sent its
//! last message, because what is still in the queue then arrives without a sender. Streamed messages are not
//! answered. A round trip after the stream shows that all of it has arrived or was lost, and the block stands
//! between its probes like every other.

use std::time::Duration;

use hdrhistogram::Histogram;
use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Endpoint, Error, Pattern, Wait};

use super::{
    blocks::BlockLoop,
    context::{LoopContext, PatternLoops},
    latency::LatencyLeader,
    losses::Losses,
    marks::{self, Collector, MOST_MARKS, Mark, Marks},
    message::{Head, STREAM, TouchPolicy, begin},
    probe::ProbePages,
    steps::{ClockFree, Sampled, send},
    turns,
};
use crate::wire::{FollowerReport, LeaderReport, Pass, StreamReport, Traffic, TurnLimit};

/// The duration of a stream between two probes: long enough for a queue to fill.
pub(super) const BLOCK: Duration = Duration::from_millis(8);

/// A block of slow messages has this many batches, unless it lasts longer than [`LONGEST_BLOCK`].
pub(super) const FEWEST_BATCHES: usize = 8;
pub(super) const LONGEST_BLOCK: Duration = Duration::from_millis(400);

/// The target duration of a batch: long compared with a clock reading, short compared with a block.
pub(super) const BATCH_NS: f64 = 20_000.0;

/// The largest batch is two to this power messages.
const MOST_EXPONENT: u32 = 16;

/// This many streams in a row of which nothing arrives end the case.
const EMPTY_IN_A_ROW: u32 = 8;

/// The part of a block during which the queue fills.
const FILLING: f64 = 0.25;

/// A stream of messages.
pub(super) struct Throughput;

impl PatternLoops for Throughput {
    const PATTERN: Pattern = Pattern::Throughput;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        mut context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let mut ends = LatencyLeader::<E, T, RELIABLE>::verified(end, pass, &mut context, true)?;
        let collector = Collector::new(&mut ends, &mut context)?;
        let has_one_clock = context.probe.is_some();
        turns::lead(&mut Sender::new(ends, collector, has_one_clock), pass, context)
    }

    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error> {
        marks::follow::<E, T, RELIABLE, false>(end, pass, context)
    }
}

struct Sender<'a, E, T, const RELIABLE: bool> {
    ends: LatencyLeader<'a, E, T, RELIABLE>,
    collector: Collector,
    /// The time at which each batch of a block had been sent.
    sent_at: Vec<u64>,
    /// Approximate time per message, in nanoseconds.
    message_ns: f64,
    /// True if both endpoints share one clock; otherwise their times are not compared.
    has_one_clock: bool,
    depths: Histogram<u64>,
    sent: u64,
    received: u64,
}

/// A block of a stream.
struct Stream {
    exponent: u32,
    batches: usize,
    marks: Marks,
}

impl Stream {
    /// The number of its messages.
    fn sent(&self) -> u64 {
        (self.batches as u64) << self.exponent
    }
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop for Sender<'_, E, T, RELIABLE> {
    /// Both endpoints read the clock only once a batch, so a clock-free block would add nothing.
    fn has_clock_free(&self) -> bool {
        false
    }

    fn block_length(&self, _: Wait) -> Duration {
        BLOCK
    }

    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.ends.flagged(flags)
    }

    fn warm_up(&mut self, limit: TurnLimit) -> Result<f64, Error> {
        let mut slots = vec![0; MOST_MARKS];
        warm_up(limit, |wanted, length_ns| {
            let stream = self.stream(wanted, length_ns)?;
            if stream.marks.received > 0 {
                self.counted(&stream, &mut slots);
            }
            Ok(stream.sent())
        })?;
        Ok(self.message_ns)
    }

    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        let stream = arriving("a stream of messages", || {
            let stream = self.stream(wanted, length_ns)?;
            let received = stream.marks.received;
            (self.sent, self.received) = (self.sent + stream.sent(), self.received + received);
            Ok((stream, received))
        })?;
        Ok(self.counted(&stream, slots))
    }

    fn clock_free(&mut self, _: u64) -> Result<ClockFree, Error> {
        Err(needs_clock())
    }

    fn met(&mut self, pages: &mut ProbePages) -> Result<(), Error> {
        self.collector.compare_clocks(&mut self.ends, pages)
    }

    fn start_measuring(&mut self) {
        self.ends.start_measuring();
        self.depths.reset();
    }

    fn losses(&self) -> &Losses {
        self.ends.losses()
    }

    fn traffic(&self) -> Traffic {
        let Traffic { sent, received } = self.ends.traffic();
        Traffic { sent, received: received.saturating_sub(self.sent) }
    }

    fn take_aside_ns(&mut self) -> u64 {
        self.collector.take_aside_ns()
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        let Self { sent, received, .. } = *self;
        let depth = self.has_one_clock.then(|| ipcmark_results::encode(&self.depths));
        self.ends.complete(report);
        report.stream = Some(StreamReport { sent, received, published: Vec::new(), depth });
        // These values are of the round trips beside the stream.
        (report.lost, report.late, report.lost_wait_ns) = (0, 0, 0);
    }
}

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> Sender<'a, E, T, RELIABLE> {
    fn new(
        ends: LatencyLeader<'a, E, T, RELIABLE>,
        collector: Collector,
        has_one_clock: bool,
    ) -> Self {
        Self {
            ends,
            collector,
            // Nonzero values, so that every page is already in memory.
            sent_at: vec![u64::MAX; MOST_MARKS],
            message_ns: BATCH_NS,
            has_one_clock,
            depths: ipcmark_results::new_histogram(),
            sent: 0,
            received: 0,
        }
    }

    /// Streams for `length_ns`, at most `wanted` messages, and waits until they have arrived.
    fn stream(&mut self, wanted: u64, length_ns: u64) -> Result<Stream, Error> {
        let exponent = exponent(self.message_ns, wanted);
        self.ends.certainly(begin(exponent))?;
        let most = (wanted >> exponent).clamp(1, MOST_MARKS as u64) as usize;
        let batches = self.send_batches(1 << exponent, most, length_ns)?;
        // Its answer shows that everything before it has arrived, or never will.
        self.ends.confirm()?;
        let sent = (batches as u64) << exponent;
        let marks = self.collector.collect(&mut self.ends, sent, exponent)?;
        check_arrivals::<RELIABLE>("a stream of messages", marks.received, sent)?;
        Ok(Stream { exponent, batches, marks })
    }

    /// Streams batches of `batch` messages until the time is over; returns how many.
    #[inline(never)]
    fn send_batches(&mut self, batch: u64, most: usize, length_ns: u64) -> Result<usize, Error> {
        let start = now_ns();
        let until = start.saturating_add(length_ns);
        let longest = start.saturating_add(LONGEST_BLOCK.as_nanos() as u64);
        let LatencyLeader { end, len, seq, .. } = &mut self.ends;
        for (at, sent_at) in self.sent_at[..most].iter_mut().enumerate() {
            let first = *seq + 1;
            for seq in first..first + batch {
                send::<E, T>(*end, *len, Head { seq, flags: STREAM })?;
            }
            *seq += batch;
            let now = now_ns();
            *sent_at = now;
            if now >= until && (at + 1 >= FEWEST_BATCHES || now >= longest) {
                return Ok(at + 1);
            }
        }
        Ok(most)
    }

    /// The part of a stream that counts: its messages, its duration, and for each batch the time per message.
    fn counted(&mut self, stream: &Stream, slots: &mut [u64]) -> Sampled {
        let sent_at = &self.sent_at[..stream.batches];
        let last_sent_ns = sent_at[stream.batches - 1];
        let seen: Vec<(usize, Mark)> = stream
            .marks
            .batches
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, mark)| mark.at_ns > 0)
            .collect();
        let end_ns = if self.has_one_clock { last_sent_ns } else { u64::MAX };
        let counts = counting(&seen, end_ns);
        if self.has_one_clock {
            for (at, mark) in counts {
                let sent = sent_at.partition_point(|sent_ns| *sent_ns <= mark.at_ns);
                let depth = sent.saturating_sub(*at) << stream.exponent;
                self.depths.saturating_record(depth as u64);
            }
        }
        let sampled = sampled(counts, stream.marks.received, stream.sent(), slots);
        self.message_ns = message_ns(sampled);
        sampled
    }
}

/// Streams until as much has been sent as a warm-up takes. A few short streams lead from no estimate to the time
/// per message. The callback gets the most messages and the duration, and returns the number that it sent.
pub(super) fn warm_up(
    limit: TurnLimit,
    mut stream: impl FnMut(u64, u64) -> Result<u64, Error>,
) -> Result<(), Error> {
    let (begin, mut sent) = (now_ns(), 0);
    while sent == 0 || (sent < limit.samples && now_ns() - begin < limit.time_ns) {
        let length_ns = (BLOCK.as_nanos() as u64).min(limit.time_ns / 4);
        sent += stream(limit.samples - sent, length_ns)?;
    }
    Ok(())
}

/// The error for a stream that is to be measured without a clock.
#[cold]
pub(super) fn needs_clock() -> Error {
    Error::new("measure", "a stream", "without a clock there is nothing to measure")
}

/// Checks that all of `what` arrived, unless the transport may lose messages.
pub(super) fn check_arrivals<const RELIABLE: bool>(
    what: &str,
    received: u64,
    sent: u64,
) -> Result<(), Error> {
    if RELIABLE && received < sent {
        let cause = format!("{received} of {sent} arrived: the transport loses");
        return Err(Error::new("measure", what, cause));
    }
    Ok(())
}

/// The first of these streams of which a message arrives; `stream` runs one and returns the number of messages that
/// arrived. A transport that may lose messages can lose all of a short stream.
pub(super) fn arriving<S>(
    what: &str,
    mut stream: impl FnMut() -> Result<(S, u64), Error>,
) -> Result<S, Error> {
    for _ in 0..EMPTY_IN_A_ROW {
        let (stream, received) = stream()?;
        if received > 0 {
            return Ok(stream);
        }
    }
    let cause = format!("not one message arrived in {EMPTY_IN_A_ROW} attempts");
    Err(Error::new("measure", what, cause))
}

/// The result of the marks that count, with the time per message of each batch in the slots. A single batch counts
/// all that was received, from its first arrival until now.
pub(super) fn sampled(
    counts: &[(usize, Mark)],
    received: u64,
    spent: u64,
    slots: &mut [u64],
) -> Sampled {
    if let [(_, first), .., (_, last)] = counts {
        return Sampled {
            samples: shares(counts, slots),
            events: last.before - first.before,
            elapsed_ns: last.at_ns - first.at_ns,
            spent,
        };
    }
    let now = now_ns();
    let elapsed_ns = counts.first().map_or(0, |(_, mark)| now.saturating_sub(mark.at_ns)).max(1);
    slots[0] = elapsed_ns / received;
    Sampled { samples: 1, events: received, elapsed_ns, spent }
}

/// The time per message of this sample.
pub(super) fn message_ns(sampled: Sampled) -> f64 {
    (sampled.elapsed_ns as f64 / sampled.events.max(1) as f64).max(0.1)
}

/// The batch size for messages of this duration, as a power of two. At least [`FEWEST_BATCHES`] batches fit into
/// `wanted`.
pub(super) fn exponent(message_ns: f64, wanted: u64) -> u32 {
    let batch = (BATCH_NS / message_ns).clamp(1.0, f64::from(1 << MOST_EXPONENT)) as u64;
    batch.min((wanted / FEWEST_BATCHES as u64).max(1)).ilog2()
}

/// The marks that count: those after the filling phase and before the last message was sent. All of them if those
/// are too few.
pub(super) fn counting(seen: &[(usize, Mark)], end_ns: u64) -> &[(usize, Mark)] {
    let Some((_, first)) = seen.first() else { return seen };
    let end = seen.partition_point(|(_, mark)| mark.at_ns <= end_ns);
    let last_ns = if end > 0 { seen[end - 1].1.at_ns } else { first.at_ns };
    let filled_ns = first.at_ns + (FILLING * (last_ns - first.at_ns) as f64) as u64;
    let begin = seen.partition_point(|(_, mark)| mark.at_ns < filled_ns);
    let counts = seen.get(begin..end).unwrap_or_default();
    match counts {
        [(_, first), .., (_, last)] if last.at_ns > first.at_ns => counts,
        _ => seen,
    }
}

/// The time per message of each batch, one slot each.
fn shares(counts: &[(usize, Mark)], slots: &mut [u64]) -> usize {
    let pairs = counts.windows(2).zip(slots.iter_mut());
    pairs
        .map(|(pair, slot)| {
            let [(_, from), (_, to)] = pair else { unreachable!("windows of two") };
            let messages = (to.before - from.before).max(1);
            *slot = (to.at_ns - from.at_ns + messages / 2) / messages;
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(times: &[u64]) -> Vec<(usize, Mark)> {
        let mark = |(at, at_ns): (usize, &u64)| (at, Mark { at_ns: *at_ns, before: 4 * at as u64 });
        times.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn filling_and_draining_of_the_queue_are_not_counted() {
        let seen = marks(&[100, 110, 120, 140, 160, 180, 200, 201, 202]);
        let times: Vec<u64> = counting(&seen, 200).iter().map(|(_, mark)| mark.at_ns).collect();
        assert_eq!(times, [140, 160, 180, 200]);
        assert_eq!(counting(&seen, u64::MAX).last().unwrap().1.at_ns, 202, "no clock to compare");
        assert_eq!(counting(&seen, 50).len(), 9, "all was sent before the first came");
        assert_eq!(counting(&seen[..1], 200).len(), 1);
        assert!(counting(&[], 200).is_empty());
    }

    #[test]
    fn a_stream_of_which_nothing_arrives_is_repeated() {
        let streams = |arrivals: &[u64]| {
            let mut left = arrivals.iter().copied();
            arriving("a stream", || Ok(((), left.next().unwrap()))).map(|()| left.count())
        };
        assert_eq!(streams(&[3, 1]).unwrap(), 1);
        assert_eq!(streams(&[0, 0, 3, 1]).unwrap(), 1);
        let error = streams(&[0; 8]).unwrap_err().to_string();
        assert!(error.contains("not one message arrived in 8 attempts"), "{error}");
    }

    #[test]
    fn a_batch_shares_its_time_among_its_messages() {
        let mut slots = [0; 8];
        assert_eq!(shares(&marks(&[100, 140, 142]), &mut slots), 2);
        assert_eq!(slots[..2], [10, 1]);
    }

    #[test]
    fn batches_take_twenty_microseconds_and_leave_enough_of_them() {
        assert_eq!(exponent(20.0, u64::MAX), 9);
        assert_eq!(exponent(1e6, u64::MAX), 0);
        assert_eq!(exponent(0.1, u64::MAX), MOST_EXPONENT);
        assert_eq!(exponent(20.0, 80), 3);
        assert_eq!(exponent(20.0, 1), 0);
    }
}
