//! The results of all pairs, joined into one.

use std::collections::{BTreeMap, BTreeSet};

use ipcmark_results::{Between, Case, Environment, Identity, Outcome, RankPlace, RunResult};

use super::super::rounds::RankPair;

/// The results so far.
pub(super) struct GatheredResults {
    /// The result of a pair of which all rows failed.
    planned: RunResult,
    hosts: Vec<String>,
    joined: Option<RunResult>,
    known: BTreeSet<RankPair>,
    /// The notes, each with its pairs.
    notes: BTreeMap<String, Vec<RankPair>>,
}

impl GatheredResults {
    /// An empty collection. `hosts` has the host name of each rank.
    pub(super) fn new(planned: RunResult, hosts: Vec<String>) -> Self {
        Self { planned, hosts, joined: None, known: BTreeSet::new(), notes: BTreeMap::new() }
    }

    /// Adds a pair: its result, and the reason if that is incomplete.
    pub(super) fn add(&mut self, pair: RankPair, found: Option<RunResult>, reason: Option<&str>) {
        let is_whole = found.as_ref().is_some_and(|result| result.complete);
        let mut result =
            found.unwrap_or_else(|| RunResult { cases: Vec::new(), ..self.planned.clone() });
        let reason = reason.unwrap_or("its pair has ended before it was measured");
        let missing: Vec<Case> =
            self.planned.cases.iter().filter(|case| !has(&result, case)).cloned().collect();
        result.cases.extend(missing.into_iter().map(|case| failed(case, reason)));
        result.complete = is_whole;
        let between = self.between(pair);
        for case in &mut result.cases {
            case.identity.between = Some(between.clone());
        }
        for note in std::mem::take(&mut result.notes) {
            self.notes.entry(note).or_default().push(pair);
        }
        self.known.insert(pair);
        self.join(result);
    }

    fn join(&mut self, result: RunResult) {
        let Some(joined) = &mut self.joined else {
            self.joined = Some(result);
            return;
        };
        // The first pair may have failed before its machine was known.
        if joined.environment == Environment::default() {
            joined.environment = result.environment.clone();
            joined.clock = result.clock.clone();
        }
        joined.join(result);
    }

    fn between(&self, (leader, follower): RankPair) -> Between {
        let place = |rank: u32| RankPlace { rank, host: self.hosts[rank as usize].clone() };
        Between { leader: place(leader), follower: place(follower) }
    }

    fn all(&self) -> Vec<RankPair> {
        let count = self.hosts.len() as u32;
        (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect()
    }

    /// The result so far, without the pairs that were not measured yet.
    pub(super) fn so_far(&self) -> RunResult {
        let pairs = self.all().len();
        let none = || RunResult { cases: Vec::new(), ..self.planned.clone() };
        let mut result = self.joined.clone().unwrap_or_else(none);
        result.planned_cases = (pairs * self.planned.cases.len()) as u64;
        result.complete &= self.known.len() == pairs;
        result.notes = self.notes.iter().map(|(note, pairs)| self.whose(note, pairs)).collect();
        // Rows are in the order of their pairs, not of their measurement.
        result.cases.sort_by_key(|case| case.identity.between.clone());
        result
    }

    /// The final result: rows of pairs that were not reached have failed for this reason.
    pub(super) fn finish(mut self, reason: &str) -> RunResult {
        for pair in self.all() {
            if !self.known.contains(&pair) {
                self.add(pair, None, Some(reason));
            }
        }
        self.so_far()
    }

    /// A note, preceded by its pairs if not all pairs have it.
    fn whose(&self, note: &str, pairs: &[RankPair]) -> String {
        const NAMED: usize = 3;
        if pairs.len() == self.known.len() {
            return note.into();
        }
        let name = |pair: &RankPair| {
            let Between { leader, follower } = self.between(*pair);
            format!("{leader} – {follower}")
        };
        let named: Vec<String> = pairs.iter().take(NAMED).map(name).collect();
        match pairs.len().saturating_sub(NAMED) {
            0 => format!("{}: {note}", named.join(", ")),
            more => format!("{} and {more} more pairs: {note}", named.join(", ")),
        }
    }
}

/// True if a result has the row of a planned case, for any version of the library.
fn has(result: &RunResult, planned: &Case) -> bool {
    result.cases.iter().any(|case| row(&case.identity) == row(&planned.identity))
}

fn row(identity: &Identity) -> impl PartialEq + '_ {
    let Identity { transport, pattern, payload_bytes, wait, touch, load, options, .. } = identity;
    (transport, pattern, payload_bytes, wait, touch, load, options)
}

/// A planned case without a result has failed; one that could not have been measured keeps its
/// reason.
fn failed(case: Case, reason: &str) -> Case {
    match case.outcome {
        Outcome::Failed { .. } => {
            Case { outcome: Outcome::Failed { reason: reason.into() }, ..case }
        }
        _ => case,
    }
}
