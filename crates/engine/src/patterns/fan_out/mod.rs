//! Fan-out: the leader publishes once, every follower answers, the round trip ends with the last answer.
//!
//! Silent followers answer checked and counted messages, which shows that everything reaches them, but none in the
//! timed part.
//!
//! Followers run the loop of [`follower`](super::follower) and put their number into their answers. In a sampled
//! block the clock is read once an answer, because each follower has samples of its own: directly after the answer
//! is taken, before it is processed. Times go to arrays, and to histograms after the block.
//!
//! An endpoint that can hold only one message must release an answer before it takes the next ([`OneByOne`]). One
//! that can hold several takes all before it reads any ([`AllFirst`]), so that no answer's time includes the
//! reading of others.

mod answers;
mod checks;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use hdrhistogram::Histogram;
use ipcmark_machine::clock::{now_ns, thread_cpu_ns};
use ipcmark_transport::{Endpoint, Error, Pattern, Wait};

use self::answers::{FollowerAnswers, firsts};
use super::{
    blocks::{BlockLoop, MOST_SAMPLES},
    context::{LoopContext, PatternLoops},
    follower,
    losses::{LossTimeout, Losses},
    message::{FROM_FOLLOWER, Head, STREAM, TouchPolicy, follower_number},
    pacer::{self, Pacer, Sent},
    steps::{self, ClockFree, Sampled, read, read_answer, send, take, take_unless, unexpected},
    turns,
};
use crate::wire::{FollowerReport, LeaderReport, Pass, Traffic, WorkingSetReport};

/// One publication, one answer from every follower.
pub(super) struct FanOut;

impl PatternLoops for FanOut {
    const PATTERN: Pattern = Pattern::FanOut;
    const LEADS_MANY: bool = true;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        lead::<E, T, OneByOne, RELIABLE>(end, pass, context)
    }

    fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<Option<FollowerReport>, Error> {
        follower::answers::<E, T, RELIABLE>(end, pass, context)
    }
}

/// One publication, one answer from every follower, for a leader whose endpoint holds several messages.
pub(super) struct GatheredFanOut;

impl GatheredFanOut {
    /// It has the same name as [`FanOut`].
    pub(super) const PATTERN: Pattern = Pattern::FanOut;

    /// The leader's part of a case.
    pub(super) fn lead<E: Holding, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        lead::<E, T, AllFirst, RELIABLE>(end, pass, context)
    }
}

fn lead<E: Endpoint, T: TouchPolicy, G: Gathering<E>, const RELIABLE: bool>(
    end: &mut E,
    pass: &Pass,
    context: LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    let leader = &mut FanOutLeader::<E, T, G, RELIABLE>::new(end, pass, &context);
    context.command.phase("verifying")?;
    leader.verify(pass)?;
    leader.look_at_buffers(pass)?;
    turns::lead(leader, pass, context)
}

/// An endpoint that can take several messages before the first of them is released.
pub(crate) trait Holding: Endpoint {
    /// Sets the message taken aside. Any number of messages can be held until they are recalled; a `take` does not
    /// return another message from the source of a held one.
    fn hold(&mut self);
    /// Makes the oldest held message the one taken.
    fn recall(&mut self);
}

/// A policy for taking answers; chosen at compile time.
pub(super) trait Gathering<E>: Sized {
    /// Takes at least one and at most `missing` answers to the message `seq`, handles them, and returns the number
    /// of them that answer it; none if nothing came for too long.
    fn some<T: TouchPolicy, const SAMPLED: bool, const RELIABLE: bool>(
        leader: &mut FanOutLeader<'_, E, T, Self, RELIABLE>,
        asked: PendingPublication,
        missing: usize,
        loss_timeout: &mut LossTimeout,
    ) -> Result<Option<usize>, Error>;
}

/// Takes and handles one answer after the other.
pub(super) struct OneByOne;

/// Takes all answers, then handles them.
struct AllFirst;

/// The publication whose answers are awaited.
#[derive(Clone, Copy)]
pub(super) struct PendingPublication {
    seq: u64,
    start_ns: u64,
}

impl<E: Endpoint> Gathering<E> for OneByOne {
    #[inline(always)]
    fn some<T: TouchPolicy, const SAMPLED: bool, const RELIABLE: bool>(
        leader: &mut FanOutLeader<'_, E, T, Self, RELIABLE>,
        asked: PendingPublication,
        _: usize,
        loss_timeout: &mut LossTimeout,
    ) -> Result<Option<usize>, Error> {
        if !leader.take(loss_timeout)? {
            return Ok(None);
        }
        let now = if SAMPLED { now_ns() } else { 0 };
        leader.handle::<SAMPLED>(asked, now).map(|is_next| Some(usize::from(is_next)))
    }
}

