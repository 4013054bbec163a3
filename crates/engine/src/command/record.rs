//! The growing result of a run: rows that cannot be measured, and the results of the others' trials.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant, SystemTime},
};

use ipcmark_machine::placement::{Pinning, Placement};
use ipcmark_results::{
    Blocks, Identity, Measurement, Outcome, PlacedSamples, PlacementPolicy, ReferenceKind,
    RoundRecord, Run, RunResult, SCHEMA,
};
use ipcmark_transport::Wait;

use super::{
    environment,
    measured::{Reports, TrialFacts},
    options::RunOptions,
    pace::Spent,
    plan::{Plan, PlannedRow},
    request::FEWEST_TRIALS,
    round::SlotOutcome,
    row_reports::RowReports,
    sessions::Sessions,
};

/// The share of a processor that a session may use while others are measured. There can be two dozen sessions, and
/// all but one of them wait at any time; the harness's own use is a tenth of this.
const MOST_IDLE: f64 = 0.005;

/// Records the rows of a plan.
#[derive(Clone)]
pub(crate) struct RowRecorder<'a> {
    plan: &'a Plan,
    pub result: RunResult,
    began: Instant,
    /// The identity of each row of the plan.
    identities: Vec<Identity>,
    /// Rows with a failed trial: the row has failed, whatever its other trials bring. Rows that cannot be measured
    /// for want of a sandbox are included.
    failed: BTreeSet<usize>,
    /// Sessions whose library keeps threads awake while others are measured.
    restless: BTreeSet<usize>,
    /// True during the run's final.
    pub is_final: bool,
    /// The samples of each row, trial and round, grouped by their probes.
    samples: BTreeMap<(usize, u32, u32), Vec<PlacedSamples>>,
}

impl<'a> RowRecorder<'a> {
    /// The recorder of a run that begins now.
    pub(crate) fn new(plan: &'a Plan, sessions: &Sessions<'_>) -> Self {
        let RunOptions { command, version, .. } = sessions.options;
        let id = sessions.id;
        let result = RunResult {
            schema: SCHEMA.into(),
            complete: false,
            planned_cases: plan.len() as u64,
            run: Run {
                id: id.to_string(),
                started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
                command: command.clone(),
                version: version.clone(),
                seed: plan.seed,
            },
            time: None,
            environment: Default::default(),
            distances: None,
            rounds: Vec::new(),
            clock: environment::clock(0.0, 0),
            notes: Vec::new(),
            cases: Vec::new(),
        };
        let identities = plan.rows.iter().map(|row| identity(plan, sessions, row)).collect();
        Self {
            plan,
            result,
            began: Instant::now(),
            identities,
            failed: BTreeSet::new(),
            restless: BTreeSet::new(),
            is_final: false,
            samples: BTreeMap::new(),
        }
    }

    /// Adds the times of a round.
    pub(crate) fn add_time(&mut self, spent: Spent) {
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let (setup_ns, turns_ns) = (nanoseconds(spent.setup), nanoseconds(spent.turns));
        let time = self.result.time.get_or_insert_default();
        time.elapsed_ns = nanoseconds(self.began.elapsed());
        time.setup_ns += setup_ns;
        time.turns_ns += turns_ns;
    }

    /// The result in which every row has failed for this reason, except those with a verdict.
    pub(crate) fn all_failed(mut self, reason: &str) -> RunResult {
        for row in 0..self.plan.rows.len() {
            let failed = || Outcome::Failed { reason: reason.into() };
            let outcome = self.plan.rows[row].verdict.clone().unwrap_or_else(failed);
            self.result.record(self.identities[row].clone(), outcome);
        }
        self.result
    }

    /// Records the rows that will not be tried.
    pub(crate) fn record_verdicts(&mut self, sessions: &Sessions<'_>) {
        for row in 0..self.plan.rows.len() {
            if let Some(outcome) = self.plan.rows[row].verdict.clone() {
                self.add(row, outcome);
            } else if let Some(reason) = self.lacks_pairs(row, sessions) {
                self.failed.insert(row);
                self.add(row, Outcome::Unsupported { reason });
            }
        }
    }

    /// The reason why a row cannot have the planned pairs. Only now it is known whether there is a sandbox.
    fn lacks_pairs(&self, row: usize, sessions: &Sessions<'_>) -> Option<String> {
        let planned = &self.plan.sessions[self.plan.rows[row].session];
        (self.plan.pairs > 1).then(|| sessions.refuses_pairs(planned))?
    }

    /// True if a row must be measured in the next trial.
    pub(crate) fn wants(&self, row: usize) -> bool {
        self.plan.rows[row].verdict.is_none() && !self.failed.contains(&row)
    }

