//! Fan-out: the leader publishes once, every follower answers, the round trip ends when the last
//! answer is there.
//!
//! Followers that are silent answer what is checked and counted, so that it is known that everything
//! reaches them, but nothing in the timed part.
//!
//! Followers run the loop of [`follower`](super::follower) and put their number into their answers. In a sampled
//! block the clock is read once an answer, for each follower has samples of its own.

use std::marker::PhantomData;

use hdrhistogram::Histogram;
use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Endpoint, Error, Pattern, Wait};

use super::{
    blocks::BlockLoop,
    context::{LoopContext, PatternLoops},
    follower,
    message::{ASK_BURST, BURST, FROM_FOLLOWER, Head, TouchPolicy, VERIFY, follower_number},
    pacer::{self, Pacer, Sent},
    steps::{
        self, ClockFree, Losses, Patience, Sampled, complete, complete_unless, read, send,
        send_checked, unexpected,
    },
    turns,
    working_set::Noting,
};
use crate::wire::{AnswerReport, FollowerReport, LeaderReport, Pass, Traffic, WorkingSetReport};

/// One publication, an answer of every follower.
pub(super) struct FanOut;

impl PatternLoops for FanOut {
    const PATTERN: Pattern = Pattern::FanOut;

    fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
        end: &mut E,
        pass: &Pass,
        context: LoopContext<'_>,
    ) -> Result<LeaderReport, Error> {
        let leader = &mut Leader::<E, T, RELIABLE>::new(end, pass, &context);
        context.command.phase("verifying")?;
        leader.verify()?;
        leader.look_at_buffers()?;
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

/// What the leader knows of one follower.
struct Follower {
    /// Number of its last answer.
    seq: u64,
    samples: Histogram<u64>,
    lost: u64,
}

struct Leader<'a, E, T, const RELIABLE: bool> {
    end: &'a mut E,
    len: usize,
    seed: u64,
    wait: Wait,
    /// Number of the last message sent.
    seq: u64,
    /// Answers taken.
    received: u64,
    followers: Vec<Follower>,
    /// How many of them, the last, are silent.
    silent: usize,
    losses: Losses,
    /// Where its messages lie, once it has looked.
    working_set: Option<WorkingSetReport>,
    touch: PhantomData<T>,
}

