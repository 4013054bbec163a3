//! The blocks of a row that count. A round trip whose ends sleep can run for milliseconds without a sleep: each answer
//! comes before the other end has gone to sleep, so neither needs a wake-up. Such a block takes a thirtieth of the time
//! and has thirty times the samples, so a few of them would make most of the percentiles. A row therefore consists of
//! the blocks of one kind, the more frequent one; all blocks remain in the overall figures.

use ipcmark_transport::Wait;

use crate::model::{Blocks, Trial};

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
            Some(share) if share > 0.5 => Self::Awake,
            Some(_) => Self::Asleep,
        }
    }

    /// True if this block counts.
    pub(crate) fn counts(self, blocks: &Blocks, at: usize) -> bool {
        self.includes(blocks.is_awake(at))
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

/// The share of the blocks of these trials in which ends that sleep for an answer did not; none if that is unknown.
pub fn awake_share<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<f64> {
    let (mut awake, mut known) = (0, 0);
    for blocks in trials.into_iter().map(|trial| &trial.blocks) {
        known += blocks.sleeps.len();
        awake += (0..blocks.sleeps.len()).filter(|at| blocks.is_awake(*at)).count();
    }
    (known > 0).then(|| awake as f64 / known as f64)
}

/// True if the ends of a row that sleeps hardly slept in these trials: not in most blocks, or, if blocks do not tell,
/// in fewer than one of ten messages. It can be compared with rows that spin only. Streams need not sleep: the queue
/// may never be empty, or never full.
pub fn stayed_awake(wait: Wait, trials: &[Trial]) -> bool {
    let is_stream = trials.iter().any(|trial| trial.stream.is_some());
    let hardly = |trial: &Trial| {
        let sent = trial.session.losses.sent;
        trial.sleeps().all(|sleeps| sleeps <= sent / 10)
    };
    let is_awake = match Wakefulness::of(trials) {
        Wakefulness::Unknown => trials.iter().all(hardly),
        known => known == Wakefulness::Awake,
    };
    wait == Wait::Block && !is_stream && is_awake
}
