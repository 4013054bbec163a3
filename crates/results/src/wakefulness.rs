//! The blocks of a row that count. A round trip whose ends sleep can run for milliseconds without a sleep: each answer
//! comes before the other end has gone to sleep, so neither needs a wake-up. Such a block takes a thirtieth of the time
//! and has thirty times the samples, so a few of them would make most of the percentiles. A row therefore consists of
//! the blocks of one kind, the more frequent one; all blocks remain in the overall figures.

use ipcmark_transport::Wait;

use crate::model::{EndRecord, Trial, is_awake};

/// The kind of the blocks that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakefulness {
    /// All: its ends do not sleep for an answer, or it is unknown when they did.
    Unknown,
    /// Those in which the ends slept.
    Asleep,
    /// Those in which they did not: the row hardly slept.
    Awake,
}

impl Wakefulness {
    /// That of a row with these trials. Of as many blocks of either kind, those in which the ends slept count.
    pub(crate) fn of<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Self {
        match awake_share(trials) {
            None => Self::Unknown,
            Some(share) if share.is_most() => Self::Awake,
            Some(_) => Self::Asleep,
        }
    }

    /// True if blocks of this kind count.
    pub(crate) fn includes(self, is_awake: bool) -> bool {
        match self {
            Self::Unknown => true,
            Self::Asleep => !is_awake,
            Self::Awake => is_awake,
        }
    }
}

/// What a row did in blocks in which its ends did not sleep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AwakeShare {
    /// The share of these blocks.
    pub blocks: f64,
    /// The share of the round trips in these blocks.
    pub round_trips: f64,
}

impl AwakeShare {
    /// True if these are the blocks that count.
    pub fn is_most(&self) -> bool {
        self.blocks > 0.5
    }
}

/// The share of blocks in which ends that sleep for an answer did not; none if that is unknown. Blocks have the
/// leader's sleeps alone, which say nothing of several followers: the first answers come while the last followers still
/// sleep, so the leader often finds the next answer waiting.
pub fn awake_share<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<AwakeShare> {
    let (mut blocks, mut round_trips, mut awake) = (0, 0.0, (0, 0.0));
    let of_one = trials.into_iter().filter(|trial| !has_several_followers(trial));
    for trial in of_one.map(|trial| &trial.blocks) {
        blocks += trial.sleeps.len();
        for at in 0..trial.sleeps.len() {
            let events = trial.events[at] as f64;
            round_trips += events;
            if trial.is_awake(at) {
                awake = (awake.0 + 1, awake.1 + events);
            }
        }
    }
    (blocks > 0).then(|| AwakeShare {
        blocks: f64::from(awake.0) / blocks as f64,
        round_trips: if round_trips > 0.0 { awake.1 / round_trips } else { 0.0 },
    })
}

/// The largest share of round trips without sleep that leaves figures of all blocks those of messages with sleep.
const MOST_ROUND_TRIPS: f64 = 0.05;

/// True if figures of all blocks, such as costs, are not those of the blocks that count.
pub(crate) fn is_mixed<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> bool {
    awake_share(trials).is_some_and(|share| share.round_trips > MOST_ROUND_TRIPS)
}

/// The least share of messages that come when a processor has gone idle, as a part of the bare reference's. Most rows
/// have more than nine tenths.
const LEAST_WOKEN: f64 = 2.0 / 3.0;

/// The least such share of the bare reference. Something else keeps the processors busy if it has less.
const LEAST_BARE: f64 = 0.75;

/// The share of the messages for which these ends slept that came when a processor had gone idle; none if that is
/// unknown, or if nothing slept.
///
/// A thread that goes to sleep leaves its processor to others, and only if there are none does the processor go idle,
/// some microseconds later. A message that comes before needs no interrupt and no wake-up of a processor. So it takes a
/// part of the time, and whether it comes before depends on what the ends do after a send.
pub fn woken_share<'e>(ends: impl IntoIterator<Item = &'e EndRecord>) -> Option<f64> {
    let (mut slept, mut idle) = (0, 0);
    for end in ends {
        // A message needs one wake-up at most.
        let for_messages = end.thread.sleeps.min(end.received);
        slept += for_messages;
        idle += end.thread.idles?.min(for_messages);
    }
    (slept > 0).then(|| idle as f64 / slept as f64)
}

/// The share of the messages of a row that sleeps that came before a processor had gone idle, if that was so far more
/// often than with the bare reference that took turns with it; `bare` is the [`woken_share`] of that.
pub(crate) fn light_share(trials: &[Trial], bare: f64) -> Option<f64> {
    let processes = trials.iter().flat_map(|trial| &trial.session.processes);
    let woken = woken_share(processes.flat_map(|process| &process.ends))?;
    (bare > LEAST_BARE && woken < LEAST_WOKEN * bare).then_some(1.0 - woken)
}

/// True if the ends of a row that sleeps hardly slept in these trials: not in most blocks; if blocks do not tell, in
/// fewer than one of ten messages; several followers together, for fewer than half of the messages that they took. It
/// can be compared with rows that spin only. Streams need not sleep: the queue may never be empty, or never full.
pub fn stayed_awake(wait: Wait, trials: &[Trial]) -> bool {
    let is_stream = trials.iter().any(|trial| trial.stream.is_some());
    let is_awake = match Wakefulness::of(trials) {
        Wakefulness::Unknown => trials.iter().all(hardly_slept),
        known => known == Wakefulness::Awake,
    };
    wait == Wait::Block && !is_stream && is_awake
}

/// True if it hardly slept, by the sleeps of its threads in all blocks.
fn hardly_slept(trial: &Trial) -> bool {
    if !has_several_followers(trial) {
        let sent = trial.session.losses.sent;
        return trial.sleeps().all(|sleeps| sleeps <= sent / 10);
    }
    let sum =
        |figure: fn(&EndRecord) -> u64| trial.followers().map(figure).fold(0, u64::saturating_add);
    is_awake(sum(|end| end.thread.sleeps.min(end.received)), sum(|end| end.received))
}

/// True if more than one follower takes each message.
fn has_several_followers(trial: &Trial) -> bool {
    trial.followers().count() > 1
}
