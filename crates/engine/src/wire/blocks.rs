//! Turns and blocks: their limits and their results.

use serde::{Deserialize, Serialize};

/// The maximum length of a turn: the limit that is reached first ends it, after the block that reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TurnLimit {
    /// The number of the turn within the round: turns of the same number were neighbours.
    pub number: u32,
    pub time_ns: u64,
    /// Round trips, or messages, in sampled blocks.
    pub samples: u64,
}

impl TurnLimit {
    /// A turn that ends only when its leader is told.
    pub(crate) fn none(number: u32) -> Self {
        Self { number, time_ns: u64::MAX, samples: u64::MAX }
    }
}

/// The timing method of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BlockKind {
    /// One clock reading per round trip.
    #[default]
    Sampled,
    /// One clock reading at the start and one at the end.
    ClockFree,
}

impl BlockKind {
    /// Both kinds; the order alternates from turn to turn.
    pub(crate) fn in_order(turn: u32) -> [Self; 2] {
        match turn % 2 {
            0 => [BlockKind::Sampled, BlockKind::ClockFree],
            _ => [BlockKind::ClockFree, BlockKind::Sampled],
        }
    }
}

/// The measurement between two probes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// The number of the turn within the round, from 0.
    pub turn: u32,
    /// The monotonic clock at its start.
    pub start_ns: u64,
    pub kind: BlockKind,
    /// Round trips, one-way messages, or the messages of a stream's part that counts.
    pub events: u64,
    /// Its samples among the report's; none if it is clock-free.
    pub samples: u64,
    pub elapsed_ns: u64,
    /// Lost round trips.
    pub lost: u64,
    /// Times that the leader's thread went to sleep, if it does for every answer.
    pub sleeps: Option<u64>,
    /// Floor round trip before and after; absent if the endpoints share no memory.
    pub probes_ns: Option<[f64; 2]>,
    /// True if another thread used the core of an endpoint at one of the probes.
    pub shared: bool,
}

/// A step of the logarithmic scale by which probes are grouped: 4 % wide, far narrower than the gaps between
/// distances, so that a distance is a range of whole steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ProbeBin(pub u16);

/// The width of a step, as a difference of natural logarithms.
const BIN_WIDTH: f64 = 0.04;

/// The largest difference of two probes that are as good as equal, as a difference of natural logarithms: their mean then
/// stands for both, so that there are fewer groups.
const CLOSE: f64 = 0.2;

impl ProbeBin {
    /// The step that contains a probe.
    pub(crate) fn of(probe_ns: f64) -> Self {
        Self((probe_ns.max(1.0).ln() / BIN_WIDTH) as u16)
    }

    /// The middle of the step in nanoseconds.
    pub(crate) fn middle_ns(self) -> f64 {
        ((f64::from(self.0) + 0.5) * BIN_WIDTH).exp()
    }
}

impl Block {
    /// True if endpoints that sleep for an answer did not in most of its round trips.
    pub(crate) fn is_awake(&self) -> bool {
        self.sleeps.is_some_and(|sleeps| ipcmark_results::is_awake(sleeps, self.events))
    }

    /// The steps that contain its probes, the shorter one first; if they are close, twice the step of their geometric
    /// mean. None without probes.
    pub(crate) fn bins(&self) -> Option<[ProbeBin; 2]> {
        let [before, after] = self.probes_ns?;
        let (least, most) = (before.min(after), before.max(after));
        let is_close = (most / least).ln() <= CLOSE;
        let bins = if is_close { [(before * after).sqrt(); 2] } else { [least, most] };
        Some(bins.map(ProbeBin::of))
    }
}

/// The samples of the blocks whose probes fall into the same steps, in which endpoints slept or not, and whose cores were
/// shared or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SampleGroup {
    /// As [`Block::bins`].
    pub bins: Option<[ProbeBin; 2]>,
    /// As [`Block::is_awake`].
    pub awake: bool,
    /// As [`Block::shared`].
    pub shared: bool,
    /// Encoded as in the result file.
    pub histogram: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(before: f64, after: f64) -> Block {
        Block {
            turn: 0,
            start_ns: 0,
            kind: BlockKind::Sampled,
            events: 1,
            samples: 1,
            elapsed_ns: 1,
            lost: 0,
            sleeps: None,
            probes_ns: Some([before, after]),
            shared: false,
        }
    }

    #[test]
    fn close_probes_are_in_one_step_and_others_in_their_own() {
        let bins = |before, after| block(before, after).bins();
        let of = |least, most| Some([least, most].map(ProbeBin::of));
        assert_eq!(bins(100.0, 100.0), of(100.0, 100.0));
        assert_eq!(bins(100.0, 121.0), of(110.0, 110.0), "their geometric mean");
        assert_eq!((bins(100.0, 130.0), bins(130.0, 100.0)), (of(100.0, 130.0), of(100.0, 130.0)));
        assert_eq!(bins(70.0, f64::INFINITY), of(70.0, f64::INFINITY));
        assert_eq!(Block { probes_ns: None, ..block(1.0, 1.0) }.bins(), None);
    }

    #[test]
    fn a_step_is_four_percent_wide_and_holds_its_middle() {
        for probe in [0.0, 1.0, 28.0, 72.0, 437.0, 200_000.0, 1e9] {
            let bin = ProbeBin::of(probe);
            let middle = bin.middle_ns();
            assert_eq!(ProbeBin::of(middle), bin);
            assert!((middle / probe.max(1.0)).ln().abs() <= BIN_WIDTH, "{probe} {middle}");
        }
        assert!(ProbeBin::of(72.0) < ProbeBin::of(76.0));
    }

    #[test]
    fn turns_begin_with_either_kind() {
        for turn in 0..4 {
            let [first, second] = BlockKind::in_order(turn);
            assert!(first != second && first == BlockKind::in_order(turn + 2)[0]);
            assert_eq!(BlockKind::in_order(turn + 1), [second, first]);
        }
    }
}
