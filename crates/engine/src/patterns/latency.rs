//! Ping-pong: the leader sends, the follower answers, the leader times the round trip.
//!
//! The follower is told everything within the messages: what to check, when its costs begin and
//! end, when it is over. So it stays in one loop from the first message to the last, and no sample
//! holds the time in which it would get ready for the next pass.

use hdrhistogram::Histogram;
use ipcmark_transport::{Endpoint, Error, Span, Wait};

use super::message::{
    ASK_BURST, BURST, COST_START, COST_STOP, FROM_FOLLOWER, Head, LAST, TouchPolicy, VERIFY,
    from_follower,
};
use super::{
    LoopContext, Progress,
    steps::{Patience, complete, complete_unless, read, send, send_checked, unexpected},
};
use crate::wire::{Budget, Costs, LeaderReport, Pass};
use ipcmark_machine::clock::now_ns;

/// So many lost round trips in a row end the case.
const LOST_IN_A_ROW: u32 = 20;

/// The leader's part: proves that messages arrive, warms up, measures.
pub(super) fn lead<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
    end: &mut E,
    pass: &Pass,
    around: &mut LoopContext<'_>,
) -> Result<LeaderReport, Error> {
    let mut leader = Leader::<E, RELIABLE>::new(end, pass, around);
    (around.tell)(Progress::Phase("verifying"))?;
    leader.verify::<T>(around.alternating)?;
    (around.tell)(Progress::Phase("warming up"))?;
    let round_trip_ns = leader.warm_up::<T>(pass.budget)?;
    let expected_ns = Lengths::new(pass.budget, round_trip_ns).expected_ns(round_trip_ns);
    // The command wakes up for this; the second warm-up lets it go to sleep again.
    (around.tell)(Progress::Measuring { expected_ns })?;
    let lengths = Lengths::new(pass.budget, leader.warm_up::<T>(pass.budget)?);
    let mut histogram = ipcmark_results::new_histogram();
    leader.untimed::<T>(COST_START)?;
    let mut report = leader.sampled::<T>(&lengths, &mut histogram)?;
    leader.untimed::<T>(COST_STOP)?;
    report.bulk_mean_ns = leader.bulk::<T>(lengths.bulk)?;
    leader.finish::<T>()?;
    report.histogram = ipcmark_results::encode(&histogram);
    Ok(report)
}

/// How long the passes are.
pub(super) struct Lengths {
    pub sampled: u64,
    pub sampled_ns: u64,
    pub bulk: u64,
}

impl Lengths {
    pub(super) fn new(budget: Budget, round_trip_ns: f64) -> Self {
        match budget {
            Budget::RoundTrips(n) => {
                Self { sampled: n, sampled_ns: u64::MAX, bulk: (n / 4).max(1) }
            }
            Budget::Time(time) => {
                let share = time.as_nanos() as f64;
                let bulk = (share * 0.25 / round_trip_ns) as u64;
                Self { sampled: u64::MAX, sampled_ns: (share * 0.65) as u64, bulk: bulk.max(1) }
            }
        }
    }

    pub(super) fn expected_ns(&self, round_trip_ns: f64) -> u64 {
        let sampled = (self.sampled as f64 * round_trip_ns).min(self.sampled_ns as f64);
        (sampled + self.bulk as f64 * round_trip_ns) as u64
    }
}

struct Leader<'a, E, const RELIABLE: bool> {
    end: &'a mut E,
    len: usize,
    seed: u64,
    wait: Wait,
    /// Number of the last message sent.
    seq: u64,
    /// Flag of the answers: a transport without a hop brings back the leader's own messages.
    answer: u32,
    lost: u64,
    lost_in_a_row: u32,
    lost_wait_ns: u64,
}

impl<'a, E: Endpoint, const RELIABLE: bool> Leader<'a, E, RELIABLE> {
    fn new(end: &'a mut E, pass: &Pass, around: &LoopContext<'_>) -> Self {
        let answer = if around.span == Span::None { 0 } else { FROM_FOLLOWER };
        Self {
            end,
            len: pass.payload,
            seed: pass.seed,
            wait: around.wait,
            answer,
            seq: 0,
            lost: 0,
            lost_in_a_row: 0,
            lost_wait_ns: 0,
        }
    }

    /// One round trip; false where it was lost.
    #[inline(always)]
    fn round_trip<T: TouchPolicy>(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        send::<E, T>(self.end, self.len, Head { seq: self.seq, flags })?;
        self.receive_answer::<T>(Head { seq: self.seq, flags: self.answer })
    }

