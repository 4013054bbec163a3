//! Blocks: the measurements between two probes. A block is *sampled*, with one clock reading a round trip, or
//! *clock-free*, with one at each end. The two kinds alternate, so that both see the same machine state.
//!
//! None of this bookkeeping runs within a block: samples go to an array that was allocated and touched before, and
//! are sorted into histograms after the probe that follows the block.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use ipcmark_machine::clock::now_ns;
use ipcmark_transport::{Error, Wait};

use super::{
    losses::Losses,
    pacer::{self, Pacer, Sent},
    probe::{Distance, ProbePages},
    steps::{self, ClockFree, Sampled},
};
use crate::wire::{
    Block, BlockKind, LeaderReport, ProbeBin, SampleGroup, ThreadCosts, Traffic, TurnLimit,
};

/// The most samples of one block.
pub(super) const MOST_SAMPLES: usize = 4096;

/// The most round trips of one clock-free block.
const MOST_ROUND_TRIPS: f64 = 1e6;

/// The duration of a block, if a round trip is much shorter. The states of virtual processors last 4 ms and more. A
/// row that sleeps needs longer blocks, so that the sleeps before and after it weigh little.
const SPINNING: Duration = Duration::from_micros(500);
const SLEEPING: Duration = Duration::from_micros(1500);

/// A block of long round trips has at least this many, unless it would last longer than [`LONGEST`].
const FEWEST: f64 = 8.0;
const LONGEST: Duration = Duration::from_millis(4);

/// About the most blocks of a trial: its report has no room for more than 1.3 million.
const MOST_BLOCKS: u32 = 1_000_000;

/// The duration of a block of a trial of this length, if it is `usual` in a short one. Sampled blocks end when they have
/// no slots left, so the others are long enough for both.
pub(super) fn block_length(usual: Duration, trial: Option<Duration>) -> Duration {
    trial.map_or(usual, |trial| usual.max(2 * trial / MOST_BLOCKS))
}

/// The operations of a pattern's loop on blocks. An *event* is the unit that it counts: a round trip or a message.
///
/// The turns call it through a trait object, a few times a block and never within one: the code around the loops is
/// compiled once, not for each transport.
pub(super) trait BlockLoop {
    /// True if it can measure without reading the clock at each event.
    fn has_clock_free(&self) -> bool {
        true
    }
    /// The duration of a block, if an event is much shorter.
    fn block_length(&self, wait: Wait) -> Duration {
        if wait == Wait::Spin { SPINNING } else { SLEEPING }
    }
    /// Runs uncounted events for a while; returns the approximate time per event, in nanoseconds.
    fn warm_up(&mut self, limit: TurnLimit) -> Result<f64, Error> {
        steps::warm_up(limit, || self.flagged(0).map(drop))
    }
    /// One uncounted round trip with these flags; false if it was lost.
    fn flagged(&mut self, flags: u32) -> Result<bool, Error>;
    /// Runs events until no slots are left, `wanted` events are done, or `length_ns` has passed. Each slot receives
    /// the time of an event in nanoseconds.
    fn sampled(&mut self, slots: &mut [u64], wanted: u64, length_ns: u64)
    -> Result<Sampled, Error>;
    /// Runs `count` round trips between two clock readings; fewer if they take far longer than expected.
    fn clock_free(&mut self, count: u64) -> Result<ClockFree, Error>;
    /// Runs one round trip a slot, each when it is due, until no slots are left or the turn is over; returns how
    /// many.
    fn paced(&mut self, slots: &mut [Sent], pacer: &mut Pacer) -> Result<usize, Error> {
        pacer::paced(slots, pacer, |_| self.flagged(0))
    }
    /// A probe has just found both endpoints running at the same time.
    fn met(&mut self, _: &mut ProbePages) -> Result<(), Error> {
        Ok(())
    }
    /// The first turn follows: earlier losses do not count.
    fn start_measuring(&mut self);
    /// Losses since the start of measuring.
    fn losses(&self) -> &Losses;
    /// Messages so far.
    fn traffic(&self) -> Traffic;
    /// Returns the CPU time since the last call that is not the transport's.
    fn take_aside_ns(&mut self) -> u64 {
        0
    }
    /// Adds the results that only this pattern has.
    fn complete(&mut self, _: &mut LeaderReport) {}
}