impl<E: Holding> Gathering<E> for AllFirst {
    #[inline(always)]
    fn some<T: TouchPolicy, const SAMPLED: bool, const RELIABLE: bool>(
        leader: &mut FanOutLeader<'_, E, T, Self, RELIABLE>,
        asked: PendingPublication,
        missing: usize,
        loss_timeout: &mut LossTimeout,
    ) -> Result<Option<usize>, Error> {
        let mut held = 0;
        while held < missing && leader.take(loss_timeout)? {
            if SAMPLED {
                leader.stamps[held] = now_ns();
            }
            leader.end.hold();
            held += 1;
        }
        let mut found = 0;
        for at in 0..held {
            leader.end.recall();
            found += usize::from(leader.handle::<SAMPLED>(asked, leader.stamps[at])?);
        }
        Ok((held > 0).then_some(found))
    }
}

/// The leader of several followers.
pub(super) struct FanOutLeader<'a, E, T, G, const RELIABLE: bool> {
    pub end: &'a mut E,
    pub len: usize,
    pub seed: u64,
    pub wait: Wait,
    /// The sequence number of the last message sent.
    pub seq: u64,
    /// The number of answers taken.
    received: u64,
    followers: Vec<FollowerAnswers>,
    /// Times of the first answer to each publication.
    firsts: Histogram<u64>,
    /// The time at which each held answer was taken.
    stamps: Vec<u64>,
    /// CPU time of keeping times since the last call that took it.
    aside_ns: u64,
    /// The number of silent followers, which are the last ones.
    silent: usize,
    losses: Losses,
    /// The buffers that its messages use, once they have been counted.
    working_set: Option<WorkingSetReport>,
    /// The time of the first round trip, once one has ended.
    first_round_trip_ns: Option<u64>,
    chosen: PhantomData<(T, G)>,
}

impl<E: Endpoint, T: TouchPolicy, G: Gathering<E>, const RELIABLE: bool> BlockLoop
    for FanOutLeader<'_, E, T, G, RELIABLE>
{
    fn flagged(&mut self, flags: u32) -> Result<bool, Error> {
        self.round_trip::<false>(flags)
    }

    #[inline(never)]
    fn sampled(
        &mut self,
        slots: &mut [u64],
        wanted: u64,
        length_ns: u64,
    ) -> Result<Sampled, Error> {
        let wanted = wanted.min(MOST_SAMPLES as u64);
        let sampled =
            steps::sampled(slots, wanted, length_ns, || self.round_trip::<true>(0).map(drop));
        self.keep_times();
        sampled
    }

    fn paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        let payload = self.len;
        let most = slots.len().min(MOST_SAMPLES);
        let count = pacer::paced(&mut slots[..most], pacer, |due| {
            self.len = due.len;
            self.round_trip::<true>(0)
        });
        self.len = payload;
        self.keep_times();
        count
    }

    #[inline(never)]
    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error> {
        steps::clock_free(count, || self.round_trip::<false>(0).map(drop))
    }

    fn start_measuring(&mut self) {
        self.losses.restart();
        self.followers.iter_mut().for_each(|follower| follower.lost = 0);
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn traffic(&self) -> Traffic {
        Traffic { sent: self.seq, received: self.received }
    }

    fn take_aside_ns(&mut self) -> u64 {
        std::mem::take(&mut self.aside_ns)
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        report.working_set = self.working_set.take();
        report.first_round_trip_ns = self.first_round_trip_ns;
        report.answers = self.followers.iter().map(FollowerAnswers::report).collect();
        let has_several = self.followers.len() > 1;
        report.first_answers = has_several.then(|| ipcmark_results::encode(&self.firsts));
    }
}