    /// Records the outcome of a round's slot.
    pub(crate) fn record(
        &mut self,
        trial: u32,
        outcome: SlotOutcome,
        sessions: &Sessions<'_>,
        placements: &[Placement],
    ) {
        let round = self.result.rounds.len() as u32;
        let (reference, blocks, reference_woken_share) =
            reference(outcome.reference, &outcome.wait);
        let SlotOutcome { conditions, hiccups, .. } = outcome;
        self.result.rounds.push(RoundRecord {
            number: round,
            trial,
            is_final: self.is_final,
            reference,
            blocks,
            reference_woken_share,
            conditions,
            hiccups,
        });
        let beside_others = outcome.rows.len() > 1;
        for (row, outcome) in outcome.rows {
            let measured = outcome.and_then(|reports| {
                self.measured(trial, round, row, reports, sessions, placements)
            });
            if let (true, Ok(Outcome::Ok { measurement })) = (beside_others, &measured) {
                self.watch(row, measurement);
            }
            let outcome = measured.unwrap_or_else(|reason| {
                self.failed.insert(row);
                Outcome::Failed { reason: in_trial(trial, reason) }
            });
            self.add(row, outcome);
        }
    }

    /// True if this session's library disturbs sessions beside it.
    pub(crate) fn is_restless(&self, session: usize) -> bool {
        self.restless.contains(&session)
    }

    /// Finds libraries that keep threads awake while others are measured.
    fn watch(&mut self, row: usize, measurement: &Measurement) {
        let session = self.plan.rows[row].session;
        let idle_share =
            measurement.sessions().map(|session| session.idle_share).fold(0.0, f64::max);
        if idle_share > MOST_IDLE {
            self.restless.insert(session);
        }
    }

    fn note_restless(&mut self) {
        if self.restless.is_empty() {
            return;
        }
        let name = |session: &usize| {
            let row = self.plan.rows.iter().position(|row| row.session == *session)?;
            let Identity { transport, wait, .. } = &self.identities[row];
            Some(format!("{transport} {wait}"))
        };
        let names: Vec<String> = self.restless.iter().filter_map(name).collect();
        self.result.notes.push(format!(
            "These used more than {} % of a processor while they waited for their turns, and were measured alone from \
             then on: {}.",
            100.0 * MOST_IDLE,
            names.join(", ")
        ));
    }

    /// The result so far, as [`finish`](Self::finish) would place it, but without its samples, because means do not
    /// need them.
    fn placed(&self, distance: Option<Duration>) -> RunResult {
        let mut result = self.result.clone();
        let _ = ipcmark_results::place(&mut result, &BTreeMap::new());
        refer(&mut result, distance);
        result
    }

    /// The number of rows whose interval is wider than that at the distance at which rows are compared, or that have
    /// none.
    pub(crate) fn wider_than(&self, half_width: f64, distance: Option<Duration>) -> usize {
        ipcmark_results::wider_than(&self.placed(distance), half_width)
    }

    /// The rows with these identities that can be measured again.
    pub(crate) fn rows_of(&self, wanted: &[Identity]) -> BTreeSet<usize> {
        let rows = 0..self.identities.len();
        rows.filter(|row| wanted.contains(&self.identities[*row]) && self.wants(*row)).collect()
    }

    /// The rows that have enough trials, but too few with a result at the distance at which rows are compared: the
    /// one nearest to `distance` if given.
    pub(crate) fn thin(&self, distance: Option<Duration>) -> BTreeSet<usize> {
        let result = self.placed(distance);
        let thin = ipcmark_results::thin(&result, FEWEST_TRIALS as usize);
        let rows = 0..self.identities.len();
        rows.filter(|row| thin.contains(&&self.identities[*row]) && self.wants(*row)).collect()
    }

    /// Ends the recording: places the measurements at the distances of their probes. Rows are compared at the
    /// distance nearest to `distance`, a floor round trip; by default, at the one with most blocks.
    pub(crate) fn finish(mut self, distance: Option<Duration>) -> RunResult {
        let cases = self.result.cases.iter().map(|case| &case.identity);
        let places: Vec<&Identity> = cases.collect();
        let samples = std::mem::take(&mut self.samples);
        let by_case = samples.into_iter().filter_map(|((row, trial, round), samples)| {
            let identity = &self.identities[row];
            let case = places.iter().position(|known| *known == identity)?;
            Some(((case, trial, round), samples))
        });
        let by_case = by_case.collect();
        if let Err(cause) = ipcmark_results::place(&mut self.result, &by_case) {
            self.result.notes.push(format!("No figure is placed at a distance: {cause}."));
        }
        refer(&mut self.result, distance);
        self.note_restless();
        self.note_awake();
        self.result
    }