/// Probes the distance between the endpoints, if possible.
pub(super) type Probe<'a> = dyn FnMut(&mut dyn BlockLoop) -> Result<Option<Distance>, Error> + 'a;

/// True if a turn is to end before its limit; asked after blocks, never within one.
pub(super) type IsOver<'a> = dyn FnMut() -> Result<bool, Error> + 'a;

/// Runs the blocks of a case, turn by turn, and keeps the results.
pub(super) struct BlockRecorder {
    slots: Vec<u64>,
    blocks: Vec<Block>,
    samples: Samples,
    /// Approximate time per event in the warm-up.
    warm_up_ns: f64,
    /// The same from the last block of each kind: a reading of the clock can make the difference between endpoints
    /// that sleep and endpoints that stay awake.
    last_ns: [Option<f64>; 2],
    target: Duration,
    /// True if the leader sleeps for every answer, so that its sleeps tell whether the endpoints did.
    counts_sleeps: bool,
    /// The number of turns so far.
    turns: u32,
}

/// The samples of sampled blocks, grouped by the kind of block.
#[derive(Default)]
struct Samples(BTreeMap<KindOfBlock, Histogram<u64>>);

/// The probes around a block, whether its endpoints stayed awake, and whether their cores were shared.
type KindOfBlock = (Option<[ProbeBin; 2]>, bool, bool);

impl Samples {
    fn keep(&mut self, block: &Block, samples: impl Iterator<Item = u64>) {
        let kind = (block.bins(), block.is_awake(), block.shared);
        let histogram = self.0.entry(kind).or_insert_with(ipcmark_results::new_histogram);
        // The range ends at an hour, far beyond any deadline; longer samples are recorded as its maximum.
        samples.for_each(|sample| histogram.saturating_record(sample));
    }
}

impl BlockRecorder {
    /// For blocks of this duration; `event_ns` is the approximate time per event.
    pub(super) fn new(target: Duration, event_ns: f64) -> Self {
        // Nonzero values, so that every page is already in memory.
        let slots = vec![u64::MAX; MOST_SAMPLES];
        Self {
            slots,
            blocks: Vec::new(),
            samples: Samples::default(),
            warm_up_ns: event_ns,
            last_ns: [None; 2],
            target,
            counts_sleeps: false,
            turns: 0,
        }
    }

    /// The same for a leader that sleeps for every answer, if `is_so`.
    pub(super) fn counting_sleeps(self, is_so: bool) -> Self {
        Self { counts_sleeps: is_so, ..self }
    }

    /// The number of times that this thread went to sleep so far, if it counts.
    fn sleeps(&self) -> Option<u64> {
        self.counts_sleeps.then(ThreadCosts::sleeps_so_far)
    }

    /// One turn: blocks between probes until the limit is reached or `is_over`, at least one of each supported kind,
    /// even if a busy machine has used up the time before them.
    pub(super) fn turn(
        &mut self,
        ends: &mut dyn BlockLoop,
        limit: TurnLimit,
        probe: &mut Probe<'_>,
        is_over: &mut IsOver<'_>,
    ) -> Result<(), Error> {
        let begin = now_ns();
        let mut sampled = 0;
        let mut before = probe(ends)?;
        loop {
            // The order of the two kinds alternates from turn to turn.
            for kind in BlockKind::in_order(self.turns) {
                if kind == BlockKind::ClockFree && !ends.has_clock_free() {
                    continue;
                }
                self.settle(ends, kind)?;
                let (mut block, spent) = self.block(ends, kind, limit.samples - sampled)?;
                block.turn = limit.number;
                let after = probe(ends)?;
                place(&mut block, before, after);
                if kind == BlockKind::Sampled {
                    sampled += spent;
                    let samples = self.slots[..block.samples as usize].iter().copied();
                    self.samples.keep(&block, samples);
                }
                self.blocks.push(block);
                before = after;
            }
            if sampled >= limit.samples || now_ns() - begin >= limit.time_ns || is_over()? {
                break;
            }
        }
        self.turns += 1;
        Ok(())
    }

