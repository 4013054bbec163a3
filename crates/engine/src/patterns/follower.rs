//! The follower: the parts that all patterns share, and the loop of those with answers, which takes a message and
//! sends one back, until it is put to sleep.

use ipcmark_machine::pin::Pin;
use ipcmark_transport::{Endpoint, Error, MIN_PAYLOAD, Span};

use super::{
    context::LoopContext,
    cost_meter::CostMeter,
    losses::LossTimeout,
    message::{
        self, ASK_BURST, BURST, CLOCKS, FROM_FOLLOWER, Head, PROBE, SLEEP, STREAM, TouchPolicy,
        VERIFY, from_follower,
    },
    probe::ProbePages,
    steps::{self, corrupt, read, send, send_checked, take, take_unless, unexpected},
    turns::{FrameRequest, LeaderChannel},
};
use crate::wire::{FollowerReport, Pass, Traffic};

/// Answers every message with one of the same length, until the case is over.
pub(super) fn answers<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
    end: &mut E,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<Option<FollowerReport>, Error> {
    match pass.load.has_sizes() {
        true => reflect::<E, T, RELIABLE, true>(end, pass, context),
        false => reflect::<E, T, RELIABLE, false>(end, pass, context),
    }
}

/// Its loop. `SIZED` messages have sizes of their own; without them the loop is not an instruction longer.
fn reflect<E: Endpoint, T: TouchPolicy, const RELIABLE: bool, const SIZED: bool>(
    end: &mut E,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<Option<FollowerReport>, Error> {
    if context.span == Span::None {
        return LeaderChannel(context.peers).await_end().map(|()| None);
    }
    let is_silent = context.follower >= context.subscribers - pass.silent;
    let mut follower = Follower::new(end, pass, context);
    follower.is_silent = is_silent;
    loop {
        let head = match follower.next::<T, RELIABLE, SIZED>()? {
            Next::Message(head) => head,
            Next::Collect => return Err(Error::new("collect", "marks", "there are none")),
            Next::End => break,
        };
        if head.flags == 0 {
            if !is_silent {
                follower.send::<T, SIZED>(head.seq)?;
            }
        } else if !follower.answer_flagged::<T, RELIABLE>(head)? {
            break;
        }
    }
    Ok(Some(follower.report()))
}

/// The next event for a follower's loop.
pub(super) enum Next {
    Message(Head),
    /// The leader of an unreliable transport asks for the marks.
    Collect,
    /// The case is over.
    End,
}

pub(super) struct Follower<'a, E> {
    end: &'a mut E,
    pass: &'a Pass,
    /// The length of the last message taken.
    len: usize,
    /// The flags of its answers.
    from: u32,
    /// True if it answers only flagged messages.
    pub is_silent: bool,
    last_seq: u64,
    /// The sequence number of the last message before this turn.
    before: u64,
    /// Messages that this turn has brought from an unreliable transport. A reliable transport's sequence numbers
    /// have no gaps, so they give the count.
    taken: u64,
    /// Messages of this turn that were answered although the follower is silent.
    pub flagged: u64,
    /// Messages sent without an individual request, in all turns and in this one.
    published: u64,
    published_now: u64,
    traffic: Traffic,
    /// The number of this turn: 0 for the warm-up.
    turn: u32,
    pub leader: LeaderChannel<'a>,
    probe: Option<&'a mut ProbePages>,
    pub meter: CostMeter,
    /// Threads that the library starts late inherit the processor of the thread that starts them.
    pin: Option<&'a Pin>,
    loss_timeout: LossTimeout,
}

impl<'a, E: Endpoint> Follower<'a, E> {
    /// A follower that answers everything.
    pub(super) fn new<'c: 'a>(end: &'a mut E, pass: &'a Pass, context: LoopContext<'c>) -> Self {
        let LoopContext { peers, probe, pin, wait, follower, .. } = context;
        Self {
            end,
            pass,
            len: pass.payload,
            from: from_follower(follower),
            is_silent: false,
            last_seq: 0,
            before: 0,
            taken: 0,
            flagged: 0,
            published: 0,
            published_now: 0,
            traffic: Traffic::default(),
            turn: 0,
            leader: LeaderChannel(peers),
            probe,
            meter: CostMeter::new(),
            pin,
            loss_timeout: LossTimeout::new(wait),
        }
    }

    /// Takes and reads the next message, which must be in order. Sleeps between turns, if a frame asks for it.
    #[inline(always)]
    pub(super) fn next<T: TouchPolicy, const RELIABLE: bool, const SIZED: bool>(
        &mut self,
    ) -> Result<Next, Error> {
        if RELIABLE {
            take(self.end)?;
        } else {
            while !take_unless(&mut self.loss_timeout, self.end, |_| self.leader.asks())? {
                match self.leader.take_request()? {
                    FrameRequest::Collect => return Ok(Next::Collect),
                    FrameRequest::Sleep if self.sleep::<RELIABLE>()? => {}
                    FrameRequest::Sleep => return Ok(Next::End),
                }
            }
        }
        self.read::<T, RELIABLE, SIZED>()
    }

    /// Takes the messages of a stream through a reliable transport, each of which must have the expected head; `each`
    /// gets their numbers. Returns what came after them.
    ///
    /// The loop is short because, probably, a processor that waits for the line of a message loads those of the next ones
    /// meanwhile, as many as fit into the window in which it executes ahead.
    #[inline(always)]
    pub(super) fn stream<T: TouchPolicy>(
        &mut self,
        mut each: impl FnMut(u64),
    ) -> Result<Next, Error> {
        let len = self.pass.payload;
        let mut head = Head { seq: self.last_seq + 1, flags: STREAM };
        loop {
            take(self.end)?;
            let message = self.end.message();
            if !head.is_of(message, len) {
                break;
            }
            if !T::read(head, message) {
                return Err(corrupt(head));
            }
            self.end.release()?;
            each(head.seq);
            head.seq += 1;
        }
        self.last_seq = head.seq - 1;
        self.read::<T, true, false>()
    }

