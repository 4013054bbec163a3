//! Two results case by case: what changed, and what can be said about it.

use std::collections::BTreeMap;

use ipcmark_results::{Case, RunResult};
use serde::Serialize;

use crate::{
    columns::Scale,
    html::definitions,
    plain::plain,
    rows::{self, Group, Row},
    units::figure,
};

/// A result against the first one.
#[derive(Serialize)]
pub struct Changes {
    /// Where the new result stands among the files.
    pub file: usize,
    /// Groups that both results have, with the rows that both have.
    pub groups: Vec<ChangedGroup>,
    /// Rows of the base that the new result has no figures for.
    pub gone: Vec<String>,
    /// Rows of the new result that the base has no figures for.
    pub added: Vec<String>,
}

/// The rows of one group, the greatest change first.
#[derive(Serialize)]
pub struct ChangedGroup {
    /// What its rows have in common.
    pub title: String,
    /// What its times are.
    pub caption: String,
    /// Its rows.
    pub rows: Vec<Change>,
}

/// One row of both results.
#[derive(Serialize)]
pub struct Change {
    name: String,
    base: String,
    new: String,
    p50: String,
    p99: String,
    cpu: String,
    verdict: &'static str,
    /// The verdict as a part of a class name.
    class: String,
    #[serde(skip)]
    distance: f64,
}

/// The rows of a result, to be found again in another.
pub type Index<'a, 'b> = BTreeMap<Identity<'a>, &'b Row<'a>>;

/// What makes a row of one result the same as a row of the other.
pub type Identity<'a> =
    (&'a str, u64, &'a str, &'a str, &'a str, (u32, u32), &'a str, &'a BTreeMap<String, String>);

/// What makes this row the same as one of another result.
pub fn identity<'a>(row: &Row<'a>) -> Identity<'a> {
    let case: &'a Case = row.cases[0];
    let (span, transport) = (&case.span, &case.transport);
    let how = (case.payload_bytes, &case.touch, &case.wait);
    let followers = (case.subscribers, case.silent_subscribers);
    (&case.pattern, how.0, how.1, how.2, span, followers, transport, &case.options)
}

/// What changed from `base` to `new`.
pub fn changes(base: &RunResult, file: usize, new: &RunResult) -> Changes {
    let (before, after) = (rows::groups(base), rows::groups(new));
    let (old, fresh) = (index(&before), index(&after));
    let compared = |group| changed_group(group, &fresh);
    Changes {
        file,
        groups: before.iter().map(compared).filter(|group| !group.rows.is_empty()).collect(),
        gone: names(old.iter().filter(|(key, _)| !fresh.contains_key(*key))),
        added: names(fresh.iter().filter(|(key, _)| !old.contains_key(*key))),
    }
}

/// The rows of these groups.
pub fn index<'a, 'b>(groups: &'b [Group<'a>]) -> Index<'a, 'b> {
    groups.iter().flat_map(|group| &group.rows).map(|row| (identity(row), row)).collect()
}

fn names<'a, 'b: 'a>(
    rows: impl Iterator<Item = (&'a Identity<'b>, &'a &'a Row<'b>)>,
) -> Vec<String> {
    rows.map(|((pattern, payload, touch, wait, ..), row)| {
        let size = crate::units::size(*payload);
        let case = [pattern, size.as_str(), touch, wait].map(plain).join(" · ");
        format!("{} ({case})", rows::transport_of(row.cases[0]))
    })
    .collect()
}

fn changed_group(group: &Group, fresh: &Index) -> ChangedGroup {
    let scale = Scale::of(group);
    let pair = |row| fresh.get(&identity(row)).map(|new| change(row, new, scale));
    let mut rows: Vec<Change> = group.rows.iter().filter_map(pair).collect();
    rows.sort_by(|a, b| b.distance.total_cmp(&a.distance));
    ChangedGroup { title: group.title.clone(), caption: scale.caption(), rows }
}

fn change(base: &Row, new: &Row, scale: Scale) -> Change {
    let verdict = verdict(base, new);
    let distance = (new.p50 / base.p50).ln().abs();
    Change {
        name: base.name.clone(),
        base: scale.trip(base.p50),
        new: scale.trip(new.p50),
        p50: ratio(base.p50, new.p50),
        p99: ratio(base.p99, new.p99),
        cpu: ratio(base.cpu_per_message, new.cpu_per_message),
        verdict,
        class: definitions::key(verdict),
        distance: if distance.is_finite() { distance } else { 0.0 },
    }
}

fn ratio(base: f64, new: f64) -> String {
    let ratio = new / base;
    if ratio.is_finite() { figure(ratio) } else { "–".into() }
}

fn p50s(row: &Row) -> Vec<f64> {
    let figures = row.cases.iter().filter_map(|case| case.figures.as_ref());
    figures.map(|figures| figures.round_trip_ns.p50 as f64).collect()
}

/// What the trials of two results allow to be said of their medians.
pub fn verdict(base: &Row, new: &Row) -> &'static str {
    judged(&p50s(base), &p50s(new))
}

fn judged(base: &[f64], new: &[f64]) -> &'static str {
    let ((low, high), (new_low, new_high)) = (range(base), range(new));
    let is_sure = chance_of_separation(base.len(), new.len()) <= 0.05;
    let median = |values: &[f64]| rows::median(values.iter().copied());
    let within = |median: f64, (least, greatest)| least <= median && median <= greatest;
    let mixed = within(median(base), (new_low, new_high)) && within(median(new), (low, high));
    match () {
        () if is_sure && new_low > high => "slower",
        () if is_sure && new_high < low => "faster",
        () if mixed && base.len().min(new.len()) >= 3 => "within noise",
        () => "not known",
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    rows::range(values.iter().copied())
}

/// How likely two sets of so many trials of the same thing lie wholly apart, one way or the other:
/// two of all orders in which they can come.
fn chance_of_separation(base: usize, new: usize) -> f64 {
    2.0 * (1..=new).map(|at| at as f64 / (base + at) as f64).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_trials() {
        assert_eq!(judged(&[100.0], &[900.0]), "not known");
        assert_eq!(judged(&[100.0; 3], &[900.0; 3]), "not known");
        assert_eq!(judged(&[100.0], &[100.0]), "not known");
    }

    #[test]
    fn what_lies_apart_differs_and_what_is_mixed_is_noise() {
        let base = [100.0, 101.0, 102.0, 103.0];
        assert_eq!(judged(&base, &[104.0, 105.0, 106.0, 107.0]), "slower");
        assert_eq!(judged(&base, &[90.0, 91.0, 92.0, 93.0]), "faster");
        assert_eq!(judged(&base, &[99.0, 101.5, 102.5, 104.0]), "within noise");
        assert_eq!(judged(&base, &[102.5, 110.0, 111.0, 112.0]), "not known");
    }

    #[test]
    fn the_chance_is_that_of_two_orders_of_all() {
        assert_eq!(chance_of_separation(1, 1), 1.0);
        assert!((chance_of_separation(4, 4) - 2.0 / 70.0).abs() < 1e-12);
        assert!((chance_of_separation(3, 3) - 0.1).abs() < 1e-12);
    }
}