impl<'a, E: Endpoint, T: TouchPolicy, G: Gathering<E>, const RELIABLE: bool>
    FanOutLeader<'a, E, T, G, RELIABLE>
{
    /// The state before its first message.
    pub(super) fn new(end: &'a mut E, pass: &Pass, context: &LoopContext<'_>) -> Self {
        Self {
            end,
            len: pass.payload,
            seed: pass.seed,
            wait: context.wait,
            seq: 0,
            received: 0,
            followers: (0..context.subscribers).map(|_| FollowerAnswers::new()).collect(),
            firsts: ipcmark_results::new_histogram(),
            stamps: vec![u64::MAX; context.subscribers as usize],
            aside_ns: 0,
            silent: pass.silent as usize,
            losses: Losses::default(),
            working_set: None,
            first_round_trip_ns: None,
            chosen: PhantomData,
        }
    }

    /// Publishes a message with these flags; the caller takes the answers.
    pub(super) fn publish(&mut self, flags: u32) -> Result<(), Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })
    }

    /// Gives up the missing answers to the last message.
    pub(super) fn lose_answers(&mut self, loss_timeout: &LossTimeout) -> Result<(), Error> {
        self.lose::<false>(self.seq, self.followers.len(), loss_timeout)
    }

    /// One round trip with all followers; false if an answer was lost. `SAMPLED` reads the clock at every answer
    /// and keeps the times since the publication.
    #[inline(always)]
    fn round_trip<const SAMPLED: bool>(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        let start = if SAMPLED { now_ns() } else { 0 };
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        let silent = if flags == 0 { self.silent } else { 0 };
        self.gather::<SAMPLED>(self.seq, start, silent)
    }

    /// Takes the answer `seq` of every follower except the last `silent`.
    #[inline(always)]
    fn gather<const SAMPLED: bool>(
        &mut self,
        seq: u64,
        start: u64,
        silent: usize,
    ) -> Result<bool, Error> {
        let answering = self.followers.len() - silent;
        let asked = PendingPublication { seq, start_ns: start };
        let mut missing = answering;
        let mut loss_timeout = self.losses.loss_timeout(self.wait);
        while missing > 0 {
            match G::some::<T, SAMPLED, RELIABLE>(self, asked, missing, &mut loss_timeout)? {
                Some(found) => missing -= found,
                None => {
                    self.lose::<SAMPLED>(seq, answering, &loss_timeout)?;
                    return Ok(false);
                }
            }
        }
        self.losses.none();
        Ok(true)
    }

    /// Takes the next answer; false if none came for too long.
    #[inline(always)]
    pub(super) fn take(&mut self, loss_timeout: &mut LossTimeout) -> Result<bool, Error> {
        if RELIABLE {
            return take(self.end).map(|()| true);
        }
        take_unless(loss_timeout, self.end, LossTimeout::exhausted)
    }

    /// Reads the answer taken at this time and releases it; false if it belongs to an abandoned message.
    #[inline(always)]
    fn handle<const SAMPLED: bool>(
        &mut self,
        asked: PendingPublication,
        at_ns: u64,
    ) -> Result<bool, Error> {
        let head = match RELIABLE {
            true => read::<E, T>(self.end, self.len, self.seed)?,
            false => read_answer::<E, T>(self.end, self.len, self.seed, asked.seq)?,
        };
        let Some(number) = self.accept(head, asked.seq)? else { return Ok(false) };
        if SAMPLED {
            self.followers[number].note(at_ns - asked.start_ns);
        }
        Ok(true)
    }

    /// Sorts the times of a block into the histograms; this counts for no cost of the transport.
    fn keep_times(&mut self) {
        let start = thread_cpu_ns();
        firsts(&self.followers).for_each(|time_ns| self.firsts.saturating_record(time_ns));
        self.followers.iter_mut().for_each(FollowerAnswers::keep);
        self.aside_ns += thread_cpu_ns() - start;
    }

    /// The follower that sent this answer; none if it belongs to an abandoned message.
    #[inline(always)]
    pub(super) fn accept(&mut self, head: Head, seq: u64) -> Result<Option<usize>, Error> {
        let number = follower_number(head.flags);
        let expected = Head { seq, flags: FROM_FOLLOWER };
        if head.flags & FROM_FOLLOWER == 0 || number >= self.followers.len() {
            return Err(unexpected(head, expected));
        }
        let follower = &mut self.followers[number];
        let is_next = head.seq == seq && follower.seq < seq;
        let is_late = !RELIABLE && head.seq < seq && head.seq > follower.seq;
        if !is_next && !is_late {
            return self.accept_straggler(head, expected);
        }
        follower.seq = head.seq;
        self.received += 1;
        if is_late {
            self.losses.came_late();
        }
        Ok(is_next.then_some(number))
    }

    /// Accepts a stream message that an unreliable transport delivers after the stream was given up.
    #[cold]
    fn accept_straggler(&mut self, head: Head, expected: Head) -> Result<Option<usize>, Error> {
        if RELIABLE || head.flags & STREAM == 0 {
            return Err(unexpected(head, expected));
        }
        self.losses.late += 1;
        Ok(None)
    }

    /// Gives up the missing answers to the message `seq`; if it is `SAMPLED`, they have no time.
    #[cold]
    fn lose<const SAMPLED: bool>(
        &mut self,
        seq: u64,
        answering: usize,
        loss_timeout: &LossTimeout,
    ) -> Result<(), Error> {
        let followers = self.followers[..answering].iter_mut();
        for follower in followers.filter(|follower| follower.seq < seq) {
            follower.lost += 1;
            if SAMPLED {
                follower.skip();
            }
        }
        self.losses.add(loss_timeout)
    }
}
