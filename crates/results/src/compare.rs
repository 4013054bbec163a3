//! Compares two sides row by row, with the verdict that their runs allow.

use crate::{
    common_distance::CommonDistance,
    differences::{Difference, differences},
    groups::Group,
    matching::{Cases, Match, Matched, matched},
    model::{Case, Identity, RunResult, Trial},
    obstacles::{Obstacle, SharedDistance, is_same_run, obstacles, shared_distance},
    rows::Row,
    stats::{Comparison, Verdict, mean},
};

/// The change from one side, the base, to the new side. Each side is one or more results.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// True if the sides were measured in pairs, in one sitting; false if they are separate runs.
    pub is_paired: bool,
    /// The reasons why no row can have a verdict; empty if there are none.
    pub obstacles: Vec<Obstacle>,
    /// The settings in which the sides differ.
    pub differences: Vec<Difference>,
    /// The bare round trip at the distance at which rows are compared, if there is one.
    pub floor_ns: Option<f64>,
    /// The rows that both sides have, by group.
    pub groups: Vec<PairedGroup<'a>>,
    /// The rows that are not measured on both sides.
    pub unpaired: Vec<UnpairedRow<'a>>,
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
    /// From the first result of the base that has the row.
    pub base: Row<'a>,
    /// From the first result of the new side that has the row.
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
pub struct UnpairedRow<'a> {
    /// The row.
    pub identity: &'a Identity,
    /// The row's presence in the base.
    pub base: Presence<'a>,
    /// The row's presence in the new side.
    pub new: Presence<'a>,
}

/// The presence of a row on one side.
#[derive(Clone, Copy, Debug)]
pub enum Presence<'a> {
    /// It was measured.
    Measured,
    /// It was not measured; the case says why.
    Unmeasured(&'a Case),
    /// It is not in the plan.
    Absent,
}

/// Compares runs that were made one after the other, each a result file: two moments of a machine. With fewer than
/// three runs a side, or if machine or distances differ, no row has a verdict. A run that is given twice counts once.
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
    let (groups, unpaired) = rows(&base, &new, compare);
    let differences = differences(&base, &new);
    let floor_ns = shared.floor_ns;
    Change { is_paired: false, obstacles, differences, floor_ns, groups, unpaired }
}

/// Compares results that were measured in turns: the first results of both sides are a pair, so are the second ones,
/// and so on. All are placed together, at common distances, and compared at the one with most blocks, or at the one
/// nearest to `wanted_ns`, a bare round trip.
pub fn compare_pairs<'a>(
    base: &[&'a RunResult],
    new: &[&'a RunResult],
    wanted_ns: Option<f64>,
) -> Change<'a> {
    let common = CommonDistance::of(&[base, new].concat(), wanted_ns);
    let compare = |row: &Matched<'a>| {
        let locations = |cases: &Cases| common.log_locations(&trials(cases));
        of_pairs(&locations(&row.base), &locations(&row.new))
    };
    let (groups, unpaired) = rows(base, new, compare);
    let differences = differences(base, new);
    let floor_ns = common.floor_ns();
    Change { is_paired: true, obstacles: Vec::new(), differences, floor_ns, groups, unpaired }
}

/// The locations of a row on both sides, and their comparison.
struct Compared {
    base_ns: Option<f64>,
    new_ns: Option<f64>,
    comparison: Comparison,
}

/// The runs without duplicates.
fn distinct<'a>(runs: &[&'a RunResult]) -> Vec<&'a RunResult> {
    let mut distinct: Vec<&RunResult> = Vec::new();
    for run in runs {
        if !distinct.iter().any(|other| is_same_run(run, other)) {
            distinct.push(run);
        }
    }
    distinct
}

/// The measured rows, at these distances of their runs; without distances, at the reference of each run.
fn placed<'a>(cases: &Cases<'a>, distances: &[Option<u32>]) -> Vec<Row<'a>> {
    let placed = |(run, row): (usize, &Option<Row<'a>>)| {
        let row = (*row)?;
        let distance = distances.get(run).map_or(row.distance, |at| row.distance.and(*at));
        Some(Row { distance, ..row })
    };
    cases.rows.iter().enumerate().filter_map(placed).collect()
}

/// One location a run if that allows a verdict; else one a trial, to show the uncertainty of the ratio.
fn of_runs(base: &[Row], new: &[Row], is_told: bool) -> Compared {
    let (bases, news) = (by_run(base), by_run(new));
    let runs = bases.len().min(news.len());
    let comparison = match is_told {
        true => Comparison::of_runs(&bases, &news),
        false => Comparison::undecided(&by_trial(base), &by_trial(new), runs),
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

/// All rows: those of both sides by group, and those of only one side.
fn rows<'a>(
    base: &[&'a RunResult],
    new: &[&'a RunResult],
    compare: impl Fn(&Matched<'a>) -> Compared,
) -> (Vec<PairedGroup<'a>>, Vec<UnpairedRow<'a>>) {
    let (mut groups, mut unpaired): (Vec<PairedGroup>, Vec<UnpairedRow>) = Default::default();
    for (key, row) in matched(base, new) {
        match (row.base.measured(), row.new.measured()) {
            (Some(base), Some(new)) => {
                let Compared { base_ns, new_ns, comparison } = compare(&row);
                add(&mut groups, &key, RowPair { base, new, base_ns, new_ns, comparison });
            }
            _ => unpaired.extend(alone(&row)),
        }
    }
    for group in &mut groups {
        group.pairs.sort_by(|a, b| b.change().total_cmp(&a.change()));
    }
    (groups, unpaired)
}

/// Adds a row to its group, which is the last one or a new one.
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
    /// The first measured row, unless a run of it failed.
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

fn alone<'a>(row: &Matched<'a>) -> Option<UnpairedRow<'a>> {
    let of = |side: &Cases<'a>| side.first().map(|row| row.case).or(side.unmeasured);
    let case = of(&row.base).or_else(|| of(&row.new))?;
    let (base, new) = (row.base.presence(), row.new.presence());
    Some(UnpairedRow { identity: &case.identity, base, new })
}

impl PairedGroup<'_> {
    /// All locations of both sides.
    pub fn times(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().flat_map(|pair| [pair.base_ns, pair.new_ns]).flatten()
    }
}

impl RowPair<'_> {
    /// The new time divided by that of the base.
    pub fn ratio(&self) -> Option<f64> {
        let of_locations = || Some(self.new_ns? / self.base_ns?);
        let ratio = self.comparison.ratio.map(|ratio| ratio.estimate).or_else(of_locations);
        ratio.filter(|ratio| ratio.is_finite())
    }

    /// True if a difference was found.
    pub fn differs(&self) -> bool {
        matches!(self.comparison.verdict, Verdict::Faster | Verdict::Slower)
    }

    /// The absolute logarithm of the ratio; 0 if there is no ratio.
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

    /// Replaces every difference by its verdict in fresh data. A difference is reported only if the fresh data show the
    /// same one; one that was not measured again is not reported.
    pub fn confirm(&mut self, fresh: &Change<'a>) {
        for pair in self.groups.iter_mut().flat_map(|group| &mut group.pairs) {
            if pair.differs() {
                pair.confirm(fresh.of_new(&pair.new.case.identity));
            }
        }
    }
}

impl<'a> RowPair<'a> {
    /// Takes the estimates of the fresh data: the first estimates were selected for being large.
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
