//! Fan-in: several publishers stream to one leader, which takes messages as they arrive. Only the transport holds a
//! publisher back.
//!
//! The leader demands the same number of messages from each follower, by one publication that reaches all. Each
//! publishes them as fast as it can, then answers the demand: the answer shows that all of its messages have
//! arrived or are lost. The leader reads its clock when a batch of messages begins to arrive. Of each block, only
//! the part in which all publish counts: without its first quarter, and until the first publisher has finished.

use std::time::Duration;

use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Endpoint, Error, Pattern, Span, Wait};

use super::{
    blocks::BlockLoop,
    context::{LoopContext, PatternLoops},
    fan_out::{self, OneByOne},
    follower::{Follower, Next},
    losses::Losses,
    marks::{MOST_MARKS, Mark},
    message::{FROM_FOLLOWER, Head, STREAM, TouchPolicy, demand, demanded, follower_number},
    steps::{ClockFree, Sampled, read, unexpected},
    stream::{self, BATCH_NS, FEWEST_BATCHES, LONGEST_BLOCK, counting},
    turns,
};
use crate::wire::{FollowerReport, LeaderReport, Pass, StreamReport, Traffic, TurnLimit};

/// A publisher sends at most two to this power messages per demand.
const MOST_EXPONENT: u32 = 20;

/// Sequence numbers of streamed messages begin here, far from those of demands and answers.
const FIRST: u64 = 1 << 63;

/// The name of a block in errors.
const WHAT: &str = "streams of several publishers";

/// Several publishers, one receiver.
pub(super) struct FanIn;

impl PatternLoops for FanIn {
    const PATTERN: Pattern = Pattern::FanIn;
    const LEADS_MANY: bool = true;
    const FOLLOWS_AMONG_MANY: bool = true;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let mut ends = fan_out::FanOutLeader::<E, T, OneByOne, RELIABLE>::new(end, pass, &context);
        context.command.phase("verifying")?;
        ends.verify(pass)?;
        ends.look_at_buffers(pass)?;
        turns::lead(&mut Receiver::new(ends, context.subscribers), pass, context)
    }

    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error> {
        if context.span == Span::None {
            return turns::LeaderChannel(context.peers).await_end().map(|()| None);
        }
        let mut follower = Follower::new(end, pass, context);
        // It answers flagged messages only; otherwise it publishes.
        follower.is_silent = true;
        loop {
            let head = match follower.next::<T, RELIABLE, false>()? {
                Next::Message(head) => head,
                Next::Collect => return Err(Error::new("collect", "marks", "there are none")),
                Next::End => break,
            };
            if let Some(exponent) = demanded(head.flags) {
                follower.publish::<T>(FIRST, 1 << exponent.min(MOST_EXPONENT))?;
            }
            if !follower.answer_flagged::<T, RELIABLE>(head)? {
                break;
            }
        }
        Ok(Some(follower.report()))
    }
}

/// The leader's state of one publisher.
#[derive(Clone, Copy)]
struct Publisher {
    /// The sequence number of its next message.
    next: u64,
    /// Messages of this block that have arrived.
    arrived: u64,
    /// Messages of all blocks that had arrived when the block's first publisher finished.
    counted: u64,
}

struct Receiver<'a, E, T, const RELIABLE: bool> {
    ends: fan_out::FanOutLeader<'a, E, T, OneByOne, RELIABLE>,
    publishers: Vec<Publisher>,
    /// The times at which batches of this block began to arrive. Allocated and touched beforehand.
    marks: Vec<Mark>,
    /// Approximate time per message in nanoseconds, over all publishers.
    message_ns: f64,
    /// Streamed messages taken, including the warm-up.
    taken: u64,
    sent: u64,
    received: u64,
}

/// A block in progress.
struct FanInBlock {
    /// The number of messages of each publisher.
    each: u64,
    /// The batch size minus one; the batch size is a power of two.
    batch_mask: u64,
    received: u64,
    marks: usize,
    /// The time at which the first publisher finished; 0 before.
    through_ns: u64,
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop for Receiver<'_, E, T, RELIABLE> {
    /// The clock is read only once a batch, so a clock-free block would add nothing.
    fn has_clock_free(&self) -> bool {
        false
    }

