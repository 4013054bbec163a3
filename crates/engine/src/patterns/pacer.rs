//! The send times of messages, for loads in which a message does not directly follow the last.
//!
//! An open loop gives every message its intended time beforehand. A message that cannot be sent at that time,
//! because the one before is unanswered, is late: it is sent as soon as possible, its times count from the intended
//! one, and no other message is postponed or dropped for it. Only a probe moves the schedule, and only if no
//! message is late: a probe is no part of the load. It moves it by what a probe takes and no more: a receiver that
//! stalls in one of the round trips around a probe makes messages late as in any other.
//!
//! A leader that sleeps between its messages would wake up later than intended, by the latency of the timer and of
//! the processor's sleep state, which are not the transport's. So it wakes up early and polls the clock for the
//! rest. The sleeps, their CPU time and that of the polling are left out of the costs. Nothing is read between the wake-up
//! and the send but the clock, unless there is time for it.

use std::{hint::spin_loop, time::Duration};

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use ipcmark_machine::clock::{now_ns, thread_cpu_ns};
use ipcmark_results::{Arrivals, Load};
use ipcmark_transport::{Error, Wait};

use super::{cost_meter::Pauses, probe::PROBE_TIMEOUT};
use crate::wire::{MOST_RECORDED, Pass, Trace};

/// A sleeping leader wakes up this long before the intended time.
const EARLY: Duration = Duration::from_micros(120);

/// A leader that sleeps polls the clock for a shorter time: such a sleep could be over before it begins.
const SHORTEST_SLEEP: Duration = Duration::from_micros(10);

/// The last messages of a schedule may be sent this late. A trace ends with a message, which is late if the one before
/// has just been sent.
const GRACE: Duration = Duration::from_millis(10);

/// The random number stream of a pair's arrivals in one trial. The upper half has set bits, because the schedule of the
/// turns has the streams whose numbers are those of the trials.
fn stream(pass: &Pass) -> u64 {
    !(u64::from(pass.trial) << 32 | u64::from(pass.pair))
}

/// A message that may be sent now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The time at which it was to be sent.
    pub intended_ns: u64,
    /// The time at which it may be sent.
    pub start_ns: u64,
    /// Its length in bytes.
    pub len: usize,
}

/// A message that was sent, and the time of its last answer.
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

/// Decides when to send.
pub(super) struct Pacer {
    load: Load,
    sleeps: bool,
    random: ChaCha8Rng,
    trace: Option<Trace>,
    /// The number of the trace's messages that this turn has used.
    played: usize,
    /// The intended time of the next message, with the fractions of a nanosecond that accumulate.
    next_ns: f64,
    /// The next message's length in bytes.
    next_len: usize,
    /// The start of the current probe, if one runs.
    paused_ns: Option<u64>,
    /// The shortest time that a probe took with all that belongs to it.
    shortest_probe_ns: u64,
    /// No message is intended later than this.
    until_ns: u64,
    /// Messages that were due before the previous one was answered, or that were never sent.
    late: u64,
    sent: u64,
    /// Sent messages that were lost.
    lost: u64,
    /// The sent messages before this turn.
    sent_before: u64,
    /// Messages of past turns that were due but not sent.
    unsent: u64,
    /// Total duration of past turns.
    elapsed_ns: u64,
    began_ns: u64,
    /// The costs of waiting for the next message's time, if endpoints sleep.
    pauses: Pauses,
}

impl Pacer {
    /// A pacer for a load in which a message does not directly follow the last; none for other loads.
    pub(super) fn new(pass: &Pass, wait: Wait) -> Option<Self> {
        pass.load.gap_ns()?;
        let mut random = ChaCha8Rng::seed_from_u64(pass.seed);
        random.set_stream(stream(pass));
        Some(Self {
            load: pass.load,
            sleeps: wait != Wait::Spin,
            random,
            trace: pass.trace.clone(),
            played: 0,
            next_ns: 0.0,
            next_len: pass.payload,
            paused_ns: None,
            shortest_probe_ns: u64::MAX,
            until_ns: 0,
            late: 0,
            sent: 0,
            lost: 0,
            sent_before: 0,
            unsent: 0,
            elapsed_ns: 0,
            began_ns: 0,
            pauses: Pauses::default(),
        })
    }

    /// Begins a turn, which ends after `time_ns`; its first message is intended before that.
    pub(super) fn begin(&mut self, time_ns: u64) {
        self.began_ns = now_ns();
        self.sent_before = self.sent;
        self.played = 0;
        let first = self.gap();
        self.next_ns = self.began_ns as f64 + first;
        self.until_ns = self.began_ns.saturating_add(time_ns).max(self.next_ns as u64);
        self.paused_ns = None;
    }

