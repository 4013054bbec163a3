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
    message::{ASK_BURST, BURST, FROM_FOLLOWER, Head, TouchPolicy, VERIFY},
    pacer::{self, Pacer, Sent},
    steps::{
        self, ClockFree, LossTimeout, Losses, Sampled, complete, complete_unless, read, send,
        send_checked, unexpected,
    },
    turns,
    working_set::Noting,
};
use crate::wire::{FollowerReport, LeaderReport, Pass, Traffic, WorkingSetReport};

/// The ping-pong.
pub(super) struct Latency;

impl PatternLoops for Latency {
    const PATTERN: Pattern = Pattern::Latency;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let leader = &mut LatencyLeader::<E, T, RELIABLE>::new(end, pass, &context);
        context.command.phase("verifying")?;
        leader.verify(pass, context.alternating)?;
        leader.look_at_buffers(pass, false)?;
        turns::lead(leader, pass, context)
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
pub(super) struct LatencyLeader<'a, E, T, const RELIABLE: bool> {
    pub end: &'a mut E,
    /// The bytes of the next message.
    pub len: usize,
    /// The bytes of messages that have no size of their own.
    pub payload: usize,
    seed: u64,
    wait: Wait,
    /// The sequence number of the last message sent.
    pub seq: u64,
    /// The expected flag of answers: a transport without a hop returns the leader's own messages.
    pub answer: u32,
    losses: Losses,
    /// The buffers that its messages use, once they have been counted.
    pub working_set: Option<WorkingSetReport>,
    touch: PhantomData<T>,
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop
    for LatencyLeader<'_, E, T, RELIABLE>
{
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
            self.round_trip(0).map(drop)
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
    }
}

impl<T: TouchPolicy, const RELIABLE: bool> LatencyLeader<'_, Noting<'_>, T, RELIABLE> {
    /// Sends until the endpoint finds no new buffers.
    #[inline(never)]
    fn look(&mut self, streams: bool) -> Result<(), Error> {
        let mut sent = 0;
        while self.end.goes_on(sent, self.len) {
            match streams && self.answer == FROM_FOLLOWER {
                true => self.send_unanswered()?,
                false => _ = self.round_trip(0)?,
            }
            sent += 1;
        }
        Ok(())
    }
}

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> LatencyLeader<'a, E, T, RELIABLE> {
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
            touch: PhantomData,
        }
    }

    /// Counts the buffers of the messages: answered one at a time, or streamed.
    pub(super) fn look_at_buffers(&mut self, pass: &Pass, streams: bool) -> Result<(), Error> {
        if !pass.is_thorough {
            return Ok(());
        }
        let mut noting = Noting::new(self.end);
        let mut leader = LatencyLeader::<Noting<'_>, T, RELIABLE> {
            end: &mut noting,
            losses: Losses::default(),
            working_set: None,
            touch: PhantomData,
            len: self.len,
            payload: self.payload,
            seed: self.seed,
            wait: self.wait,
            seq: self.seq,
            answer: self.answer,
        };
        leader.look(streams)?;
        self.seq = leader.seq;
        self.working_set = Some(noting.finish());
        self.round_trip(0).map(drop)
    }

    fn send_unanswered(&mut self) -> Result<(), Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags: BURST })
    }

    /// A round trip with these flags, repeated until one completes.
    pub(super) fn certainly(&mut self, flags: u32) -> Result<(), Error> {
        while !self.round_trip(flags)? {}
        Ok(())
    }

    /// Counts unanswered messages as lost.
    pub(super) fn count_lost(&mut self, count: u64) {
        self.losses.count += count;
    }

    /// One round trip; false if it was lost.
    #[inline(always)]
    fn round_trip(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        self.receive_answer(Head { seq: self.seq, flags: self.answer })
    }

    #[inline(always)]
    pub(super) fn receive_answer(&mut self, expected: Head) -> Result<bool, Error> {
        if !RELIABLE {
            return self.receive_or_lose(expected);
        }
        complete(|| self.end.take())?;
        let head = read::<E, T>(self.end, self.len, self.seed)?;
        if head.seq != expected.seq || (head.flags ^ expected.flags) & FROM_FOLLOWER != 0 {
            return Err(unexpected(head, expected));
        }
        Ok(true)
    }

    /// Waits for the answer until the loss timeout is exhausted; late answers to abandoned messages are skipped.
    fn receive_or_lose(&mut self, expected: Head) -> Result<bool, Error> {
        let mut loss_timeout = self.losses.loss_timeout(self.wait);
        while complete_unless(&mut loss_timeout, || self.end.take(), LossTimeout::exhausted)? {
            let head = read::<E, T>(self.end, self.len, self.seed)?;
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

    /// Sends messages with a known pattern, one by one and then, if the pass is thorough, in bursts each way; both
    /// endpoints check every byte.
    pub(super) fn verify(&mut self, pass: &Pass, alternating: bool) -> Result<(), Error> {
        for _ in 0..steps::checked_messages(self.len, pass.is_thorough) {
            self.checked_round_trip()?;
        }
        if pass.is_thorough && !alternating && self.answer == FROM_FOLLOWER {
            self.send_burst()?;
            self.receive_burst()?;
        }
        Ok(())
    }

    fn checked_round_trip(&mut self) -> Result<bool, Error> {
        self.send_checked(0)?;
        self.receive_answer(Head { seq: self.seq, flags: self.answer })
    }

    fn send_checked(&mut self, flags: u32) -> Result<(), Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: flags | VERIFY };
        send_checked(self.end, self.len, head, self.seed)
    }

    fn send_burst(&mut self) -> Result<(), Error> {
        for _ in 0..steps::burst_messages(self.len) {
            self.send_checked(BURST)?;
        }
        self.checked_round_trip().map(drop)
    }

    /// An unreliable transport may lose part of the burst; the rest must arrive in order.
    fn receive_burst(&mut self) -> Result<(), Error> {
        self.send_checked(ASK_BURST)?;
        let asked = self.seq;
        if RELIABLE {
            let burst = (1..=steps::burst_messages(self.len)).map(|n| asked + n);
            // The answer to the request comes last, with the request's own sequence number.
            for seq in burst.chain([asked]) {
                self.receive_answer(Head { seq, flags: FROM_FOLLOWER })?;
            }
            return Ok(());
        }
        let drained = self.drain_burst(asked);
        // Messages that arrive even later have old sequence numbers and are skipped.
        self.seq += steps::burst_messages(self.len);
        drained
    }

    fn drain_burst(&mut self, asked: u64) -> Result<(), Error> {
        let mut last = asked;
        loop {
            let mut loss_timeout = LossTimeout::new(self.wait);
            if !complete_unless(&mut loss_timeout, || self.end.take(), LossTimeout::exhausted)? {
                return Ok(());
            }
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            if head.flags & BURST == 0 {
                match head.seq < asked {
                    // A late answer to an abandoned message.
                    true => continue,
                    false => return Ok(()),
                }
            }
            if head.seq <= last {
                return Err(unexpected(head, Head { seq: last + 1, flags: FROM_FOLLOWER }));
            }
            last = head.seq;
        }
    }
}