    fn block_length(&self, _: Wait) -> Duration {
        stream::BLOCK
    }

    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.ends.flagged(flags)
    }

    fn warm_up(&mut self, limit: TurnLimit) -> Result<f64, Error> {
        let mut slots = vec![0; MOST_MARKS];
        stream::warm_up(limit, |wanted, length_ns| {
            let block = self.block(wanted, length_ns)?;
            if block.received > 0 {
                self.counted(&block, &mut slots);
            }
            Ok(self.sent_in(&block))
        })?;
        Ok(self.message_ns)
    }

    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        let block = stream::arriving(WHAT, || {
            let block = self.block(wanted, length_ns)?;
            let received = block.received;
            (self.sent, self.received) =
                (self.sent + self.sent_in(&block), self.received + received);
            Ok((block, received))
        })?;
        Ok(self.counted(&block, slots))
    }

    fn clock_free(&mut self, _: u64) -> Result<ClockFree, Error> {
        Err(stream::needs_clock())
    }

    fn start_measuring(&mut self) {
        self.ends.start_measuring();
        self.publishers.iter_mut().for_each(|publisher| publisher.counted = 0);
    }

    fn losses(&self) -> &Losses {
        self.ends.losses()
    }

    fn traffic(&self) -> Traffic {
        let Traffic { sent, received } = self.ends.traffic();
        Traffic { sent, received: received + self.taken }
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        // Messages that arrive after they were given up can belong to the warm-up.
        let (sent, received) = (self.sent, self.received.min(self.sent));
        self.ends.complete(report);
        let published = self.publishers.iter().map(|publisher| publisher.counted).collect();
        report.stream = Some(StreamReport { sent, received, published, depth: None });
        // These values are of the demands, not of the stream.
        report.answers.clear();
        report.first_answers = None;
        (report.lost, report.late, report.lost_wait_ns) = (0, 0, 0);
    }
}

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> Receiver<'a, E, T, RELIABLE> {
    fn new(ends: fan_out::FanOutLeader<'a, E, T, OneByOne, RELIABLE>, publishers: u32) -> Self {
        let publisher = Publisher { next: FIRST, arrived: 0, counted: 0 };
        Self {
            ends,
            publishers: vec![publisher; publishers as usize],
            // Nonzero values, so that every page is already in memory.
            marks: vec![Mark { at_ns: u64::MAX, before: u64::MAX }; MOST_MARKS],
            message_ns: BATCH_NS,
            taken: 0,
            sent: 0,
            received: 0,
        }
    }

    /// The messages that a block's publishers were asked for.
    fn sent_in(&self, block: &FanInBlock) -> u64 {
        block.each * self.publishers.len() as u64
    }

    /// Demands streams that together take about `length_ns`, with at most `wanted` messages, and takes them.
    fn block(&mut self, wanted: u64, length_ns: u64) -> Result<FanInBlock, Error> {
        let exponent = each(self.message_ns, length_ns, wanted, self.publishers.len() as u64);
        let batch =
            stream::exponent(self.message_ns, self.publishers.len() as u64 * (1 << exponent));
        let mut block = FanInBlock {
            each: 1 << exponent,
            batch_mask: (1 << batch) - 1,
            received: 0,
            marks: 0,
            through_ns: 0,
        };
        self.publishers.iter_mut().for_each(|publisher| publisher.arrived = 0);
        self.ends.publish(demand(exponent))?;
        self.take_all(&mut block)?;
        stream::check_arrivals::<RELIABLE>(WHAT, block.received, self.sent_in(&block))?;
        Ok(block)
    }

    /// Takes messages until every publisher has answered the demand, or nothing has arrived for too long.
    #[inline(never)]
    fn take_all(&mut self, block: &mut FanInBlock) -> Result<(), Error> {
        let mut missing = self.publishers.len();
        while missing > 0 {
            let mut loss_timeout = self.ends.losses().loss_timeout(self.ends.wait);
            if !self.ends.take(&mut loss_timeout)? {
                return self.ends.lose_answers(&loss_timeout);
            }
            let head = read::<E, T>(self.ends.end, self.ends.len, self.ends.seed)?;
            if head.flags & STREAM != 0 {
                self.arrived(block, head)?;
            } else if self.ends.accept(head, self.ends.seq)?.is_some() {
                missing -= 1;
                // One that has lost messages is through as well.
                if block.through_ns == 0 {
                    self.first_is_through(block);
                }
            }
        }
        Ok(())
    }

    /// Counts a streamed message that has been read.
    #[inline(always)]
    fn arrived(&mut self, block: &mut FanInBlock, head: Head) -> Result<(), Error> {
        let number = follower_number(head.flags);
        let Some(publisher) = self.publishers.get_mut(number) else {
            return Err(unexpected(head, Head { seq: FIRST, flags: FROM_FOLLOWER }));
        };
        let in_order = head.seq == publisher.next || (!RELIABLE && head.seq > publisher.next);
        if !in_order || head.flags & FROM_FOLLOWER == 0 {
            let expected = Head { seq: publisher.next, flags: FROM_FOLLOWER };
            return Err(unexpected(head, expected));
        }
        publisher.next = head.seq + 1;
        publisher.arrived += 1;
        let is_through = publisher.arrived == block.each;
        if block.received & block.batch_mask == 0
            && let Some(mark) = self.marks.get_mut(block.marks)
        {
            *mark = Mark { at_ns: now_ns(), before: block.received };
            block.marks += 1;
        }
        block.received += 1;
        self.taken += 1;
        if is_through && block.through_ns == 0 {
            self.first_is_through(block);
        }
        Ok(())
    }

    #[cold]
    fn first_is_through(&mut self, block: &mut FanInBlock) {
        block.through_ns = now_ns();
        self.publishers.iter_mut().for_each(|publisher| publisher.counted += publisher.arrived);
    }

    /// The part of a block that counts: its messages, its duration, and for each batch the time per message.
    fn counted(&mut self, block: &FanInBlock, slots: &mut [u64]) -> Sampled {
        let seen: Vec<(usize, Mark)> =
            self.marks[..block.marks].iter().copied().enumerate().collect();
        let end_ns = if block.through_ns > 0 { block.through_ns } else { u64::MAX };
        let counts = counting(&seen, end_ns);
        let sampled = stream::sampled(counts, block.received, self.sent_in(block), slots);
        self.message_ns = stream::message_ns(sampled);
        sampled
    }
}

