//! When the next message is due, where the next one does not follow the last at once.
//!
//! An open loop gives every message its intended time beforehand. A message that cannot be sent at its time, because
//! the one before is not answered, is late: it is sent as soon as can be, its times count from the intended one, and
//! nothing is put off or left out for it. Only a probe moves the schedule, and only where no message is late: it is no
//! part of the load.
//!
//! A leader that sleeps between its messages would wake up later than intended by what the timer and the processor's
//! sleep take, which is not the transport's. So it wakes up early and polls the clock for the rest; the CPU time of
//! that is left out of the costs.

use std::{hint::spin_loop, time::Duration};

use ipcmark_machine::clock::now_ns;
use ipcmark_results::{Arrivals, Load};
use ipcmark_transport::{Error, Wait};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::wire::{Pass, Trace};

/// So long before the intended time a leader that sleeps wakes up.
const EARLY: Duration = Duration::from_micros(120);

/// The number of the random numbers' stream: the schedule of the turns has its own.
const STREAM: u64 = u64::MAX;

/// A message that may be sent now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// When it was to be sent.
    pub intended_ns: u64,
    /// When it may be.
    pub start_ns: u64,
    /// Its bytes.
    pub len: usize,
}

/// A message that was sent, and when its last answer was there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub due: Due,
    pub end_ns: u64,
}

impl Sent {
    /// From the intended time to the last answer.
    pub(super) fn response_ns(&self) -> u64 {
        self.end_ns - self.due.intended_ns
    }
}

/// Tells when to send.
pub(super) struct Pacer {
    load: Load,
    sleeps: bool,
    random: ChaCha8Rng,
    trace: Option<Trace>,
    /// How many messages of the trace this turn has had.
    played: usize,
    /// When the next message is to be sent, with the parts of a nanosecond that add up.
    next_ns: f64,
    /// Its bytes.
    next_len: usize,
    /// When a probe began, if one runs.
    paused_ns: Option<u64>,
    /// Nothing is intended later.
    until_ns: u64,
    /// Messages whose time came after the last was answered, or not at all.
    late: u64,
    sent: u64,
    /// Messages of turns that are over, whose time came and that were not sent.
    unsent: u64,
    /// Length of the turns that are over.
    elapsed_ns: u64,
    began_ns: u64,
    /// CPU time of polling the clock, where ends sleep.
    polled_ns: u64,
}

impl Pacer {
    /// For a load of which the next message does not follow the last at once.
    pub(super) fn new(pass: &Pass, wait: Wait) -> Option<Self> {
        pass.load.gap_ns()?;
        let mut random = ChaCha8Rng::seed_from_u64(pass.seed);
        random.set_stream(STREAM);
        Some(Self {
            load: pass.load,
            sleeps: wait != Wait::Spin,
            random,
            trace: pass.trace.clone(),
            played: 0,
            next_ns: 0.0,
            next_len: pass.payload,
            paused_ns: None,
            until_ns: 0,
            late: 0,
            sent: 0,
            unsent: 0,
            elapsed_ns: 0,
            began_ns: 0,
            polled_ns: 0,
        })
    }

    /// A turn begins, and ends after `time_ns`; its first message is intended before that.
    pub(super) fn begin(&mut self, time_ns: u64) {
        self.began_ns = now_ns();
        self.played = 0;
        let first = self.gap();
        self.next_ns = self.began_ns as f64 + first;
        self.until_ns = self.began_ns.saturating_add(time_ns).max(self.next_ns as u64);
        self.paused_ns = None;
    }

    /// Whether the turn has another message.
    pub(super) fn has_next(&self) -> bool {
        self.next_ns as u64 <= self.until_ns && now_ns() <= self.until_ns
    }

    /// A probe begins, or what comes before it: where no message waits for it, its time is left out of the schedule.
    pub(super) fn pause(&mut self) {
        if self.paused_ns.is_some() {
            return;
        }
        let now = now_ns();
        self.paused_ns = (self.is_open() && (self.next_ns as u64) > now).then_some(now);
    }

    /// It is over.
    pub(super) fn resume(&mut self) {
        let Some(paused) = self.paused_ns.take() else { return };
        let pause = now_ns() - paused;
        self.next_ns += pause as f64;
        self.until_ns = self.until_ns.saturating_add(pause);
        self.began_ns += pause;
    }

    /// Whether messages have intended times.
    pub(super) fn is_open(&self) -> bool {
        self.load.is_open()
    }

    /// Waits until the next message is due; none where the turn has no more.
    #[inline(always)]
    pub(super) fn wait(&mut self) -> Option<Due> {
        let now = now_ns();
        if !self.is_open() {
            self.next_ns = now as f64 + self.gap();
        }
        let intended_ns = self.next_ns as u64;
        if self.sent > 0 && (intended_ns > self.until_ns || now > self.until_ns) {
            return None;
        }
        let start_ns = if now > intended_ns { now } else { self.sleep_until(intended_ns, now) };
        self.sent += 1;
        let len = self.next_len;
        match self.is_open() {
            true => {
                self.late += u64::from(now > intended_ns);
                self.next_ns += self.gap();
                Some(Due { intended_ns, start_ns, len })
            }
            false => Some(Due { intended_ns: start_ns, start_ns, len }),
        }
    }

