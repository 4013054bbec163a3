//! Two sides compared row by row, with the verdict that their runs allow.

use crate::{
    common_distance::CommonDistance,
    differences::{Difference, differences},
    matching::{Cases, Match, Matched, matched},
    model::{Case, Identity, RunResult, Trial},
    obstacles::{Obstacle, SharedDistance, is_same_run, obstacles, shared_distance},
    rows::{Group, Row},
    stats::{Comparison, Verdict, mean},
};

/// What changed from one side, the base, to another. Each side is one or more results.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// True if the sides were measured in pairs, in one sitting; else they are runs of their own.
    pub is_paired: bool,
    /// Why nothing can be told of any row; empty where something can.
    pub obstacles: Vec<Obstacle>,
    /// The settings in which the sides differ.
    pub differences: Vec<Difference>,
    /// What a bare round trip takes at the distance at which rows are compared, if there is one.
    pub floor_ns: Option<f64>,
    /// The rows that both sides have, by group.
    pub groups: Vec<PairedGroup<'a>>,
    /// The rows that are not measured on both sides.
    pub lone: Vec<Lone<'a>>,
}

/// The rows of a group that both sides have.
#[derive(Clone, Debug)]
pub struct PairedGroup<'a> {
    /// The group, with its rows in the first result of the base.
    pub group: Group<'a>,
    /// Its rows, the greatest change first.
    pub pairs: Vec<RowPair<'a>>,
}

/// One row of both sides.
#[derive(Clone, Copy, Debug)]
pub struct RowPair<'a> {
    /// Of the first result of the base that has it.
    pub base: Row<'a>,
    /// Of the first result of the new side that has it.
    pub new: Row<'a>,
    /// The location in the base: geometric mean over its results.
    pub base_ns: Option<f64>,
    /// The location in the new side.
    pub new_ns: Option<f64>,
    /// The comparison of the two.
    pub comparison: Comparison,
}

/// A row that is not measured on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Lone<'a> {
    /// The row.
    pub identity: &'a Identity,
    /// Whether the base has it.
    pub base: Presence<'a>,
    /// Whether the new side has it.
    pub new: Presence<'a>,
}

/// What a side has of a row.
#[derive(Clone, Copy, Debug)]
pub enum Presence<'a> {
    /// It was measured.
    Measured,
    /// It was not: the case says why.
    Unmeasured(&'a Case),
    /// It is not in the plan.
    Absent,
}

/// Compares runs that were made one after the other, each a result file: two moments of a machine. With fewer than three
/// runs a side, or where machine or distances differ, nothing can be told. A run that is given twice counts once.
pub fn compare_runs<'a>(base: &[&'a RunResult], new: &[&'a RunResult]) -> Change<'a> {
    let (base, new) = (distinct(base), distinct(new));
    let mut obstacles = obstacles(&base, &new);
    let shared = shared_distance(&base, &new).unwrap_or_else(|obstacle| {
        obstacles.push(obstacle);
        SharedDistance::default()
    });
    let is_told = obstacles.is_empty();
    let compare = |row: &Matched<'a>| {
        let (base, new) = (placed(&row.base, &shared.base), placed(&row.new, &shared.new));
        of_runs(&base, &new, is_told)
    };
    let (groups, lone) = rows(&base, &new, compare);
    let differences = differences(&base, &new);
    let floor_ns = shared.floor_ns;
    Change { is_paired: false, obstacles, differences, floor_ns, groups, lone }
}

/// Compares results that were measured in turns: the first of both sides are a pair, so are the second, and so on. All
/// are placed together, at distances that they have in common.
pub fn compare_pairs<'a>(base: &[&'a RunResult], new: &[&'a RunResult]) -> Change<'a> {
    let common = CommonDistance::of(&[base, new].concat());
    let compare = |row: &Matched<'a>| {
        let locations = |cases: &Cases| common.log_locations(&trials(cases));
        of_pairs(&locations(&row.base), &locations(&row.new))
    };
    let (groups, lone) = rows(base, new, compare);
    let differences = differences(base, new);
    let floor_ns = common.floor_ns();
    Change { is_paired: true, obstacles: Vec::new(), differences, floor_ns, groups, lone }
}

