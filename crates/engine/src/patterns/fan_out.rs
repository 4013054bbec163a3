//! Fan-out: the leader publishes once, every follower answers, the round trip ends when the last
//! answer is there.
//!
//! Followers that are silent answer what is checked and counted, so that it is known that everything
//! reaches them, but nothing in the timed part.
//!
//! Followers run the loop of [`latency`](super::latency) and put their number into their answers.
//! The clock is read once an answer, for each follower has samples of its own.

use hdrhistogram::Histogram;
use ipcmark_transport::{Endpoint, Error, Wait};

use super::message::{
    ASK_BURST, BURST, COST_START, COST_STOP, FROM_FOLLOWER, Head, LAST, TouchPolicy, VERIFY,
    follower_number,
};
use super::{
    LoopContext, Progress,
    latency::{Lengths, burst_messages, checked_messages},
    steps::{Patience, complete, complete_unless, read, send, send_checked, unexpected},
};
use crate::wire::{Budget, Costs, FollowerReport, LeaderReport, Pass};
use ipcmark_machine::clock::now_ns;

/// So many round trips in a row without every answer end the case.
const LOST_IN_A_ROW: u32 = 20;

/// The leader's part: proves that messages reach every follower, warms up, measures.
pub(super) fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
    end: &mut E,
    pass: &Pass,
    around: &mut LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    let mut leader = Leader::<E, RELIABLE>::new(end, pass, around);
    (around.tell)(Progress::Phase("verifying"))?;
    leader.verify::<T>()?;
    (around.tell)(Progress::Phase("warming up"))?;
    let round_trip_ns = leader.warm_up::<T>(pass.budget)?;
    let expected_ns = Lengths::new(pass.budget, round_trip_ns).expected_ns(round_trip_ns);
    // The command wakes up for this; the second warm-up lets it go to sleep again.
    (around.tell)(Progress::Measuring { expected_ns })?;
    let lengths = Lengths::new(pass.budget, leader.warm_up::<T>(pass.budget)?);
    leader.untimed::<T>(COST_START)?;
    let mut report = leader.sampled::<T>(&lengths)?;
    leader.untimed::<T>(COST_STOP)?;
    report.bulk_mean_ns = leader.bulk::<T>(lengths.bulk)?;
    leader.round_trip::<T, false>(LAST, 0)?;
    Ok(report)
}

/// What the leader knows of one follower.
struct Follower {
    /// Number of its last answer.
    seq: u64,
    samples: Histogram<u64>,
    lost: u64,
}

struct Leader<'a, E, const RELIABLE: bool> {
    end: &'a mut E,
    len: usize,
    seed: u64,
    wait: Wait,
    /// Number of the last message sent.
    seq: u64,
    followers: Vec<Follower>,
    /// How many of them, the last, are silent.
    silent: usize,
    lost: u64,
    lost_in_a_row: u32,
    lost_wait_ns: u64,
}

impl<'a, E: Endpoint, const RELIABLE: bool> Leader<'a, E, RELIABLE> {
    fn new(end: &'a mut E, pass: &Pass, around: &LoopContext<'_>) -> Self {
        let follower = |_| Follower { seq: 0, samples: ipcmark_results::new_histogram(), lost: 0 };
        Self {
            end,
            len: pass.payload,
            seed: pass.seed,
            wait: around.wait,
            seq: 0,
            followers: (0..around.subscribers).map(follower).collect(),
            silent: pass.silent as usize,
            lost: 0,
            lost_in_a_row: 0,
            lost_wait_ns: 0,
        }
    }