    #[inline(always)]
    fn receive_answer<T: TouchPolicy>(&mut self, expected: Head) -> Result<bool, Error> {
        if !RELIABLE {
            return self.receive_or_lose::<T>(expected);
        }
        complete(|| self.end.take())?;
        let head = read::<E, T>(self.end, self.len, self.seed)?;
        if head.seq != expected.seq || (head.flags ^ expected.flags) & FROM_FOLLOWER != 0 {
            return Err(unexpected(head, expected));
        }
        Ok(true)
    }

    /// Waits for the answer as long as patience lasts; answers to what was given up are skipped.
    fn receive_or_lose<T: TouchPolicy>(&mut self, expected: Head) -> Result<bool, Error> {
        let mut patience = Patience::new(self.wait);
        while complete_unless(&mut patience, || self.end.take(), Patience::exhausted)? {
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            if head.seq == expected.seq && head.flags & FROM_FOLLOWER == expected.flags {
                self.lost_in_a_row = 0;
                return Ok(true);
            }
            if head.seq >= expected.seq || head.flags & FROM_FOLLOWER != expected.flags {
                return Err(unexpected(head, expected));
            }
        }
        self.lost += 1;
        self.lost_in_a_row += 1;
        self.lost_wait_ns += patience.waited_ns();
        if self.lost_in_a_row == LOST_IN_A_ROW {
            let cause = format!("{LOST_IN_A_ROW} round trips in a row were lost");
            return Err(Error::new("measure", "an unreliable transport", cause));
        }
        Ok(false)
    }

    /// A round trip outside the measurement, repeated until it arrives.
    fn untimed<T: TouchPolicy>(&mut self, flags: u32) -> Result<(), Error> {
        while !self.round_trip::<T>(flags)? {}
        Ok(())
    }

    /// Sends messages with a known pattern, one by one and then in bursts each way; both sides
    /// check every byte.
    fn verify<T: TouchPolicy>(&mut self, alternating: bool) -> Result<(), Error> {
        for _ in 0..checked_messages(self.len) {
            self.checked_round_trip::<T>(0)?;
        }
        if !alternating && self.answer == FROM_FOLLOWER {
            self.send_burst::<T>()?;
            self.receive_burst::<T>()?;
        }
        Ok(())
    }