impl<E: Endpoint, T: TouchPolicy, const RELIABLE: bool> BlockLoop for Leader<'_, E, T, RELIABLE> {
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
        steps::sampled(slots, wanted, length_ns, || self.round_trip::<true>(0).map(drop))
    }

    fn paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        let payload = self.len;
        let count = pacer::paced(slots, pacer, |due| {
            self.len = due.len;
            self.round_trip::<true>(0).map(drop)
        });
        self.len = payload;
        count
    }

    #[inline(never)]
    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error> {
        steps::clock_free(count, || self.round_trip::<false>(0).map(drop))
    }

    fn start_measuring(&mut self) {
        self.losses = Losses::default();
        self.followers.iter_mut().for_each(|follower| follower.lost = 0);
    }

    fn losses(&self) -> &Losses {
        &self.losses
    }

    fn traffic(&self) -> Traffic {
        Traffic { sent: self.seq, received: self.received }
    }

    fn complete(&mut self, report: &mut LeaderReport) {
        report.working_set = self.working_set.take();
        report.answers = self.followers.iter().map(Follower::report).collect();
    }
}

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> Leader<'a, E, T, RELIABLE> {
    fn new(end: &'a mut E, pass: &Pass, context: &LoopContext<'_>) -> Self {
        let follower = |_| Follower { seq: 0, samples: ipcmark_results::new_histogram(), lost: 0 };
        Self {
            end,
            len: pass.payload,
            seed: pass.seed,
            wait: context.wait,
            seq: 0,
            received: 0,
            followers: (0..context.subscribers).map(follower).collect(),
            silent: pass.silent as usize,
            losses: Losses::default(),
            working_set: None,
            touch: PhantomData,
        }
    }

    /// Looks where its messages and their answers lie.
    fn look_at_buffers(&mut self) -> Result<(), Error> {
        let mut noting = Noting::new(self.end);
        let mut leader = Leader::<Noting<'_>, T, RELIABLE> {
            end: &mut noting,
            followers: std::mem::take(&mut self.followers),
            losses: Losses::default(),
            working_set: None,
            touch: PhantomData,
            len: self.len,
            seed: self.seed,
            wait: self.wait,
            seq: self.seq,
            received: self.received,
            silent: self.silent,
        };
        let mut sent = 0;
        while leader.end.goes_on(sent, leader.len) {
            leader.round_trip::<false>(0)?;
            sent += 1;
        }
        (self.seq, self.received) = (leader.seq, leader.received);
        self.followers = std::mem::take(&mut leader.followers);
        self.working_set = Some(noting.finish());
        Ok(())
    }

    /// One round trip with all followers; false where an answer was lost. `SAMPLED` reads the clock at every
    /// answer and keeps the times since the publication.
    #[inline(always)]
    fn round_trip<const SAMPLED: bool>(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        let start = if SAMPLED { now_ns() } else { 0 };
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        let silent = if flags == 0 { self.silent } else { 0 };
        self.gather::<SAMPLED>(self.seq, start, silent)
    }

    /// Takes the answer `seq` of every follower but the last `silent`.
    #[inline(always)]
    fn gather<const SAMPLED: bool>(
        &mut self,
        seq: u64,
        start: u64,
        silent: usize,
    ) -> Result<bool, Error> {
        let answering = self.followers.len() - silent;
        let mut missing = answering;
        let mut patience = Patience::new(self.wait);
        while missing > 0 {
            if RELIABLE {
                complete(|| self.end.take())?;
            } else if !complete_unless(&mut patience, || self.end.take(), Patience::exhausted)? {
                self.lose(seq, answering, &patience)?;
                return Ok(false);
            }
            let now = if SAMPLED { now_ns() } else { 0 };
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            let Some(number) = self.accept(head, seq)? else { continue };
            if SAMPLED {
                self.followers[number].samples.saturating_record(now - start);
            }
            missing -= 1;
        }
        self.losses.none();
        Ok(true)
    }

    /// The follower whose answer this is; none where it belongs to what was given up.
    #[inline(always)]
    fn accept(&mut self, head: Head, seq: u64) -> Result<Option<usize>, Error> {
        let number = follower_number(head.flags);
        let expected = Head { seq, flags: FROM_FOLLOWER };
        if head.flags & FROM_FOLLOWER == 0 || number >= self.followers.len() {
            return Err(unexpected(head, expected));
        }
        let follower = &mut self.followers[number];
        let is_next = head.seq == seq && follower.seq < seq;
        let is_late = !RELIABLE && head.seq < seq && head.seq > follower.seq;
        if !is_next && !is_late {
            return Err(unexpected(head, expected));
        }
        follower.seq = head.seq;
        self.received += 1;
        self.losses.late += u64::from(is_late);
        Ok(is_next.then_some(number))
    }

    #[cold]
    fn lose(&mut self, seq: u64, answering: usize, patience: &Patience) -> Result<(), Error> {
        let followers = self.followers[..answering].iter_mut();
        followers.filter(|follower| follower.seq < seq).for_each(|follower| follower.lost += 1);
        self.losses.add(patience)
    }

    /// Sends messages with a known pattern, one by one, in a burst to all, and lets every follower
    /// send a burst back; both sides check every byte.
    fn verify(&mut self) -> Result<(), Error> {
        for _ in 0..steps::checked_messages(self.len) {
            self.checked()?;
        }
        for _ in 0..steps::burst_messages(self.len) {
            self.seq += 1;
            let head = Head { seq: self.seq, flags: VERIFY | BURST };
            send_checked(self.end, self.len, head, self.seed)?;
        }
        self.checked()?;
        if RELIABLE { self.bursts_back() } else { Ok(()) }
    }

    fn checked(&mut self) -> Result<bool, Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: VERIFY };
        send_checked(self.end, self.len, head, self.seed)?;
        self.gather::<false>(self.seq, 0, 0)
    }

    /// Takes a burst of every follower, in the order of each, and then the answers to its demand.
    fn bursts_back(&mut self) -> Result<(), Error> {
        self.seq += 1;
        let asked = self.seq;
        let head = Head { seq: asked, flags: VERIFY | ASK_BURST };
        send_checked(self.end, self.len, head, self.seed)?;
        let burst = steps::burst_messages(self.len);
        let mut next = vec![asked + 1; self.followers.len()];
        for _ in 0..(burst + 1) * self.followers.len() as u64 {
            complete(|| self.end.take())?;
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            let number = follower_number(head.flags);
            let wanted = next.get_mut(number).filter(|_| head.flags & FROM_FOLLOWER != 0);
            let Some(wanted) = wanted else {
                return Err(unexpected(head, Head { seq: asked, flags: FROM_FOLLOWER }));
            };
            // The answer to the demand comes last, with the demand's own number.
            let expected = if *wanted > asked + burst { asked } else { *wanted };
            if head.seq != expected {
                return Err(unexpected(head, Head { seq: expected, flags: FROM_FOLLOWER }));
            }
            *wanted += 1;
        }
        self.followers.iter_mut().for_each(|follower| follower.seq = asked);
        Ok(())
    }
}

impl Follower {
    fn report(&self) -> AnswerReport {
        AnswerReport { histogram: ipcmark_results::encode(&self.samples), lost: self.lost }
    }
}