/// The locations of a row on both sides, and what follows from them.
struct Compared {
    base_ns: Option<f64>,
    new_ns: Option<f64>,
    comparison: Comparison,
}

/// The runs without those that stand there twice.
fn distinct<'a>(runs: &[&'a RunResult]) -> Vec<&'a RunResult> {
    let mut distinct: Vec<&RunResult> = Vec::new();
    for run in runs {
        if !distinct.iter().any(|other| is_same_run(run, other)) {
            distinct.push(run);
        }
    }
    distinct
}

/// The measured rows, at these distances of their runs; at the reference of each where there are none.
fn placed<'a>(cases: &Cases<'a>, distances: &[Option<u32>]) -> Vec<Row<'a>> {
    let placed = |(run, row): (usize, &Option<Row<'a>>)| {
        let row = (*row)?;
        let distance = distances.get(run).map_or(row.distance, |at| row.distance.and(*at));
        Some(Row { distance, ..row })
    };
    cases.rows.iter().enumerate().filter_map(placed).collect()
}

/// One location a run, where that tells; else one a trial, to show how far the ratio can be off.
fn of_runs(base: &[Row], new: &[Row], is_told: bool) -> Compared {
    let (bases, news) = (by_run(base), by_run(new));
    let runs = bases.len().min(news.len());
    let comparison = match is_told {
        true => Comparison::of_runs(&bases, &news),
        false => Comparison::untold(&by_trial(base), &by_trial(new), runs),
    };
    Compared { base_ns: geometric_mean(&bases), new_ns: geometric_mean(&news), comparison }
}

fn by_run(rows: &[Row]) -> Vec<f64> {
    rows.iter().filter_map(|row| Some(row.location()?.value.ln())).collect()
}

fn by_trial(rows: &[Row]) -> Vec<f64> {
    rows.iter().flat_map(Row::locations).flatten().map(f64::ln).collect()
}

/// The one trial of a row in each result of a side.
fn trials<'a>(cases: &Cases<'a>) -> Vec<Option<&'a Trial>> {
    cases.rows.iter().map(|row| row.and_then(|row| row.trials.first())).collect()
}

fn of_pairs(base: &[Option<f64>], new: &[Option<f64>]) -> Compared {
    let pairs: Vec<(f64, f64)> =
        base.iter().zip(new).filter_map(|(base, new)| base.zip(*new)).collect();
    let (bases, news): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let log_ratios: Vec<f64> = pairs.iter().map(|(base, new)| new - base).collect();
    Compared {
        base_ns: geometric_mean(&bases),
        new_ns: geometric_mean(&news),
        comparison: Comparison::of_pairs(&log_ratios),
    }
}

fn geometric_mean(logarithms: &[f64]) -> Option<f64> {
    (!logarithms.is_empty()).then(|| mean(logarithms).exp())
}