    /// One round trip with all followers; the time of the last answer, or none where one was lost.
    /// `SAMPLED` reads the clock at every answer and keeps the times since `start`.
    #[inline(always)]
    fn round_trip<T: TouchPolicy, const SAMPLED: bool>(
        &mut self,
        flags: u32,
        start: u64,
    ) -> Result<Option<u64>, Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        let silent = if flags == 0 { self.silent } else { 0 };
        self.gather::<T, SAMPLED>(self.seq, start, silent)
    }

    /// Takes the answer `seq` of every follower but the last `silent`.
    #[inline(always)]
    fn gather<T: TouchPolicy, const SAMPLED: bool>(
        &mut self,
        seq: u64,
        start: u64,
        silent: usize,
    ) -> Result<Option<u64>, Error> {
        let answering = self.followers.len() - silent;
        let mut missing = answering;
        let mut patience = Patience::new(self.wait);
        let mut now = start;
        while missing > 0 {
            if RELIABLE {
                complete(|| self.end.take())?;
            } else if !complete_unless(&mut patience, || self.end.take(), Patience::exhausted)? {
                return self.lose(seq, answering, &patience);
            }
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            let Some(number) = self.accept(head, seq)? else { continue };
            if SAMPLED {
                now = now_ns();
                self.followers[number].samples.saturating_record(now - start);
            }
            missing -= 1;
        }
        self.lost_in_a_row = 0;
        Ok(Some(now))
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
        Ok(is_next.then_some(number))
    }

    #[cold]
    fn lose(
        &mut self,
        seq: u64,
        answering: usize,
        patience: &Patience,
    ) -> Result<Option<u64>, Error> {
        let followers = self.followers[..answering].iter_mut();
        for follower in followers.filter(|follower| follower.seq < seq) {
            follower.lost += 1;
        }
        self.lost += 1;
        self.lost_in_a_row += 1;
        self.lost_wait_ns += patience.waited_ns();
        if self.lost_in_a_row == LOST_IN_A_ROW {
            let cause = format!("{LOST_IN_A_ROW} round trips in a row were lost");
            return Err(Error::new("measure", "an unreliable transport", cause));
        }
        Ok(None)
    }

    /// A round trip outside the measurement, repeated until every answer arrives.
    fn untimed<T: TouchPolicy>(&mut self, flags: u32) -> Result<(), Error> {
        while self.round_trip::<T, false>(flags, 0)?.is_none() {}
        Ok(())
    }

    /// Sends messages with a known pattern, one by one, in a burst to all, and lets every follower
    /// send a burst back; both sides check every byte.
    fn verify<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        for _ in 0..checked_messages(self.len) {
            self.checked::<T>(0)?;
        }
        for _ in 0..burst_messages(self.len) {
            self.seq += 1;
            let head = Head { seq: self.seq, flags: VERIFY | BURST };
            send_checked(self.end, self.len, head, self.seed)?;
        }
        self.checked::<T>(0)?;
        if RELIABLE { self.bursts_back::<T>() } else { Ok(()) }
    }

    fn checked<T: TouchPolicy>(&mut self, flags: u32) -> Result<Option<u64>, Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: flags | VERIFY };
        send_checked(self.end, self.len, head, self.seed)?;
        self.gather::<T, false>(self.seq, 0, 0)
    }

    /// Takes a burst of every follower, in the order of each, and then the answers to its demand.
    fn bursts_back<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        self.seq += 1;
        let asked = self.seq;
        let head = Head { seq: asked, flags: VERIFY | ASK_BURST };
        send_checked(self.end, self.len, head, self.seed)?;
        let burst = burst_messages(self.len);
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

    /// Half of the warm-up; returns a round trip's mean.
    fn warm_up<T: TouchPolicy>(&mut self, budget: Budget) -> Result<f64, Error> {
        let (most, most_ns) = budget.warm_up();
        let start = now_ns();
        let (mut done, mut elapsed) = (0, 0);
        while done < most && elapsed < most_ns {
            self.untimed::<T>(0)?;
            done += 1;
            elapsed = now_ns() - start;
        }
        Ok(elapsed.max(1) as f64 / done as f64)
    }

    /// The sampled pass.
    #[inline(never)]
    fn sampled<T: TouchPolicy>(&mut self, lengths: &Lengths) -> Result<LeaderReport, Error> {
        (self.lost, self.lost_wait_ns) = (0, 0);
        self.followers.iter_mut().for_each(|follower| follower.lost = 0);
        let mut histogram = ipcmark_results::new_histogram();
        let costs = Costs::now();
        let mut left = lengths.sampled;
        let begin = now_ns();
        let until = begin.saturating_add(lengths.sampled_ns);
        let mut start = begin;
        while left > 0 && start < until {
            match self.round_trip::<T, true>(0, start)? {
                Some(end) => {
                    histogram.saturating_record(end - start);
                    start = end;
                }
                None => start = now_ns(),
            }
            left -= 1;
        }
        Ok(LeaderReport {
            histogram: ipcmark_results::encode(&histogram),
            elapsed_ns: start - begin,
            costs: Costs::since(&costs),
            lost: self.lost,
            lost_wait_ns: self.lost_wait_ns,
            followers: self.followers.iter().map(Follower::report).collect(),
            ..LeaderReport::default()
        })
    }

    /// The bulk pass: no clock reading but the two around it; returns a round trip's mean.
    #[inline(never)]
    fn bulk<T: TouchPolicy>(&mut self, count: u64) -> Result<f64, Error> {
        (self.lost, self.lost_wait_ns) = (0, 0);
        let start = now_ns();
        for _ in 0..count {
            self.round_trip::<T, false>(0, 0)?;
        }
        let elapsed = (now_ns() - start).saturating_sub(self.lost_wait_ns);
        Ok(elapsed as f64 / count.saturating_sub(self.lost).max(1) as f64)
    }
}

impl Follower {
    fn report(&self) -> FollowerReport {
        FollowerReport { histogram: ipcmark_results::encode(&self.samples), lost: self.lost }
    }
}