    /// Some of the messages sent were lost.
    #[inline(always)]
    pub(super) fn lost(&mut self, count: u64) {
        self.lost += count;
    }

    /// Ends the turn now.
    pub(super) fn stop(&mut self) {
        self.until_ns = now_ns();
    }

    /// True if the turn has another message.
    pub(super) fn has_next(&self) -> bool {
        self.next_ns as u64 <= self.until_ns && now_ns() <= self.deadline_ns()
    }

    /// What is due may be sent until this time.
    fn deadline_ns(&self) -> u64 {
        self.until_ns.saturating_add(GRACE.as_nanos() as u64)
    }

    /// A probe, or its preparation, begins: if no message waits for it, its time is left out of the schedule.
    pub(super) fn pause(&mut self) {
        if self.paused_ns.is_some() {
            return;
        }
        let now = now_ns();
        self.paused_ns = (self.is_open() && (self.next_ns as u64) > now).then_some(now);
    }

    /// The probe is over: its time is left out of the schedule, up to what a probe takes.
    pub(super) fn resume(&mut self) {
        let Some(paused) = self.paused_ns.take() else { return };
        let pause = now_ns().saturating_sub(paused);
        self.probed(pause);
        let most = self.shortest_probe_ns.saturating_mul(SLOWER_PROBE);
        let pause = pause.min(most.saturating_add(GIVEN_UP.as_nanos() as u64));
        self.next_ns += pause as f64;
        self.until_ns = self.until_ns.saturating_add(pause);
        self.began_ns += pause;
    }

    /// A probe took this long with all that belongs to it.
    pub(super) fn probed(&mut self, took_ns: u64) {
        self.shortest_probe_ns = self.shortest_probe_ns.min(took_ns);
    }

    /// This much of the current pause belongs to the schedule: messages waited at the receiver.
    pub(super) fn still_queued(&mut self, ns: u64) {
        self.paused_ns = self.paused_ns.map(|paused| paused + ns);
    }

    /// True if messages have intended times.
    pub(super) fn is_open(&self) -> bool {
        self.load.is_open()
    }

    /// Waits until the next message is due; none if the turn has no more.
    #[inline(always)]
    pub(super) fn wait(&mut self) -> Option<Due> {
        let now = now_ns();
        if !self.is_open() {
            self.next_ns = now as f64 + self.gap();
        }
        let intended_ns = self.next_ns as u64;
        let is_first = self.sent == self.sent_before;
        if !is_first && (intended_ns > self.until_ns || now > self.deadline_ns()) {
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

    /// Returns the time at which it is awake: `at_ns`, or as soon after it as the processor became available.
    fn sleep_until(&mut self, at_ns: u64, now: u64) -> u64 {
        let early = at_ns.saturating_sub(EARLY.as_nanos() as u64);
        let is_long = early > now + SHORTEST_SLEEP.as_nanos() as u64;
        let awake = if self.sleeps && is_long { self.sleep_until_early(early, at_ns) } else { now };
        let mut now = awake;
        while now < at_ns {
            spin_loop();
            now = now_ns();
        }
        if self.sleeps {
            self.pauses.polled_ns += now - awake;
        }
        now
    }

    /// Sleeps until `early_ns`; returns the time after that. If it wakes up too late for `at_ns`, its CPU time is not
    /// known: a system call would delay the message.
    fn sleep_until_early(&mut self, early_ns: u64, at_ns: u64) -> u64 {
        let cpu_ns = thread_cpu_ns();
        let awake = sleep_until(early_ns);
        self.pauses.sleeps += 1;
        if awake >= at_ns {
            return awake;
        }
        self.pauses.sleeping_ns += thread_cpu_ns() - cpu_ns;
        now_ns()
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
                // 53 random bits make a number above 0 and up to 1; its negative logarithm is exponentially
                // distributed.
                let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                -uniform.ln() * mean
            }
            _ => mean,
        }
    }

    /// Ends the turn. Reports messages that were due and not sent, at most `most`, to `unsent`: the time that they
    /// have waited, and their number.
    pub(super) fn end(&mut self, most: u64, unsent: impl FnMut(u64, u64)) {
        let now = now_ns();
        let count = if self.is_open() { self.leave_unsent(now, most, unsent) } else { 0 };
        // The schedule lasts until its end if everything was sent, even if the last message was due before.
        let is_complete = self.is_open() && most > 0 && count == 0;
        let end = if is_complete { self.until_ns } else { now };
        self.elapsed_ns += end.saturating_sub(self.began_ns);
        self.unsent += count;
        self.late += count;
    }