    /// Runs a few uncounted round trips after a probe, so that a sleeping endpoint sleeps again and caches are as
    /// they were: a twentieth of a block, one at least and 16 at most.
    fn settle(&self, ends: &mut dyn BlockLoop, kind: BlockKind) -> Result<(), Error> {
        let few = (self.length_of(kind) / self.event_of(kind) / 20.0).clamp(1.0, 16.0) as u64;
        (0..few).try_for_each(|_| ends.flagged(0).map(drop))
    }

    /// The target duration of a sampled block.
    pub(super) fn length_ns(&self) -> f64 {
        self.length_of(BlockKind::Sampled)
    }

    /// The target duration of a block of this kind.
    fn length_of(&self, kind: BlockKind) -> f64 {
        let fewest = (FEWEST * self.event_of(kind)).min(LONGEST.as_nanos() as f64);
        fewest.max(self.target.as_nanos() as f64)
    }

    fn block(
        &mut self,
        ends: &mut dyn BlockLoop,
        kind: BlockKind,
        wanted: u64,
    ) -> Result<(Block, u64), Error> {
        let lost = ends.losses().count;
        let (sleeps, start_ns) = (self.sleeps(), now_ns());
        let length_ns = self.length_of(kind);
        let Sampled { samples, events, elapsed_ns, spent } = match kind {
            BlockKind::Sampled => ends.sampled(&mut self.slots, wanted.max(1), length_ns as u64)?,
            BlockKind::ClockFree => {
                let count = (length_ns / self.event_of(kind)).clamp(1.0, MOST_ROUND_TRIPS);
                let done = ends.clock_free((count as u64).min(wanted.max(1)))?;
                let (events, elapsed_ns) = (done.round_trips, done.elapsed_ns);
                Sampled { samples: 0, events, elapsed_ns, spent: 0 }
            }
        };
        let sleeps = self.sleeps().zip(sleeps).map(|(after, before)| after - before);
        self.last_ns[kind as usize] = Some((elapsed_ns as f64 / events.max(1) as f64).max(1.0));
        let lost = ends.losses().count - lost;
        let samples = samples as u64;
        let block =
            Block { start_ns, kind, events, samples, elapsed_ns, lost, sleeps, ..Block::default() };
        Ok((block, spent))
    }

    /// Keeps a sampled block and its samples.
    pub(super) fn keep(&mut self, block: Block, samples: impl Iterator<Item = u64>) {
        self.samples.keep(&block, samples);
        self.blocks.push(block);
    }

    /// Approximate time per event in a block of this kind, in nanoseconds.
    fn event_of(&self, kind: BlockKind) -> f64 {
        self.last_ns[kind as usize].unwrap_or(self.warm_up_ns)
    }

    /// Approximate time per event, in nanoseconds: the longer one of both kinds of blocks.
    pub(super) fn event_ns(&self) -> f64 {
        let last = self.last_ns.iter().copied().flatten().reduce(f64::max);
        last.unwrap_or(self.warm_up_ns)
    }

    /// The blocks and the samples.
    pub(super) fn finish(self) -> (Vec<Block>, Vec<SampleGroup>) {
        let encoded = self.samples.0.into_iter().map(|((bins, awake, shared), histogram)| {
            SampleGroup { bins, awake, shared, histogram: ipcmark_results::encode(&histogram) }
        });
        (self.blocks, encoded.collect())
    }
}