    /// The time at which it is awake: this one, or as soon after it as the processor came.
    fn sleep_until(&mut self, at_ns: u64, now: u64) -> u64 {
        let early = at_ns.saturating_sub(EARLY.as_nanos() as u64);
        let awake = if self.sleeps && early > now { sleep_until(early) } else { now };
        let mut now = awake;
        while now < at_ns {
            spin_loop();
            now = now_ns();
        }
        if self.sleeps {
            self.polled_ns += now - awake;
        }
        now
    }

    /// The time between the next message and the one after it.
    fn gap(&mut self) -> f64 {
        if let Some(trace) = &self.trace {
            let (gap_ns, len) = trace.message(self.played);
            (self.played, self.next_len) = (self.played + 1, len);
            return gap_ns as f64;
        }
        let mean = self.load.gap_ns().unwrap_or(0.0);
        match self.load {
            Load::Rate { arrivals: Arrivals::Poisson, .. } => {
                // 53 random bits make a number above 0 and up to 1, whose negative logarithm is exponential.
                let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                -uniform.ln() * mean
            }
            _ => mean,
        }
    }

    /// The turn is over: what was intended and not sent, at most so many, is told to `unsent`, as the time that it waited
    /// until the end and how many did so.
    pub(super) fn end(&mut self, most: u64, mut unsent: impl FnMut(u64, u64)) {
        let end = if most > 0 && self.is_open() { self.until_ns } else { now_ns() };
        self.elapsed_ns += end.saturating_sub(self.began_ns);
        let Some(gap) = self.load.gap_ns().filter(|_| self.is_open()) else { return };
        if self.trace.is_some() {
            return self.end_trace(end, most, unsent);
        }
        let left = (end as f64 - self.next_ns) / gap;
        let count = if left < 0.0 { 0 } else { most.min(left as u64 + 1) };
        // Evenly spread between the first, which waited longest, and the end: in steps, for there can be billions.
        let steps = count.min(MOST_STEPS);
        for step in 0..steps {
            let (from, to) = (count * step / steps, count * (step + 1) / steps);
            let waited = end as f64 - self.next_ns - gap * from as f64;
            unsent(waited.max(0.0) as u64, to - from);
        }
        self.unsent += count;
        self.late += count;
    }

    /// The same of a trace, whose messages are not evenly spread.
    fn end_trace(&mut self, end: u64, most: u64, mut unsent: impl FnMut(u64, u64)) {
        let mut count = 0;
        while count < most && self.next_ns <= end as f64 {
            unsent((end as f64 - self.next_ns) as u64, 1);
            self.next_ns += self.gap();
            count += 1;
        }
        self.unsent += count;
        self.late += count;
    }

    /// Length of a block of so much time, in messages: where they are far apart a few of them, unless that is long.
    pub(super) fn messages_in(&self, length_ns: f64) -> usize {
        let gap = self.load.gap_ns().unwrap_or(1.0).max(1.0);
        let few = (FEW * gap).min(LONGEST_OF_FEW.as_nanos() as f64);
        (length_ns.max(few) / gap).ceil().clamp(1.0, 1e9) as usize
    }

    /// CPU time of polling the clock since it was asked for last.
    pub(super) fn take_polled_ns(&mut self) -> u64 {
        std::mem::take(&mut self.polled_ns)
    }

    /// What became of the messages; nothing where they have no intended time.
    pub(super) fn tally(&self) -> Option<Tally> {
        let Self { sent, unsent, late, elapsed_ns, .. } = *self;
        self.is_open().then_some(Tally { sent, unsent, late, elapsed_ns })
    }
}

/// Sends messages as they are due, at most as many as there are slots; how many there were.
#[inline(always)]
pub(super) fn paced(
    slots: &mut [Sent],
    pacer: &mut Pacer,
    mut round_trip: impl FnMut(Due) -> Result<(), Error>,
) -> Result<usize, Error> {
    for (at, slot) in slots.iter_mut().enumerate() {
        let Some(due) = pacer.wait() else { return Ok(at) };
        round_trip(due)?;
        *slot = Sent { due, end_ns: now_ns() };
    }
    Ok(slots.len())
}

/// Messages in a block, where they are far apart.
const FEW: f64 = 4.0;
const LONGEST_OF_FEW: Duration = Duration::from_millis(40);

/// Steps in which unsent messages are told.
const MOST_STEPS: u64 = 1000;

/// What became of the messages of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub sent: u64,
    /// Not sent, although their time came.
    pub unsent: u64,
    /// Those of both that could not be sent at their time.
    pub late: u64,
    /// Length of the schedule.
    pub elapsed_ns: u64,
}

/// Sleeps until this time of the clock; the time after that.
fn sleep_until(at_ns: u64) -> u64 {
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the time is valid; a sleep that a signal ends early is made up for by polling the clock.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &at,
            std::ptr::null_mut(),
        );
    }
    now_ns()
}

#[cfg(test)]
mod tests;