/// The number of messages of each publisher, as a power of two: all together take about `length_ns`, are no more
/// than `wanted`, and no fewer than a block must have unless they take too long.
fn each(message_ns: f64, length_ns: u64, wanted: u64, publishers: u64) -> u32 {
    let fits = |ns: f64| (ns / message_ns / publishers as f64) as u64;
    let fewest = (FEWEST_BATCHES as u64).min(fits(LONGEST_BLOCK.as_nanos() as f64));
    let most = (wanted / publishers).max(1);
    fits(length_ns as f64).max(fewest).clamp(1, most).ilog2().min(MOST_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_share_the_length_of_a_block() {
        assert_eq!(each(100.0, 8_000_000, u64::MAX, 2), 15, "80,000 messages, 40,000 each");
        assert_eq!(each(100.0, 8_000_000, u64::MAX, 8), 13);
        assert_eq!(each(1e6, 8_000_000, u64::MAX, 2), 3, "at least eight each");
        assert_eq!(each(1e8, 8_000_000, u64::MAX, 2), 1, "not for longer than a block may last");
        assert_eq!(each(1e12, 8_000_000, u64::MAX, 2), 0);
        assert_eq!(each(100.0, 8_000_000, 100, 3), 5, "no more than wanted");
        assert_eq!(each(100.0, 8_000_000, 1, 3), 0);
        assert_eq!(each(0.1, u64::MAX, u64::MAX, 1), MOST_EXPONENT);
    }
}
