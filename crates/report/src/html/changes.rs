//! The comparison of two results row by row, by `ipcmark-results`.

use ipcmark_results::{PairedGroup, Presence, Row, RowPair, RunResult, UnpairedRow, compare_runs};
use serde::Serialize;

use crate::{
    columns::Scale,
    html::definitions,
    names::{self, Titles},
    obstacles,
    units::figure,
};

/// A result against the first one.
#[derive(Serialize)]
pub struct Changes {
    /// Number of the new result among the files.
    file: usize,
    /// The reasons why no row has a verdict.
    reasons: Vec<String>,
    /// Groups that both results have, with the rows that both have.
    groups: Vec<ChangedGroup>,
    /// Rows of the base for which the new result has no figures.
    gone: Vec<String>,
    /// Rows of the new result for which the base has no figures.
    added: Vec<String>,
}

/// The rows of one group, the greatest change first.
#[derive(Serialize)]
struct ChangedGroup {
    /// The title of the group.
    title: String,
    /// The unit and kind of its times.
    caption: String,
    rows: Vec<ChangedRow>,
}

/// One row of both results.
#[derive(Serialize)]
struct ChangedRow {
    name: String,
    base: String,
    new: String,
    mean: String,
    p99: String,
    cpu: String,
    verdict: String,
    /// The verdict as part of a class name.
    class: String,
}

/// The changes from the base to the result with this number.
pub fn changes(base: &RunResult, file: usize, new: &RunResult) -> Changes {
    let change = compare_runs(&[base], &[new]);
    let titles = Titles::of(base);
    let names = |side: fn(&UnpairedRow) -> bool| {
        let unpaired = change.unpaired.iter().filter(|unpaired| side(unpaired));
        unpaired.map(|unpaired| names::alone(unpaired.identity)).collect()
    };
    Changes {
        file,
        reasons: change.obstacles.iter().map(obstacles::sentence).collect(),
        groups: change.groups.iter().map(|group| changed_group(group, &titles)).collect(),
        gone: names(|unpaired| matches!(unpaired.base, Presence::Measured)),
        added: names(|unpaired| matches!(unpaired.new, Presence::Measured)),
    }
}

fn changed_group(compared: &PairedGroup, titles: &Titles) -> ChangedGroup {
    let scale = Scale::of_times(&compared.group.key, compared.times());
    ChangedGroup {
        title: titles.title(&compared.group),
        caption: scale.caption(),
        rows: compared.pairs.iter().map(|pair| change(pair, scale)).collect(),
    }
}

fn change(pair: &RowPair, scale: Scale) -> ChangedRow {
    let (base, new) = (&pair.base, &pair.new);
    let verdict = names::verdict(&pair.comparison);
    let shown = |ns: Option<f64>| ns.map_or_else(|| "–".into(), |ns| scale.trip(ns));
    let of = |row: &Row, q| row.percentile(q).map(|figure| figure.value);
    ChangedRow {
        name: names::row(base),
        base: shown(pair.base_ns),
        new: shown(pair.new_ns),
        mean: pair.ratio().map_or_else(|| "–".into(), figure),
        p99: ratio(of(base, 0.99), of(new, 0.99)),
        cpu: ratio(Some(base.cpu_per_message()), Some(new.cpu_per_message())),
        class: definitions::key(verdict),
        verdict: verdict.into(),
    }
}

fn ratio(base: Option<f64>, new: Option<f64>) -> String {
    let ratio = base.zip(new).map(|(base, new)| new / base).filter(|ratio| ratio.is_finite());
    ratio.map_or_else(|| "–".into(), figure)
}
