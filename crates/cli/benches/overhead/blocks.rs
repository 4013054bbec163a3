//! A row against a bare program: the blocks of both, compared at one distance of the processors.

#[path = "../../../../modules/shared/rust/blocks.rs"]
mod shared;

use ipcmark_results::{Blocks, stats};
pub(crate) use shared::{FILE_BYTES, Floor, MeasuredBlock, Work, now_ns, pause, settle};

use crate::measured::BRIEF;

/// The duration of a block, as in the engine.
const SPINNING_NS: f64 = 0.5e6;
const SLEEPING_NS: f64 = 1.5e6;

/// The round trips of a block at least, unless they would take longer than this.
const FEWEST: f64 = 8.0;
const LONGEST_NS: f64 = 4e6;

/// At most one sleep in so many round trips does not count.
const FEW: u64 = 50;

/// The blocks of round trips that a side must have in a round.
pub(crate) const ENOUGH: usize = 5;

/// What a bare program has to do, if a round trip takes about so long.
pub(crate) fn work(spins: bool, round_trip_ns: f64) -> Work {
    let target = if spins { SPINNING_NS } else { SLEEPING_NS };
    let length = target.max((FEWEST * round_trip_ns).min(LONGEST_NS));
    let round_trips = (length / round_trip_ns).max(1.0);
    let blocks = BRIEF.as_nanos() as f64 / (round_trips * round_trip_ns);
    Work { spins, round_trips: round_trips as u64, blocks: blocks.max(ENOUGH as f64) as usize }
}

/// The lines of probes for this process and the children that it forks.
pub(crate) fn floor() -> Floor {
    Floor::map(file().as_file()).expect("pages for probes")
}

/// A file for the lines of probes.
pub(crate) fn file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in shared memory");
    file.as_file().set_len(FILE_BYTES as u64).expect("room for probes");
    file
}

/// The blocks of a bare program, in the form of a row's.
pub(crate) fn blocks(work: Work, measured: &[MeasuredBlock]) -> Blocks {
    let events = vec![work.round_trips; measured.len()];
    let sleeps = measured.iter().filter(|_| !work.spins).map(|block| block.sleeps);
    Blocks { sleeps: sleeps.collect(), ..of_events(events, measured) }
}

/// The same for blocks of so many events each, whose ends never sleep or of which it is unknown.
pub(crate) fn of_events(events: Vec<u64>, measured: &[MeasuredBlock]) -> Blocks {
    let is_probed = measured.iter().all(|block| block.before_ns > 0.0 && block.after_ns > 0.0);
    let probes = |of: fn(&MeasuredBlock) -> f64| match is_probed {
        true => measured.iter().map(of).collect(),
        false => Vec::new(),
    };
    Blocks {
        turn: vec![0; measured.len()],
        start_ns: vec![0; measured.len()],
        clock_free: vec![true; measured.len()],
        events,
        elapsed_ns: measured.iter().map(|block| block.elapsed_ns).collect(),
        lost: vec![0; measured.len()],
        sleeps: Vec::new(),
        probe_before_ns: probes(|block| block.before_ns),
        probe_after_ns: probes(|block| block.after_ns),
        shared_core: Vec::new(),
    }
}

/// The ratios of a row's rounds and a bare program's.
pub(crate) struct Ratios {
    /// The floor's round trip at their distance; none if a side was not probed.
    pub floor_ns: Option<f64>,
    /// A ratio for each round in which both sides have enough blocks there.
    pub ratios: Vec<f64>,
}

/// Divides the median block of a row by that of a bare program in each round in which both have `enough` that are alike,
/// at the distance with most blocks.
pub(crate) fn compare(rounds: &[[Blocks; 2]], enough: usize) -> Ratios {
    let (floor_ns, ratios) = compare_each(rounds, enough);
    Ratios { floor_ns, ratios: ratios.into_iter().flatten().collect() }
}

/// The same; none for the other rounds.
pub(crate) fn compare_each(
    rounds: &[[Blocks; 2]],
    enough: usize,
) -> (Option<f64>, Vec<Option<f64>>) {
    let probes: Vec<f64> =
        rounds.iter().flatten().flat_map(both_probes).flat_map(<[f64; 2]>::from).collect();
    let is_probed = rounds.iter().flatten().all(|side| side.probe_before_ns.len() == side.len());
    let distances = stats::Distances::of(&probes);
    let of_block = |[before, after]: [f64; 2]| distances.of_block(before, after);
    let all: Vec<_> = rounds.iter().flatten().flat_map(both_probes).map(of_block).collect();
    let reference = distances.reference(&all).filter(|_| is_probed);
    let counts = |side: &Blocks, at: usize| {
        reference.is_none()
            || of_block([side.probe_before_ns[at], side.probe_after_ns[at]]) == reference
    };
    let location = |side: &Blocks, slept: Slept| {
        let chosen =
            (0..side.len()).filter(|at| counts(side, *at) && Slept::in_block(side, *at) == slept);
        let means: Vec<f64> = chosen.filter_map(|at| side.location_mean_ns(at)).collect();
        stats::median(&means).filter(|_| means.len() >= enough)
    };
    let ratio = |[ours, theirs]: &[Blocks; 2]| {
        let alike = [Slept::Mostly, Slept::Never];
        alike.into_iter().find_map(|slept| Some(location(ours, slept)? / location(theirs, slept)?))
    };
    let floor_ns = reference.map(|at| distances.all()[at].floor_ns);
    (floor_ns, rounds.iter().map(ratio).collect())
}

/// How many round trips of a block the leader slept in. Only blocks that are alike in it are compared: a library that
/// polls before it sleeps may keep both ends awake for a while, and a round trip with a sleep takes far longer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slept {
    /// In none, as far as can be seen; or it never sleeps.
    Never,
    /// In some: a mixture of two times.
    Sometimes,
    /// In half of them at least.
    Mostly,
}

impl Slept {
    fn in_block(side: &Blocks, at: usize) -> Self {
        match side.sleeps.get(at) {
            Some(_) if !side.is_awake(at) => Self::Mostly,
            Some(sleeps) if sleeps * FEW > side.events[at] => Self::Sometimes,
            _ => Self::Never,
        }
    }
}

fn both_probes(side: &Blocks) -> impl Iterator<Item = [f64; 2]> {
    side.probe_before_ns.iter().zip(&side.probe_after_ns).map(|(before, after)| [*before, *after])
}