/// All rows: those of both sides by group, and the others.
fn rows<'a>(
    base: &[&'a RunResult],
    new: &[&'a RunResult],
    compare: impl Fn(&Matched<'a>) -> Compared,
) -> (Vec<PairedGroup<'a>>, Vec<Lone<'a>>) {
    let (mut groups, mut lone): (Vec<PairedGroup>, Vec<Lone>) = Default::default();
    for (key, row) in matched(base, new) {
        match (row.base.measured(), row.new.measured()) {
            (Some(base), Some(new)) => {
                let Compared { base_ns, new_ns, comparison } = compare(&row);
                add(&mut groups, &key, RowPair { base, new, base_ns, new_ns, comparison });
            }
            _ => lone.extend(alone(&row)),
        }
    }
    for group in &mut groups {
        group.pairs.sort_by(|a, b| b.change().total_cmp(&a.change()));
    }
    (groups, lone)
}

/// Adds a row to its group, which is the last one or new.
fn add<'a>(groups: &mut Vec<PairedGroup<'a>>, key: &Match, pair: RowPair<'a>) {
    match groups.last_mut().filter(|last| last.group.key == key.key) {
        Some(last) => {
            last.group.rows.push(pair.base);
            last.pairs.push(pair);
        }
        None => {
            let group = Group { key: key.key, rows: vec![pair.base] };
            groups.push(PairedGroup { group, pairs: vec![pair] });
        }
    }
}

impl<'a> Cases<'a> {
    /// The first measured one, unless a run failed.
    fn measured(&self) -> Option<Row<'a>> {
        self.first().filter(|_| !self.has_failed())
    }

    fn presence(&self) -> Presence<'a> {
        match (self.measured(), self.unmeasured) {
            (Some(_), _) => Presence::Measured,
            (None, Some(case)) => Presence::Unmeasured(case),
            (None, None) => Presence::Absent,
        }
    }
}

fn alone<'a>(row: &Matched<'a>) -> Option<Lone<'a>> {
    let of = |side: &Cases<'a>| side.first().map(|row| row.case).or(side.unmeasured);
    let case = of(&row.base).or_else(|| of(&row.new))?;
    let (base, new) = (row.base.presence(), row.new.presence());
    Some(Lone { identity: &case.identity, base, new })
}

impl PairedGroup<'_> {
    /// All locations of both sides.
    pub fn times(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().flat_map(|pair| [pair.base_ns, pair.new_ns]).flatten()
    }
}

impl RowPair<'_> {
    /// The new time as a multiple of that of the base.
    pub fn ratio(&self) -> Option<f64> {
        let of_locations = || Some(self.new_ns? / self.base_ns?);
        let ratio = self.comparison.ratio.map(|ratio| ratio.estimate).or_else(of_locations);
        ratio.filter(|ratio| ratio.is_finite())
    }

    /// True if a difference was found.
    pub fn differs(&self) -> bool {
        matches!(self.comparison.verdict, Verdict::Faster | Verdict::Slower)
    }

    /// The logarithm of the ratio, whatever its sign; 0 where there is none.
    fn change(&self) -> f64 {
        self.ratio().map_or(0.0, |ratio| ratio.ln().abs())
    }
}

impl<'a> Change<'a> {
    /// All rows that both sides have.
    pub fn pairs(&self) -> impl Iterator<Item = &RowPair<'a>> {
        self.groups.iter().flat_map(|group| &group.pairs)
    }

    /// The pair of a row of the new side.
    pub fn of_new(&self, identity: &Identity) -> Option<&RowPair<'a>> {
        self.pairs().find(|pair| pair.new.case.identity == *identity)
    }

    /// Replaces every difference by what fresh data say of it, which must be the same to be reported. One that was not
    /// measured again is not.
    pub fn confirm(&mut self, fresh: &Change<'a>) {
        for pair in self.groups.iter_mut().flat_map(|group| &mut group.pairs) {
            if pair.differs() {
                pair.confirm(fresh.of_new(&pair.new.case.identity));
            }
        }
    }
}

impl<'a> RowPair<'a> {
    /// The estimates are those of the fresh data: the first were chosen for being large.
    fn confirm(&mut self, fresh: Option<&RowPair<'a>>) {
        let Some(fresh) = fresh else {
            let pairs_needed = 2 * self.comparison.pairs;
            self.comparison.verdict = Verdict::CannotTell { pairs_needed };
            return;
        };
        let verdict = self.comparison.confirmed_by(&fresh.comparison);
        *self = RowPair { comparison: Comparison { verdict, ..fresh.comparison }, ..*fresh };
    }
}
