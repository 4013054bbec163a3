//! Matches the rows of two sides, each of one or more results.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    groups::GroupKey,
    model::{Between, Case, Identity, RunResult, Status, Touch},
    rows::Row,
};

/// One row on both sides.
pub(crate) struct Matched<'a> {
    pub base: Cases<'a>,
    pub new: Cases<'a>,
}

/// One row in the results of a side.
#[derive(Default)]
pub(crate) struct Cases<'a> {
    /// One entry a result: the row, if it was measured there.
    pub rows: Vec<Option<Row<'a>>>,
    /// A case that was not measured; a failed one, if there is one.
    pub unmeasured: Option<&'a Case>,
}

/// The properties that identify a row in several results. The settings are the subject of most comparisons, so they are
/// included only if one result has a row in several settings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Match<'a> {
    pub key: GroupKey,
    payload: (u64, Touch),
    transport: &'a str,
    /// The same ranks on other hosts are another pair.
    between: Option<&'a Between>,
    settings: Option<String>,
}

impl<'a> Match<'a> {
    fn of(identity: &'a Identity, by_settings: bool) -> Self {
        Self {
            key: GroupKey::of(identity),
            payload: (identity.payload_bytes, identity.touch),
            transport: &identity.transport,
            between: identity.between.as_ref(),
            settings: by_settings.then(|| settings(identity)),
        }
    }
}

fn settings(identity: &Identity) -> String {
    let Identity { options, library_version, placement, .. } = identity;
    format!("{options:?} {library_version:?} {placement:?}")
}

impl<'a> Cases<'a> {
    /// The first measured one.
    pub(crate) fn first(&self) -> Option<Row<'a>> {
        self.rows.iter().flatten().next().copied()
    }

    /// True if a run of the row failed: then the row failed, whatever the other runs did.
    pub(crate) fn has_failed(&self) -> bool {
        self.unmeasured.is_some_and(|case| case.status() == Status::Failed)
    }

    fn add(&mut self, run: usize, case: &'a Case, result: &RunResult) {
        let distance = result.reference_distance();
        self.rows[run] = Row::of(case, distance);
        let is_worse = case.status() == Status::Failed || self.unmeasured.is_none();
        if self.rows[run].is_none() && is_worse {
            self.unmeasured = Some(case);
        }
    }
}

/// All rows of both sides, in the order of their groups.
pub(crate) fn matched<'a>(
    base: &[&'a RunResult],
    new: &[&'a RunResult],
) -> BTreeMap<Match<'a>, Matched<'a>> {
    let by_settings = base.iter().chain(new).any(|result| has_several_settings(result));
    let mut all: BTreeMap<Match, Matched> = BTreeMap::new();
    let (runs, empty) =
        ((base.len(), new.len()), |count| Cases { rows: vec![None; count], unmeasured: None });
    let both = || Matched { base: empty(runs.0), new: empty(runs.1) };
    for (run, result) in base.iter().enumerate() {
        for case in &result.cases {
            let found = all.entry(Match::of(&case.identity, by_settings)).or_insert_with(both);
            found.base.add(run, case, result);
        }
    }
    for (run, result) in new.iter().enumerate() {
        for case in &result.cases {
            let found = all.entry(Match::of(&case.identity, by_settings)).or_insert_with(both);
            found.new.add(run, case, result);
        }
    }
    all
}

/// True if a row of the result differs from another in its settings only.
fn has_several_settings(result: &RunResult) -> bool {
    let mut seen = BTreeSet::new();
    !result.cases.iter().all(|case| seen.insert(Match::of(&case.identity, false)))
}
