//! Which blocks of a row count for its figures at a distance: those in which its ends slept or not (`wakefulness`), and
//! those in which no other thread used their cores.
//!
//! Such a thread, which can belong to another virtual machine, slows a row down, but hardly a probe. So these blocks are
//! left out, unless they are most blocks of the row: a library's own threads can be the cause, and a machine can be busy
//! all the time. All blocks remain in the overall figures.

use crate::{
    model::{Blocks, RunResult, Trial},
    wakefulness::Wakefulness,
};

/// The blocks of a row that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counting {
    wakefulness: Wakefulness,
    /// True if blocks on shared cores count as well.
    shared: bool,
}

impl Counting {
    /// That of a row with these trials.
    pub(crate) fn of<'t>(trials: impl IntoIterator<Item = &'t Trial> + Clone) -> Self {
        let share = shared_core_share(trials.clone()).unwrap_or(0.0);
        Self { wakefulness: Wakefulness::of(trials), shared: share > 0.5 }
    }

    /// True if this block counts.
    pub(crate) fn counts(self, blocks: &Blocks, at: usize) -> bool {
        self.includes(blocks.is_awake(at), blocks.is_on_shared_core(at))
    }

    /// True if blocks of this kind count.
    pub(crate) fn includes(self, is_awake: bool, is_on_shared_core: bool) -> bool {
        self.wakefulness.includes(is_awake) && (self.shared || !is_on_shared_core)
    }
}

/// The share of probed blocks on shared cores; none if no block was probed.
fn shared_core_share<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<f64> {
    let (mut probed, mut shared) = (0, 0);
    for blocks in trials.into_iter().map(|trial| &trial.blocks) {
        probed += blocks.probe_before_ns.len();
        shared += blocks.shared_core.iter().filter(|shared| **shared).count();
    }
    (probed > 0).then(|| shared as f64 / probed as f64)
}

/// The same of all rows of a run.
pub fn shared_core_share_of_run(result: &RunResult) -> Option<f64> {
    shared_core_share(result.cases.iter().flat_map(|case| case.trials()))
}