    fn checked_round_trip<T: TouchPolicy>(&mut self, flags: u32) -> Result<bool, Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: flags | VERIFY };
        send_checked(self.end, self.len, head, self.seed)?;
        self.receive_answer::<T>(Head { seq: self.seq, flags: self.answer })
    }

    fn send_burst<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        for _ in 0..burst_messages(self.len) {
            self.seq += 1;
            let head = Head { seq: self.seq, flags: VERIFY | BURST };
            send_checked(self.end, self.len, head, self.seed)?;
        }
        self.checked_round_trip::<T>(0).map(drop)
    }

    /// An unreliable transport may lose a part of the burst; what arrives must be in order.
    fn receive_burst<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: VERIFY | ASK_BURST };
        send_checked(self.end, self.len, head, self.seed)?;
        for n in 1..=burst_messages(self.len) {
            if !RELIABLE {
                break;
            }
            self.receive_answer::<T>(Head { seq: self.seq + n, flags: FROM_FOLLOWER })?;
        }
        if RELIABLE {
            return self
                .receive_answer::<T>(Head { seq: self.seq, flags: FROM_FOLLOWER })
                .map(drop);
        }
        let drained = self.drain_burst::<T>();
        // What comes still later carries numbers of the past and is skipped.
        self.seq += burst_messages(self.len);
        drained
    }

    fn drain_burst<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        let asked = self.seq;
        let mut last = asked;
        loop {
            let mut patience = Patience::new(self.wait);
            if !complete_unless(&mut patience, || self.end.take(), Patience::exhausted)? {
                return Ok(());
            }
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            if head.flags & BURST == 0 {
                match head.seq < asked {
                    // The answer to what was given up.
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

    /// Half of the warm-up of caches, branch predictors, frequency and scheduler; returns a round trip's mean.
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

    /// The sampled pass: one clock reading a round trip, the end of one being the start of the next.
    #[inline(never)]
    fn sampled<T: TouchPolicy>(
        &mut self,
        lengths: &Lengths,
        histogram: &mut Histogram<u64>,
    ) -> Result<LeaderReport, Error> {
        (self.lost, self.lost_wait_ns) = (0, 0);
        let costs = Costs::now();
        let mut left = lengths.sampled;
        let begin = now_ns();
        let until = begin.saturating_add(lengths.sampled_ns);
        let mut start = begin;
        while left > 0 && start < until {
            let answered = self.round_trip::<T>(0)?;
            let end = now_ns();
            if answered {
                // The range ends at an hour, far beyond any deadline; what is longer is not lost.
                histogram.saturating_record(end - start);
            }
            start = end;
            left -= 1;
        }
        Ok(LeaderReport {
            elapsed_ns: start - begin,
            costs: Costs::since(&costs),
            lost: self.lost,
            lost_wait_ns: self.lost_wait_ns,
            ..LeaderReport::default()
        })
    }

    /// The bulk pass: no clock reading but the two around it; returns a round trip's mean.
    #[inline(never)]
    fn bulk<T: TouchPolicy>(&mut self, count: u64) -> Result<f64, Error> {
        (self.lost, self.lost_wait_ns) = (0, 0);
        let start = now_ns();
        for _ in 0..count {
            self.round_trip::<T>(0)?;
        }
        let elapsed = (now_ns() - start).saturating_sub(self.lost_wait_ns);
        Ok(elapsed as f64 / count.saturating_sub(self.lost).max(1) as f64)
    }

    /// Ends the follower's loop. Where the last answer is lost the follower may be gone already.
    fn finish<T: TouchPolicy>(&mut self) -> Result<(), Error> {
        self.round_trip::<T>(LAST).map(drop)
    }
}

/// The follower's part: answers until the last message.
pub(super) fn follow<E: Endpoint, T: TouchPolicy, const RELIABLE: bool>(
    end: &mut E,
    pass: &Pass,
    around: &mut LoopContext<'_>,
) -> Result<Costs, Error> {
    if around.span == Span::None {
        return Ok(Costs::default());
    }
    let from = from_follower(around.follower);
    let is_silent = around.follower >= around.subscribers - pass.silent;
    let mut follower =
        Follower { end, pass, from, last_seq: 0, start: None, costs: Costs::default() };
    let mut patience = Patience::new(around.wait);
    loop {
        if RELIABLE {
            complete(|| follower.end.take())?;
        } else if !complete_unless(&mut patience, || follower.end.take(), |_| (around.stop)())? {
            return Ok(follower.costs);
        }
        let head = read::<E, T>(follower.end, pass.payload, pass.seed)?;
        follower.check_order::<RELIABLE>(head)?;
        if head.flags == 0 {
            if !is_silent {
                send::<E, T>(follower.end, pass.payload, Head { seq: head.seq, flags: from })?;
            }
        } else if follower.answer_flagged::<T>(head)? {
            return Ok(follower.costs);
        }
    }
}

struct Follower<'a, E> {
    end: &'a mut E,
    pass: &'a Pass,
    /// Flags of its answers.
    from: u32,
    last_seq: u64,
    start: Option<Costs>,
    costs: Costs,
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
        Ok(())
    }

    /// Does what the flags ask for; true after the last message.
    #[cold]
    fn answer_flagged<T: TouchPolicy>(&mut self, head: Head) -> Result<bool, Error> {
        let (len, seed) = (self.pass.payload, self.pass.seed);
        if head.flags & BURST != 0 {
            return Ok(false);
        }
        if head.flags & ASK_BURST != 0 {
            for n in 1..=burst_messages(len) {
                let flags = self.from | VERIFY | BURST;
                send_checked(self.end, len, Head { seq: head.seq + n, flags }, seed)?;
            }
        }
        self.count_costs(head.flags);
        let answer = Head { seq: head.seq, flags: self.from };
        if head.flags & VERIFY != 0 {
            let answer = Head { flags: answer.flags | VERIFY, ..answer };
            send_checked(self.end, len, answer, seed)?;
        } else {
            send::<E, T>(self.end, len, answer)?;
        }
        Ok(head.flags & LAST != 0)
    }

    fn count_costs(&mut self, flags: u32) {
        if flags & COST_START != 0 {
            self.start = Some(Costs::now());
        }
        if flags & COST_STOP != 0
            && let Some(start) = self.start.take()
        {
            self.costs = Costs::since(&start);
        }
    }
}

/// How many round trips are checked byte by byte.
pub(super) fn checked_messages(len: usize) -> u64 {
    if len <= 65536 { 32 } else { 4 }
}

/// How many messages a burst has: enough to fill a queue and to wrap a ring around.
pub(super) fn burst_messages(len: usize) -> u64 {
    if len <= 65536 { 64 } else { 6 }
}
