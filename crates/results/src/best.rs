//! The best rows between processes, for each pattern, each payload and each kind of wait.

use std::cmp::Reverse;

use ipcmark_transport::Span;

use crate::{
    groups::{Group, groups},
    model::RunResult,
    rows::{Figure, Row},
};

/// The best rows of one group.
#[derive(Debug)]
pub struct Best<'a> {
    /// The group.
    pub group: Group<'a>,
    /// The rows of the best rank, at least one, the shortest mean first; the trials do not distinguish them.
    pub fastest: Vec<Row<'a>>,
    /// The row with the lowest p99; none if no row has enough samples for a p99.
    pub steadiest: Option<Row<'a>>,
    /// The row with the least CPU time a message, of those whose ends slept for nearly all messages if they should, and
    /// that held their rate; none if there is none.
    pub cheapest: Option<Row<'a>>,
}

/// The best rows of every group of rows between processes.
pub fn best(result: &RunResult) -> Vec<Best<'_>> {
    let is_asked = |group: &Group| group.key.span == Reverse(Span::Process);
    groups(result).into_iter().filter(is_asked).filter_map(best_of).collect()
}

fn best_of(group: Group) -> Option<Best> {
    let is_first = |row: &&Row| row.rank.is_some_and(|rank| rank.number == 1);
    let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
    let mut fastest: Vec<Row> = group.rows.iter().filter(is_first).copied().collect();
    fastest.sort_by(|a, b| {
        let time = |row: &Row| value(row.location()).unwrap_or(f64::INFINITY);
        time(a).total_cmp(&time(b))
    });
    // A stream has no times of single messages.
    let is_stream = group.key.pattern.is_stream();
    let is_normal = |row: &Row| !row.needed_no_wake_up() && row.not_held().is_none();
    let has_times = |row: &Row| !is_stream && is_normal(row);
    let p99 = |row: &Row| value(row.percentile(0.99)).filter(|_| has_times(row));
    let steadiest = least(&group, p99);
    let has_costs = |row: &Row| is_normal(row) && !row.is_mixed();
    let cheapest = least(&group, |row| Some(row.cpu_per_message()).filter(|_| has_costs(row)));
    (!fastest.is_empty()).then_some(Best { group, fastest, steadiest, cheapest })
}

fn least<'a>(group: &Group<'a>, figure: impl Fn(&Row) -> Option<f64>) -> Option<Row<'a>> {
    let known = group.rows.iter().filter_map(|row| Some((figure(row)?, row)));
    known.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, row)| *row)
}