/// Adds the probes around a block, if there are any.
pub(super) fn place(block: &mut Block, before: Option<Distance>, after: Option<Distance>) {
    let Some((before, after)) = before.zip(after) else { return };
    block.probes_ns = Some([before.ns(), after.ns()]);
    block.shared = [before, after].iter().any(|probe| matches!(probe, Distance::OnSharedCore(_)));
}

#[cfg(test)]
mod tests {
    use ipcmark_results::Load;

    use super::*;
    use crate::{
        patterns::scripted::Scripted,
        wire::{Length, MAX_REPORT, Pass},
    };

    fn samples(count: u64) -> TurnLimit {
        TurnLimit { number: 7, time_ns: u64::MAX, samples: count }
    }

    /// Runs one turn per limit, with these probes before and after the blocks.
    fn turns(ends: &mut Scripted, limits: &[TurnLimit], probes: &[Distance]) -> BlockRecorder {
        let mut recorder = BlockRecorder::new(SPINNING, ends.round_trip_ns as f64);
        let mut probes = probes.iter().copied();
        for limit in limits {
            recorder.turn(ends, *limit, &mut |_| Ok(probes.next()), &mut || Ok(false)).unwrap();
        }
        recorder
    }

    #[test]
    fn the_number_of_samples_is_exact_and_both_kinds_of_blocks_alternate() {
        // A block of 0.5 ms holds 5000 round trips, more than its slots.
        let (blocks, samples) =
            turns(&mut Scripted::new(100), &[samples(10_000), samples(3)], &[]).finish();
        let of = |kind| blocks.iter().filter(move |block| block.kind == kind);
        let counts: Vec<u64> = of(BlockKind::Sampled).map(|block| block.events).collect();
        assert_eq!(counts, [4096, 4096, 10_000 - 2 * 4096, 3]);
        assert_eq!(of(BlockKind::ClockFree).count(), 4);
        let (first, second) = blocks.split_at(6);
        let begins = |blocks: &[Block], order: [BlockKind; 2]| {
            blocks.chunks(2).all(|pair| [pair[0].kind, pair[1].kind] == order)
        };
        assert!(begins(first, BlockKind::in_order(0)) && begins(second, BlockKind::in_order(1)));
        assert!(blocks.iter().all(|block| block.turn == 7 && block.probes_ns.is_none()));
        let [group] = &samples[..] else { panic!("{samples:?}") };
        assert_eq!(group.bins, None);
        assert_eq!(ipcmark_results::decode(&group.histogram).unwrap().len(), 10_003);
    }

    #[test]
    fn a_turn_whose_time_is_over_before_its_first_block_measures_all_the_same() {
        let none = TurnLimit { number: 0, time_ns: 0, samples: u64::MAX };
        let (blocks, samples) = turns(&mut Scripted::new(100), &[none, none], &[]).finish();
        assert!(blocks.len() == 4 && !samples.is_empty(), "{blocks:?}");
    }

    #[test]
    fn a_turn_without_a_limit_ends_when_it_is_over() {
        let mut recorder = BlockRecorder::new(SPINNING, 1000.0);
        let mut asked = 0;
        let is_over = &mut || {
            asked += 1;
            Ok(asked == 3)
        };
        let limit = TurnLimit::none(7);
        recorder.turn(&mut Scripted::new(1000), limit, &mut |_| Ok(None), is_over).unwrap();
        let (blocks, _) = recorder.finish();
        assert!(blocks.len() == 6 && blocks.iter().all(|block| block.turn == 7), "{blocks:?}");
    }

