//! Ping-pong: the leader sends, the follower answers, the leader times the round trip.
//!
//! The messages themselves tell the follower everything: what to check, when to probe, when to sleep. So it stays
//! in one loop from the first message of a turn to the last, and no sample includes the follower's preparation for
//! the next block.

use std::marker::PhantomData;

use ipcmark_transport::{Endpoint, Error, Pattern, Span, Wait};

use super::{
    blocks::BlockLoop,
    context::{LoopContext, PatternLoops},
    follower,
    losses::{LossTimeout, Losses},
    message::{FROM_FOLLOWER, Head, TouchPolicy},
    pacer::{self, Pacer, Sent},
    steps::{self, ClockFree, Sampled, read, read_answer, send, take, take_unless, unexpected},
    turns,
};
use crate::wire::{FollowerReport, LeaderReport, Pass, Traffic, WorkingSetReport};

/// The ping-pong.
pub(super) struct Latency;

impl PatternLoops for Latency {
    const PATTERN: Pattern = Pattern::Latency;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        mut context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let mut leader = LatencyLeader::<E, T, RELIABLE>::verified(end, pass, &mut context, false)?;
        turns::lead(&mut leader, pass, context)
    }

    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error> {
        follower::answers::<E, T, RELIABLE>(end, pass, context)
    }
}

/// The leader's endpoint, and the state for its round trips.
pub(super) struct LatencyLeader<'a, E: ?Sized, T, const RELIABLE: bool> {
    pub end: &'a mut E,
    /// The bytes of the next message.
    pub len: usize,
    /// The bytes of messages that have no size of their own.
    pub payload: usize,
    pub seed: u64,
    pub wait: Wait,
    /// The sequence number of the last message sent.
    pub seq: u64,
    /// The expected flag of answers: a transport without a hop returns the leader's own messages.
    pub answer: u32,
    pub losses: Losses,
    /// The buffers that its messages use, once they have been counted.
    pub working_set: Option<WorkingSetReport>,
    /// The time of the first round trip, once one has ended.
    pub first_round_trip_ns: Option<u64>,
    touch: PhantomData<T>,
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop
    for LatencyLeader<'_, E, T, RELIABLE>
{
    // One copy for all callers, because none of its messages is timed.
    #[inline(never)]
    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.round_trip(flags)
    }

    #[inline(never)]
    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        steps::sampled(slots, wanted, length_ns, || self.round_trip(0).map(drop))
    }

    #[inline(never)]
    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error> {
        steps::clock_free(count, || self.round_trip(0).map(drop))
    }

    fn paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        let count = pacer::paced(slots, pacer, |due| {
            self.len = due.len;
            self.round_trip(0)
        });
        self.len = self.payload;
        count
    }

    fn start_measuring(&mut self) {
        self.losses.restart();
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn traffic(&self) -> Traffic {
        let Losses { count, late, .. } = self.losses;
        Traffic { sent: self.seq, received: self.seq - count + late }
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        report.working_set = self.working_set.take();
        report.first_round_trip_ns = self.first_round_trip_ns;
    }
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> LatencyLeader<'_, E, T, RELIABLE> {
    /// A round trip with these flags, repeated until one completes.
    pub(super) fn certainly(&mut self, flags: u32) -> Result<(), Error> {
        while !self.flagged(flags)? {}
        Ok(())
    }

    /// A round trip that completes only once all messages before it have arrived or are lost.
    pub(super) fn confirm(&mut self) -> Result<(), Error> {
        self.losses.is_confirming = true;
        let confirmed = self.certainly(0);
        self.losses.is_confirming = false;
        confirmed
    }
}

impl<'a, E: Endpoint + ?Sized, T: TouchPolicy, const RELIABLE: bool>
    LatencyLeader<'a, E, T, RELIABLE>
{
    pub(super) fn new(end: &'a mut E, pass: &Pass, context: &LoopContext<'_>) -> Self {
        Self {
            end,
            len: pass.payload,
            payload: pass.payload,
            seed: pass.seed,
            wait: context.wait,
            seq: 0,
            answer: if context.span == Span::None { 0 } else { FROM_FOLLOWER },
            losses: Losses::default(),
            working_set: None,
            first_round_trip_ns: None,
            touch: PhantomData,
        }
    }

    /// Counts unanswered messages as lost.
    pub(super) fn count_lost(&mut self, count: u64) {
        self.losses.count += count;
    }

    /// One round trip; false if it was lost.
    #[inline(always)]
    pub(super) fn round_trip(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        self.receive_answer(Head { seq: self.seq, flags: self.answer })
    }

    #[inline(always)]
    pub(super) fn receive_answer(&mut self, expected: Head) -> Result<bool, Error> {
        if !RELIABLE {
            return self.receive_or_lose(expected);
        }
        take(self.end)?;
        let head = read::<E, T>(self.end, self.len, self.seed)?;
        if head.seq != expected.seq || (head.flags ^ expected.flags) & FROM_FOLLOWER != 0 {
            return Err(unexpected(head, expected));
        }
        Ok(true)
    }

    /// Waits for the answer until the loss timeout is exhausted; late answers to abandoned messages are skipped.
    fn receive_or_lose(&mut self, expected: Head) -> Result<bool, Error> {
        let mut loss_timeout = self.losses.loss_timeout(self.wait);
        while take_unless(&mut loss_timeout, self.end, LossTimeout::exhausted)? {
            let head = read_answer::<E, T>(self.end, self.len, self.seed, expected.seq)?;
            if head.seq == expected.seq && head.flags & FROM_FOLLOWER == expected.flags {
                self.losses.none();
                return Ok(true);
            }
            if head.seq >= expected.seq || head.flags & FROM_FOLLOWER != expected.flags {
                return Err(unexpected(head, expected));
            }
            self.losses.came_late();
        }
        self.losses.add(&loss_timeout)?;
        Ok(false)
    }
}