    /// Reads the message taken, which must be in order.
    #[inline(always)]
    fn read<T: TouchPolicy, const RELIABLE: bool, const SIZED: bool>(
        &mut self,
    ) -> Result<Next, Error> {
        if SIZED {
            // A message that is too short or too long does not match this length and is refused.
            self.len = self.end.message().len().clamp(MIN_PAYLOAD, self.pass.payload);
        }
        let head = read::<E, T>(self.end, self.len_of::<SIZED>(), self.pass.seed)?;
        self.check_order::<RELIABLE>(head)?;
        Ok(Next::Message(head))
    }

    /// Sends the answer to the message with this number.
    #[inline(always)]
    pub(super) fn send<T: TouchPolicy, const SIZED: bool>(
        &mut self,
        seq: u64,
    ) -> Result<(), Error> {
        send::<E, T>(self.end, self.len_of::<SIZED>(), Head { seq, flags: self.from })
    }

    /// The length of the last message taken, and of its answer.
    #[inline(always)]
    fn len_of<const SIZED: bool>(&self) -> usize {
        if SIZED { self.len } else { self.pass.payload }
    }
}

impl<E: Endpoint> Follower<'_, E> {
    #[inline(always)]
    fn check_order<const RELIABLE: bool>(&mut self, head: Head) -> Result<(), Error> {
        let expected = self.last_seq + 1;
        let in_order = head.seq == expected || (!RELIABLE && head.seq > expected);
        if !in_order || head.flags & FROM_FOLLOWER != 0 {
            return Err(unexpected(head, Head { seq: expected, flags: 0 }));
        }
        self.last_seq = head.seq;
        if !RELIABLE {
            self.taken += 1;
        }
        Ok(())
    }

    /// Handles the flags; false once the case is over.
    #[cold]
    pub(super) fn answer_flagged<T: TouchPolicy, const RELIABLE: bool>(
        &mut self,
        head: Head,
    ) -> Result<bool, Error> {
        if head.flags & BURST != 0 {
            return Ok(true);
        }
        if head.flags & ASK_BURST != 0 {
            self.send_burst(head.seq)?;
        }
        self.answer::<T>(head)?;
        self.flagged += 1;
        if head.flags & PROBE != 0
            && let Some(page) = &mut self.probe
        {
            self.meter.around_probe(|| page.reflect());
        }
        if head.flags & CLOCKS != 0
            && let Some(page) = &mut self.probe
        {
            self.meter.around_probe(|| page.tell_clock());
        }
        match head.flags & SLEEP != 0 && self.is_end_of_turn::<RELIABLE>(head)? {
            true => self.sleep::<RELIABLE>(),
            false => Ok(true),
        }
    }

    /// Takes the frame that follows the end of a turn of an unreliable transport. False if the message is late: it
    /// ended an earlier turn, and the frame came before it.
    fn is_end_of_turn<const RELIABLE: bool>(&mut self, head: Head) -> Result<bool, Error> {
        if RELIABLE {
            return Ok(true);
        }
        if !message::ends_turn(head.flags, self.turn) {
            return Ok(false);
        }
        self.leader.expect_sleep().map(|()| true)
    }

    fn answer<T: TouchPolicy>(&mut self, head: Head) -> Result<(), Error> {
        let (len, seed) = (self.len, self.pass.seed);
        let answer = Head { seq: head.seq, flags: self.from };
        if head.flags & VERIFY == 0 {
            return send::<E, T>(self.end, len, answer);
        }
        let answer = Head { flags: answer.flags | VERIFY, ..answer };
        send_checked(self.end, len, answer, seed)
    }

    /// Publishes `count` messages as fast as possible, numbered from `first` on over the whole case.
    #[inline(never)]
    pub(super) fn publish<T: TouchPolicy>(&mut self, first: u64, count: u64) -> Result<(), Error> {
        let (len, flags) = (self.pass.payload, self.from | STREAM);
        let next = first + self.published;
        for seq in next..next + count {
            send::<E, T>(self.end, len, Head { seq, flags })?;
        }
        self.published += count;
        self.published_now += count;
        Ok(())
    }

    fn send_burst(&mut self, asked: u64) -> Result<(), Error> {
        let (len, seed) = (self.pass.payload, self.pass.seed);
        for n in 1..=steps::burst_messages(len) {
            let head = Head { seq: asked + n, flags: self.from | VERIFY | BURST };
            send_checked(self.end, len, head, seed)?;
        }
        Ok(())
    }

    /// Sleeps until the next turn; false once the case is over. Traffic before the first turn does not count.
    fn sleep<const RELIABLE: bool>(&mut self) -> Result<bool, Error> {
        self.meter.stop_thread();
        if self.meter.stop() {
            let received = if RELIABLE { self.last_seq - self.before } else { self.taken };
            self.traffic.received += received;
            self.traffic.sent += if self.is_silent { self.flagged } else { received };
            self.traffic.sent += self.published_now;
        }
        let goes_on = self.leader.sleep()?;
        self.meter.wake();
        (self.before, self.taken, self.flagged) = (self.last_seq, 0, 0);
        self.published_now = 0;
        self.turn += 1;
        self.pin.inspect(|pin| pin.release_other_threads());
        self.meter.start();
        Ok(goes_on)
    }

    pub(super) fn report(self) -> FollowerReport {
        let (costs, thread) = self.meter.total();
        FollowerReport { traffic: self.traffic, costs: Some(costs), thread }
    }
}

#[cfg(test)]
mod tests;
