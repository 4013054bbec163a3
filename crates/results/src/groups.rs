//! Rows in groups, each of which is a ranking.

use std::{cmp::Reverse, collections::BTreeMap};

use ipcmark_transport::{Pattern, Span, Wait};

use crate::{
    caveats::is_oversubscribed_by_library,
    model::{Identity, Load, RunResult, Touch},
    rows::{Row, RowRank},
    stats,
};

/// Rows that may be compared with one another, the fastest first unless their payloads differ.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The properties that its rows have in common.
    pub key: GroupKey,
    /// Its rows, at least one.
    pub rows: Vec<Row<'a>>,
}

/// The properties that the rows of a group have in common, in the order of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    /// Shape of the traffic.
    pub pattern: Pattern,
    /// The reach of a message: between processes comes first.
    pub span: Reverse<Span>,
    /// Number of followers.
    pub subscribers: u32,
    /// Number of followers that only listen.
    pub silent_subscribers: u32,
    /// Number of pairs that ran at once.
    pub pairs: u32,
    /// Payload in bytes and the bytes of it that are touched; absent if they make no difference, so that all payloads
    /// are in one group.
    pub payload: Option<(u64, Touch)>,
    /// The way a receiver waits.
    pub wait: Wait,
    /// The way messages are offered.
    pub load: Load,
    /// The ranks between which it was measured, if each two ranks of a job were measured: pairs did not take turns.
    pub between: Option<(u32, u32)>,
}

/// The measured cases of a result, in groups.
pub fn groups(result: &RunResult) -> Vec<Group<'_>> {
    groups_at(result, result.reference_distance())
}

/// The same with the rows compared at this distance.
pub fn groups_at(result: &RunResult, distance: Option<u32>) -> Vec<Group<'_>> {
    let mut found: BTreeMap<GroupKey, Vec<Row>> = BTreeMap::new();
    for row in result.cases.iter().filter_map(|case| Row::of_run(result, case, distance)) {
        found.entry(GroupKey::of(&row.case.identity)).or_default().push(row);
    }
    found.into_iter().map(|(key, rows)| Group { key, rows: sorted(key, rows) }).collect()
}

fn sorted(key: GroupKey, mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| a.order().cmp(&b.order()));
    if key.payload.is_some() {
        rank(&mut rows);
        // A row without a rank at the reference distance comes after those with one.
        rows.sort_by_key(|row| row.rank.map_or(usize::MAX, |rank| rank.number));
    }
    rows
}

/// Ranks every row that has a time, except rows that should sleep and whose messages needed no wake-up, rows that did
/// not hold their rate, and rows whose library takes the processors of its ends; the last are ranked if there are no
/// others.
fn rank(rows: &mut [Row]) {
    let (kept, oversubscribed): (Vec<_>, Vec<_>) = (0..rows.len())
        .filter(|at| !rows[*at].needed_no_wake_up() && rows[*at].not_held().is_none())
        .filter_map(|at| Some((at, rows[at].location()?.value)))
        .partition(|(at, _)| !is_oversubscribed_by_library(&rows[*at]));
    let timed = if kept.is_empty() { oversubscribed } else { kept };
    let numbers = rows.iter().flat_map(|row| row.trials).map(|trial| trial.number).collect();
    let logarithms: Vec<stats::LogTimes> =
        timed.iter().map(|(at, _)| rows[*at].log_locations(&numbers)).collect();
    let name = |at: usize| rows[at].case.identity.transport.clone();
    let candidates: Vec<stats::RankedRow> = timed
        .iter()
        .map(|(at, location)| stats::RankedRow { name: name(*at), location: *location })
        .collect();
    for ranked in stats::rank(&candidates, &logarithms) {
        let (at, _) = timed[ranked.row];
        rows[at].rank = Some(RowRank { number: ranked.rank, shared: ranked.shared });
    }
}

impl GroupKey {
    /// The key of a case with this identity.
    pub fn of(identity: &Identity) -> Self {
        // If the payload is not moved, and only its head is touched, the payload makes no difference.
        let is_unmoved = identity.span == Span::None && identity.touch == Touch::Head;
        Self {
            pattern: identity.pattern,
            span: Reverse(identity.span),
            subscribers: identity.subscribers,
            silent_subscribers: identity.silent_subscribers,
            pairs: identity.pairs,
            payload: (!is_unmoved).then_some((identity.payload_bytes, identity.touch)),
            wait: identity.wait,
            load: identity.load,
            between: identity
                .between
                .as_ref()
                .map(|between| (between.leader.rank, between.follower.rank)),
        }
    }
}