    /// The number of messages that were due and not sent.
    fn leave_unsent(&mut self, now: u64, most: u64, mut unsent: impl FnMut(u64, u64)) -> u64 {
        let recorded = self.trace.as_ref().map_or(0, |_| most.min(MOST_RECORDED as u64));
        let mut count = 0;
        while count < recorded && self.next_ns <= self.until_ns as f64 {
            unsent(self.waited_ns(now, 0.0), 1);
            self.next_ns += self.gap();
            count += 1;
        }
        count + self.leave_evenly(now, most - count, unsent)
    }

    /// The same for messages that are evenly spread, as those of many repetitions of a trace are: in steps, because
    /// there can be billions.
    fn leave_evenly(&self, now: u64, most: u64, mut unsent: impl FnMut(u64, u64)) -> u64 {
        let gap = self.load.gap_ns().unwrap_or(1.0);
        let left = (self.until_ns as f64 - self.next_ns) / gap;
        let count = if left < 0.0 { 0 } else { most.min(left as u64 + 1) };
        let steps = count.min(MOST_STEPS);
        for step in 0..steps {
            let (from, to) = (count * step / steps, count * (step + 1) / steps);
            unsent(self.waited_ns(now, gap * from as f64), to - from);
        }
        count
    }

    /// The time for which a message has waited that is due this long after the next.
    fn waited_ns(&self, now: u64, after_ns: f64) -> u64 {
        (now as f64 - self.next_ns - after_ns).max(0.0) as u64
    }

    /// The number of messages in a block of this duration: if they are far apart a few of them, unless that takes
    /// too long.
    pub(super) fn messages_in(&self, length_ns: f64) -> usize {
        let gap = self.load.gap_ns().unwrap_or(1.0).max(1.0);
        let few = (FEW * gap).min(LONGEST_OF_FEW.as_nanos() as f64);
        (length_ns.max(few) / gap).ceil().clamp(1.0, 1e9) as usize
    }

    /// Returns the costs of waiting for the times of messages since the last call.
    pub(super) fn take_pauses(&mut self) -> Pauses {
        std::mem::take(&mut self.pauses)
    }

    /// The counts of messages; nothing if they have no intended time.
    pub(super) fn tally(&self) -> Option<Tally> {
        let Self { sent, lost, unsent, late, elapsed_ns, .. } = *self;
        self.is_open().then_some(Tally { sent, lost, unsent, late, elapsed_ns })
    }
}

/// Sends messages as they are due, at most one per slot; returns how many. A round trip is false if it was lost.
#[inline(always)]
pub(super) fn paced(
    slots: &mut [Sent],
    pacer: &mut Pacer,
    mut round_trip: impl FnMut(Due) -> Result<bool, Error>,
) -> Result<usize, Error> {
    for (at, slot) in slots.iter_mut().enumerate() {
        let Some(due) = pacer.wait() else { return Ok(at) };
        let is_answered = round_trip(due)?;
        *slot = Sent { due, end_ns: now_ns() };
        pacer.lost(u64::from(!is_answered));
    }
    Ok(slots.len())
}

/// A probe may take this many times as long as the shortest before messages are late for it: its round trips are a
/// few, of which some wake up a processor.
const SLOWER_PROBE: u64 = 4;

/// The same for a probe and a comparison of clocks that are given up.
const GIVEN_UP: Duration = PROBE_TIMEOUT.saturating_mul(2);

/// The number of messages in a block, if they are far apart.
const FEW: f64 = 4.0;
const LONGEST_OF_FEW: Duration = Duration::from_millis(40);

/// The most steps in which unsent messages are reported.
const MOST_STEPS: u64 = 1000;

/// The counts of a schedule's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub sent: u64,
    /// Sent messages that were lost.
    pub lost: u64,
    /// Messages that were due but not sent.
    pub unsent: u64,
    /// Sent and unsent messages that could not be sent on time.
    pub late: u64,
    /// The duration of the schedule.
    pub elapsed_ns: u64,
}

/// Sleeps until this time of the clock; returns the time after that.
fn sleep_until(at_ns: u64) -> u64 {
    let at = libc::timespec {
        tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the time is valid; polling the clock makes up for a sleep that a signal ends early.
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
