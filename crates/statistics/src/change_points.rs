//! Change points: the points at which a sequence of runs became slower or faster.

use std::ops::Range;

use super::{
    comparison::{Comparison, LEAST_RUNS, Verdict},
    power::LEVEL,
    student::MeanDifference,
};

/// A change between two points that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first point after it.
    pub at: usize,
    /// The number of compared runs before it, back to the previous change.
    pub base_runs: usize,
    /// The number of compared runs after it, up to the next change.
    pub new_runs: usize,
    /// The comparison of the two: slower or faster.
    pub comparison: Comparison,
}

/// The changes in a sequence of points, each with the logarithms of the times of its runs, by binary segmentation: the
/// clearest change first, then those on both sides of it. Each is a difference that [`Comparison::of_runs`] finds, at
/// the level of 1 % over all candidate places together (Bonferroni).
pub fn change_points(points: &[Vec<f64>]) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    search(points, 0..points.len(), &mut found);
    loop {
        let compared = between_neighbours(points, &found);
        found = compared.iter().filter(|change| is_told(change)).copied().collect();
        if found.len() == compared.len() {
            return found;
        }
    }
}

fn is_told(change: &ChangePoint) -> bool {
    matches!(change.comparison.verdict, Verdict::Faster | Verdict::Slower)
}

/// The changes, each compared with the runs back to the one before it and up to the next: it was found before these
/// were.
fn between_neighbours(points: &[Vec<f64>], found: &[ChangePoint]) -> Vec<ChangePoint> {
    let at = |at: usize| found.get(at).map_or(points.len(), |change| change.at);
    let compared = |(number, change): (usize, &ChangePoint)| {
        let start = if number == 0 { 0 } else { at(number - 1) };
        let sides = [start..change.at, change.at..at(number + 1)].map(|side| points[side].concat());
        compared(sides.into(), change.at).map_or(*change, |(_, change)| change)
    };
    found.iter().enumerate().map(compared).collect()
}

/// The fewest further runs with which one place has enough on both sides; 0 if one already has.
pub fn runs_missing(points: &[Vec<f64>]) -> usize {
    let count = |points: &[Vec<f64>]| points.iter().map(Vec::len).sum::<usize>();
    let lacks = |at: usize| {
        let (base, new) = points.split_at(at);
        [base, new].map(|side| LEAST_RUNS.saturating_sub(count(side))).iter().sum()
    };
    // A new point can follow the last one, but none can precede the first.
    (1..=points.len()).map(lacks).min().unwrap_or(2 * LEAST_RUNS)
}

fn search(points: &[Vec<f64>], stretch: Range<usize>, found: &mut Vec<ChangePoint>) {
    let Some(change) = clearest(points, stretch.clone()) else { return };
    search(points, stretch.start..change.at, found);
    found.push(change);
    search(points, change.at..stretch.end, found);
}

fn clearest(points: &[Vec<f64>], stretch: Range<usize>) -> Option<ChangePoint> {
    // A change behind a point without runs is attributed to the next point that has some.
    let places = (stretch.start + 1..stretch.end).filter(|at| !points[*at].is_empty());
    let sides = |at: usize| (points[stretch.start..at].concat(), points[at..stretch.end].concat());
    let all: Vec<(f64, ChangePoint)> = places.filter_map(|at| compared(sides(at), at)).collect();
    let is_clear =
        |(p, change): &&(f64, ChangePoint)| is_told(change) && p * (all.len() as f64) < LEVEL;
    let clearest = all.iter().filter(is_clear).min_by(|(a, _), (b, _)| a.total_cmp(b));
    clearest.map(|(_, change)| *change)
}

/// Compares the runs before a place with those from it on, if both sides have enough. Also returns the probability of a
/// difference at least as clear if there is none, by the less certain of two tests: Welch's is too certain if one side
/// has few runs that happen to be nearly equal, and among 25 places some are.
fn compared((base, new): (Vec<f64>, Vec<f64>), at: usize) -> Option<(f64, ChangePoint)> {
    if base.len().min(new.len()) < LEAST_RUNS {
        return None;
    }
    let comparison = Comparison::of_runs(&base, &new);
    let p = comparison.p.max(MeanDifference::pooled(&base, &new).p());
    Some((p, ChangePoint { at, base_runs: base.len(), new_runs: new.len(), comparison }))
}
