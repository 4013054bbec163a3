//! The trend of one row: its figures over many runs on one machine, and its change points. A change is reported under
//! the same rules as in a comparison of runs.

use std::collections::BTreeMap;

use crate::{
    model::{Case, RunResult},
    obstacles::{ONE_DISTANCE, nearest},
    rows::{Figure, Row},
    stats::{self, ChangePoint, Interval},
};

/// One run of a trend.
#[derive(Clone, Copy, Debug)]
pub struct TrendRun<'a> {
    /// The label by which runs are grouped: a commit, a version, or the run itself.
    pub label: &'a str,
    /// The run, with only this row among its cases.
    pub run: &'a RunResult,
}

/// The trend of a row over comparable runs: see [`circumstances`](crate::circumstances).
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// One point a label, in the order in which they first occur.
    pub points: Vec<Point>,
    /// The changes between these points, in their order.
    pub changes: Vec<ChangePoint>,
    /// The fewest further runs with which a change could be detected; 0 if it already can be.
    pub missing: usize,
    /// The bare round trip at the distance at which runs are compared; none if nothing was probed.
    pub floor_ns: Option<f64>,
}

/// The runs of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The indices of its runs among the moments.
    pub runs: Vec<usize>,
    /// The time of the row: that of the only run, or the geometric mean over all.
    pub figure: Option<Figure>,
    /// True if no run has the distance at which the others are compared: then the figure is at the run's own distance
    /// and is not compared.
    pub is_apart: bool,
}

/// The trend of one row over these runs, in the order of their time.
pub fn trend(trend_runs: &[TrendRun]) -> Trend {
    let distance = most_common_distance(trend_runs);
    let groups = grouped(trend_runs);
    let figure = |at: usize| distance.row(trend_runs[at].run).and_then(|row| row.location());
    let logs: Vec<Vec<f64>> = groups
        .iter()
        .map(|runs| runs.iter().filter_map(|at| Some(figure(*at)?.value.ln())).collect())
        .collect();
    let (changes, missing) = (stats::change_points(&logs), stats::runs_missing(&logs));
    let points = groups.into_iter().map(|runs| point(trend_runs, &distance, runs)).collect();
    Trend { points, changes, missing, floor_ns: distance.floor_ns }
}

/// The indices of the runs of each label, in the order in which the labels first occur.
fn grouped(trend_runs: &[TrendRun]) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, trend_run) in trend_runs.iter().enumerate() {
        let place = *places.entry(trend_run.label).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(at);
    }
    groups
}

fn point(trend_runs: &[TrendRun], distance: &TrendDistance, runs: Vec<usize>) -> Point {
    let of = |row: &dyn Fn(&RunResult) -> Option<Figure>| -> Vec<Figure> {
        runs.iter().filter_map(|at| row(trend_runs[*at].run)).collect()
    };
    let common = of(&|run| distance.row(run)?.location());
    let own = || of(&|run| own_row(run)?.location());
    let is_apart = common.is_empty();
    let figures = if is_apart { own() } else { common };
    let figure = match figures[..] {
        [only] => Some(only),
        _ => Figure::of_trials(&figures.iter().map(|figure| figure.value).collect::<Vec<_>>()),
    };
    // Two unrelated runs can have an interval without finite bounds.
    let is_finite = |bounds: &Interval| bounds.low.is_finite() && bounds.high.is_finite();
    let figure =
        figure.map(|figure| Figure { interval: figure.interval.filter(is_finite), ..figure });
    Point { runs, is_apart: is_apart && figure.is_some(), figure }
}

/// The row at the reference distance of its run.
fn own_row(run: &RunResult) -> Option<Row<'_>> {
    let reference = run.reference_distance();
    Row::of(run.cases.first()?, reference)
}

/// The distance that most runs have; of several, the one that maximizes its smallest share of blocks in any run. Bare
/// round trips at it differ by no more than two round trips of one distance.
#[derive(Default)]
struct TrendDistance {
    floor_ns: Option<f64>,
}

impl TrendDistance {
    /// The row of a run at this distance; none if the run does not have it. A row that was not probed is returned
    /// unchanged.
    fn row<'a>(&self, run: &'a RunResult) -> Option<Row<'a>> {
        let case: &Case = run.cases.first()?;
        let row = Row::of(case, Some(0))?;
        match (self.floor_ns, row.distance) {
            (None, _) => own_row(run),
            (Some(_), None) => Some(row),
            (Some(floor_ns), Some(_)) => Some(Row { distance: place(run, floor_ns), ..row })
                .filter(|row| row.distance.is_some()),
        }
    }
}

/// The index of the run's distance at this floor, if it has one.
fn place(run: &RunResult, floor_ns: f64) -> Option<u32> {
    let distances = run.distances.as_ref()?;
    let at = nearest(distances, floor_ns)?;
    let ratio = (distances.all[at].floor_round_trip_ns / floor_ns).ln().abs();
    (ratio <= ONE_DISTANCE.ln() / 2.0).then_some(at as u32)
}

fn most_common_distance(trend_runs: &[TrendRun]) -> TrendDistance {
    let all = trend_runs.iter().filter_map(|trend_run| trend_run.run.distances.as_ref());
    let mut floors: Vec<f64> =
        all.flat_map(|distances| &distances.all).map(|at| at.floor_round_trip_ns).collect();
    floors.sort_by(f64::total_cmp);
    // Nearly equal candidates match the same runs; a hundred runs need not give hundreds of candidates.
    floors.dedup_by(|next, kept| *next <= *kept * 1.01);
    let best = floors.into_iter().max_by(|a, b| {
        let [one, other] = [*a, *b].map(|floor_ns| shares(trend_runs, floor_ns));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(b.total_cmp(a))
    });
    TrendDistance { floor_ns: best }
}

/// The number of runs that have a distance, and its smallest share of blocks in any of them.
fn shares(trend_runs: &[TrendRun], floor_ns: f64) -> (usize, f64) {
    let share = |trend_run: &TrendRun| {
        let at = place(trend_run.run, floor_ns)?;
        Some(trend_run.run.distances.as_ref()?.all[at as usize].share)
    };
    let shares: Vec<f64> = trend_runs.iter().filter_map(share).collect();
    (shares.len(), shares.into_iter().fold(f64::INFINITY, f64::min))
}