    /// A trial of an hour once had more blocks than its report has room for, and failed at its end.
    #[test]
    fn the_blocks_of_an_hour_fit_into_a_report() {
        let hour = Duration::from_secs(3600);
        let pass = |length: Length| Pass { warm_up: length.warm_up(), ..Pass::of(Load::Closed) };
        let length = block_length(SPINNING, pass(Length::Time(hour)).time());
        let block = Block {
            turn: 2000,
            start_ns: u64::MAX / 1000,
            events: 1_000_000,
            elapsed_ns: 20_000_000,
            probes_ns: Some([1.0 / 3.0 + 100.0; 2]),
            ..Block::default()
        };
        let bytes = serde_json::to_string(&block).unwrap().len() + 1;
        // As if the sampled block of each pair took no time at all.
        let blocks = 2.0 * hour.as_secs_f64() / length.as_secs_f64();
        assert!(blocks * (bytes as f64) < 0.9 * MAX_REPORT as f64, "{blocks} of {bytes} bytes");
        let minute = pass(Length::Time(hour / 60)).time();
        assert_eq!(block_length(SPINNING, minute), SPINNING);
        assert_eq!(block_length(SLEEPING, pass(Length::RoundTrips(7)).time()), SLEEPING);
    }

    #[test]
    fn a_slow_round_trip_makes_a_block_of_few() {
        for (round_trip_ns, count) in [(1_000_000, 4), (100_000, 8), (10_000_000, 1)] {
            let (blocks, _) =
                turns(&mut Scripted::new(round_trip_ns), &[samples(100)], &[]).finish();
            let longest = blocks.iter().map(|block| block.events).max();
            assert_eq!(longest, Some(count), "{round_trip_ns}");
        }
    }

    #[test]
    fn samples_are_grouped_by_agreeing_probes() {
        let [near, far] = [70.0, 400.0].map(Distance::RoundTrip);
        // Sampled, clock-free, sampled: near, mixed, far. Then both kinds again, one of them with processors apart.
        let probes = [near, near, far, far, far, far, far, Distance::Apart, Distance::Apart];
        let (blocks, groups) =
            turns(&mut Scripted::new(100), &[samples(3 * 4096)], &probes).finish();
        let bins: Vec<Option<[ProbeBin; 2]>> = blocks.iter().map(Block::bins).collect();
        let of = |probes: [f64; 2]| Some(probes.map(ProbeBin::of));
        let [near, mixed, far] = [[70.0, 70.0], [70.0, 400.0], [400.0, 400.0]].map(of);
        assert_eq!(bins[..5], [near, mixed, far, far, far]);
        let count = |bins| {
            let group = groups.iter().find(|group| group.bins == bins);
            group.map(|group| ipcmark_results::decode(&group.histogram).unwrap().len())
        };
        assert_eq!((count(near), count(far), count(mixed)), (Some(4096), Some(2 * 4096), None));
    }

    #[test]
    fn a_block_with_a_probe_on_a_shared_core_has_samples_of_its_own() {
        let (alone, shared) = (Distance::RoundTrip(70.0), Distance::OnSharedCore(70.0));
        // Sampled, clock-free, sampled and clock-free: the third probe is the second block's and the third's.
        let probes = [alone, alone, shared, alone, alone];
        let (blocks, groups) =
            turns(&mut Scripted::new(100), &[samples(2 * 4096)], &probes).finish();
        assert_eq!(
            blocks.iter().map(|block| block.shared).collect::<Vec<_>>(),
            [false, true, true, false]
        );
        assert!(blocks.iter().all(|block| block.probes_ns == Some([70.0, 70.0])));
        assert_eq!(groups.iter().map(|group| group.shared).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_block_counts_its_own_losses() {
        let mut ends = Scripted { lost_a_block: 3, ..Scripted::new(100) };
        ends.losses.count = 40;
        let (blocks, _) = turns(&mut ends, &[samples(5000)], &[]).finish();
        assert!(blocks.len() == 4 && blocks.iter().all(|block| block.lost == 3), "{blocks:?}");
    }

    #[test]
    fn some_round_trips_before_each_block_are_not_counted() {
        let mut ends = Scripted::new(100);
        let (blocks, _) = turns(&mut ends, &[samples(1)], &[]).finish();
        let counted: u64 = blocks.iter().map(|block| block.events).sum();
        assert_eq!(ends.sent - counted, ends.flags.len() as u64);
        assert!(ends.flags.len() > blocks.len() && ends.flags.iter().all(|flags| *flags == 0));
    }
}