    /// Names the rows of which some blocks do not count, because their ends did not sleep.
    fn note_awake(&mut self) {
        let mut rows: BTreeMap<String, f64> = BTreeMap::new();
        for case in &self.result.cases {
            let Some(share) = ipcmark_results::awake_share(case.trials()) else { continue };
            if share.blocks > 0.0 && !share.is_most() {
                let most = rows.entry(case.identity.transport.clone()).or_default();
                *most = most.max(share.blocks);
            }
        }
        if rows.is_empty() {
            return;
        }
        let names: Vec<String> =
            rows.iter().map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
        self.result.notes.push(format!(
            "With block, answers sometimes came before the other end slept. Blocks in which most did count in CPU/msg \
            and switches/msg only, and make these smaller: at most {}.",
            names.join(", ")
        ));
    }

    fn add(&mut self, row: usize, outcome: Outcome) {
        self.result.record(self.identities[row].clone(), outcome);
    }

    fn measured(
        &mut self,
        trial: u32,
        round: u32,
        row: usize,
        reports: RowReports,
        sessions: &Sessions<'_>,
        placements: &[Placement],
    ) -> Result<Outcome, String> {
        let identity = &self.identities[row];
        let planned = &self.plan.sessions[self.plan.rows[row].session];
        let transport = sessions.registry[planned.transport].as_ref();
        let circumstances = TrialFacts {
            number: trial,
            round,
            pattern: identity.pattern,
            n_sends: identity.n_sends,
            messages_per_publication: identity.messages_per_publication(),
            placements,
            declared: transport.definition().carrier.of(self.plan.rows[row].slot.payload),
            span: identity.span,
            sandboxed: sessions.sandbox,
            apart: sessions.are_apart(),
            payload: self.plan.rows[row].slot.payload,
            load: identity.load,
        };
        let reports = Reports::of(reports)?;
        self.samples.insert((row, trial, round), reports.placed_samples());
        Ok(Outcome::Ok { measurement: reports.measurement(&circumstances)? })
    }
}

/// Levels that differ by less are one distance.
const LIKE: f64 = 1.5;

/// Makes the given distance, if any, the one at which rows are compared, or the nearest to it.
fn refer(result: &mut RunResult, distance: Option<Duration>) {
    let (Some(distances), Some(wanted)) = (&mut result.distances, distance) else { return };
    let wanted_ns = wanted.as_nanos() as f64;
    distances.refer_to(wanted_ns);
    let reference = distances.reference.and_then(|at| distances.all.get(at as usize));
    let Some(floor_ns) = reference.map(|reference| reference.floor_round_trip_ns) else { return };
    if !(wanted_ns / LIKE..=wanted_ns * LIKE).contains(&floor_ns) {
        result.notes.push(format!(
            "The processors were never at a distance of about {wanted_ns:.0} ns: rows are compared at {floor_ns:.0} ns, \
            the nearest."
        ));
    }
}

/// The reason of a failure. A row that has been measured before names the trial in which it failed.
fn in_trial(trial: u32, reason: String) -> String {
    if trial == 1 { reason } else { format!("in trial {trial}: {reason}") }
}

/// The kind of the reference, its blocks, and the share of its messages that came when a processor had gone idle.
fn reference(
    reports: Option<RowReports>,
    wait: &Wait,
) -> (Option<ReferenceKind>, Blocks, Option<f64>) {
    let Some(Ok(reports)) = reports.map(Reports::of) else {
        return (None, Blocks::default(), None);
    };
    let kind = if *wait == Wait::Spin { ReferenceKind::Copy } else { ReferenceKind::Wake };
    (Some(kind), reports.blocks(), reports.woken_share())
}

/// The identity of a row.
fn identity(plan: &Plan, sessions: &Sessions<'_>, row: &PlannedRow) -> Identity {
    let session = &plan.sessions[row.session];
    let definition = sessions.registry[session.transport].definition();
    Identity {
        transport: definition.name.to_string(),
        family: definition.family.to_string(),
        library_version: session.library_version.clone(),
        pattern: row.slot.pattern,
        payload_bytes: row.slot.payload as u64,
        wait: session.wait,
        touch: row.slot.touch,
        load: row.slot.load,
        span: definition.capabilities.span,
        subscribers: plan.subscribers,
        silent_subscribers: plan.silent,
        pairs: plan.pairs,
        between: None,
        n_sends: sessions.sends_to_each(session, row.slot.pattern),
        options: session.options.clone(),
        placement: policy(&sessions.options.pinning),
    }
}

fn policy(pinning: &Pinning) -> PlacementPolicy {
    match pinning {
        Pinning::Auto => PlacementPolicy::Auto,
        Pinning::Cpus(cpus) => PlacementPolicy::Cpus(cpus.clone()),
        Pinning::Near(nearness) => PlacementPolicy::Near(nearness.as_str().into()),
        Pinning::EachLevel => PlacementPolicy::All,
        Pinning::Off => PlacementPolicy::Off,
    }
}
