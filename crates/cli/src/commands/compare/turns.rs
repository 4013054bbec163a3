//! Two plans measured in turns: pairs of trials, A B B A, each trial in fresh sessions.

use std::{
    collections::BTreeSet,
    process::ExitCode,
    time::{Duration, Instant},
};

use ipcmark_engine::{Length, Observer, Plan};
use ipcmark_report::ComparedSides;
use ipcmark_results::{Change, RunResult, Status, UnpairedRow, compare_pairs};
use ipcmark_transport::Error;

use super::{
    arguments::CompareArguments,
    rows::{self, RowKey},
    shown::{has_failed, show},
    side::{self, PlanSide},
};
use crate::{
    definition::{CommandOutcome, Invocation},
    interrupts::Interrupts,
    output,
    progress::ProgressLine,
};

/// The fewest pairs: with fewer, even equal signs of all pairs do not show a difference.
const FEWEST_PAIRS: u32 = 8;

/// The number of pairs to fit into the budget, unless the user sets a trial's length.
const USUAL_PAIRS: u32 = 16;

/// The default time for everything.
const BUDGET: Duration = Duration::from_secs(120);

/// The shortest and longest default measurement of a row in a trial.
const LENGTHS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];

/// The expected time of a trial per measured time, with probes, starts and checks.
const EXPECTED_FACTOR: u32 = 2;

pub(super) fn compare(arguments: &CompareArguments, invocation: &Invocation<'_>) -> CommandOutcome {
    let sides = side::read([&arguments.base, &arguments.new], invocation.flags)?;
    let shared = shared(&sides)?;
    for side in sides.iter().filter(|side| !side.unused.is_empty()) {
        let keys = side.unused.join(", ");
        output::say(format_args!("ignored keys of the plan {}: {keys}", side.name));
    }
    let done = measured(arguments, &sides, &shared).unwrap_or_else(output::failed);
    Ok(sides.iter().fold(done, |done, side| side.transports.status(done)))
}

/// The rows that both plans can measure.
fn shared(sides: &[PlanSide; 2]) -> Result<BTreeSet<RowKey>, String> {
    let keys = |side: &PlanSide| -> BTreeSet<RowKey> {
        rows::keys(&side.plan, &side.transports.registry).into_iter().collect()
    };
    let [base, new] = sides;
    if keys(base).is_disjoint(&keys(new)) {
        return Err(format!(
            "cannot compare {} with {}: they have no row in common; rows match by transport, pattern, payload, load, \
             touch, wait and followers",
            base.name, new.name
        ));
    }
    let measurable = |side: &PlanSide| rows::measurable(&side.plan, &side.transports.registry);
    Ok(&measurable(base) & &measurable(new))
}

fn measured(
    arguments: &CompareArguments,
    sides: &[PlanSide; 2],
    shared: &BTreeSet<RowKey>,
) -> Result<ExitCode, Error> {
    let interrupts = Interrupts::catch()?;
    let mut turns = PairedMeasurement::new(arguments, sides, &interrupts);
    turns.plan(shared.len());
    let first = turns.measure(shared.clone(), |plan, side| {
        rows::restrict(plan, &side.transports.registry, shared);
    })?;
    let wanted_ns = side::distance_ns(sides);
    let mut change = first.change(wanted_ns);
    let different: BTreeSet<RowKey> = change
        .pairs()
        .filter(|pair| pair.differs())
        .map(|pair| RowKey::of_identity(&pair.new.case.identity))
        .collect();
    turns.most_pairs = turns.most_pairs.min(first.pairs().max(FEWEST_PAIRS));
    let second = turns.measure(different.clone(), |plan, side| {
        rows::retain(plan, &side.transports.registry, &different);
    })?;
    // Confirmed where it was found, also if most of the fresh blocks are elsewhere.
    change.confirm(&second.change(wanted_ns.or(change.floor_ns)));
    turns.observer.progress.clear();
    Ok(conclude(arguments, sides, &change, &first, &interrupts))
}

fn conclude(
    arguments: &CompareArguments,
    sides: &[PlanSide; 2],
    change: &Change,
    first: &Results,
    interrupts: &Interrupts,
) -> ExitCode {
    let mut notes = first.notes();
    if interrupts.signal().is_some() {
        notes
            .push("Interrupted: differences that were not measured twice are not reported.".into());
    }
    let [base, new] = sides.each_ref().map(|side| side.name.clone());
    let shown = show(&ComparedSides { change, base, new, notes }, arguments.format);
    if interrupts.signal().is_some() {
        return interrupts.exit_status();
    }
    let failed = |alone: &UnpairedRow| has_failed(&alone.base) || has_failed(&alone.new);
    let is_lacking =
        change.unpaired.iter().any(failed) || sides.iter().any(PlanSide::lacks_named_transports);
    if is_lacking { ExitCode::FAILURE } else { shown }
}

/// The results of both sides, one per trial; those with the same index are a pair.
#[derive(Default)]
struct Results([Vec<RunResult>; 2]);

impl Results {
    fn pairs(&self) -> u32 {
        self.0[0].len().min(self.0[1].len()) as u32
    }

    /// The change over the pairs that both sides have, at the distance nearest to this bare round trip if given.
    fn change(&self, wanted_ns: Option<f64>) -> Change<'_> {
        let pairs = self.pairs() as usize;
        let [base, new] = self.0.each_ref().map(|side| side[..pairs].iter().collect::<Vec<_>>());
        compare_pairs(&base, &new, wanted_ns)
    }

    /// The notes about the machine, each once.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for note in self.0.iter().filter_map(|side| side.first()).flat_map(|first| &first.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }

    /// The rows that failed in the last trial.
    fn failed(&self) -> BTreeSet<RowKey> {
        let cases = self.0.iter().filter_map(|side| side.last()).flat_map(|last| &last.cases);
        let failed = cases.filter(|case| case.status() == Status::Failed);
        failed.map(|case| RowKey::of_identity(&case.identity)).collect()
    }
}

/// Measures both sides in turns.
struct PairedMeasurement<'a> {
    sides: &'a [PlanSide; 2],
    interrupts: &'a Interrupts,
    observer: TurnObserver,
    /// The pairs of each of the two measurements, if given.
    given_pairs: Option<u32>,
    most_pairs: u32,
    budget: Duration,
    /// The length of a row's measurement in a trial, unless a plan sets it.
    length: Length,
    /// The number of the next pair: no two pairs have the same order.
    next: u32,
    began: Instant,
}

impl<'a> PairedMeasurement<'a> {
    fn new(
        arguments: &CompareArguments,
        sides: &'a [PlanSide; 2],
        interrupts: &'a Interrupts,
    ) -> Self {
        let budget = arguments.budget.unwrap_or(BUDGET);
        let expected = arguments.pairs.map(|pairs| 2 * pairs);
        Self {
            sides,
            interrupts,
            observer: TurnObserver::new(budget, expected),
            given_pairs: arguments.pairs,
            most_pairs: arguments.pairs.unwrap_or(u32::MAX),
            budget,
            length: Length::Time(LENGTHS[1]),
            next: 1,
            began: Instant::now(),
        }
    }

    /// Chooses the length of each row's measurement in a trial. Half of the budget is for the second
    /// measurement.
    fn plan(&mut self, rows: usize) {
        let turns = 2 * USUAL_PAIRS * EXPECTED_FACTOR * rows.max(1) as u32;
        let [least, most] = LENGTHS;
        let time = if self.given_pairs.is_some() { most } else { self.budget / 2 / turns };
        self.length = Length::Time(time.clamp(least, most));
    }

    /// Measures pairs of these rows until there are enough or the time is over. A row that fails is not retried.
    fn measure(
        &mut self,
        mut wanted: BTreeSet<RowKey>,
        prepare: impl Fn(&mut Plan, &PlanSide),
    ) -> Result<Results, Error> {
        let mut plans = self.sides.each_ref().map(|side| {
            let mut plan = side.plan.clone();
            prepare(&mut plan, side);
            plan.length = plan.length.or(Some(self.length));
            plan
        });
        let until = if self.next == 1 { self.budget / 2 } else { self.budget };
        let (mut results, mut longest) = (Results::default(), Duration::ZERO);
        // If nothing can be measured, one pair gives the reasons.
        let is_first = self.next == 1;
        while (is_first && results.pairs() == 0) || !wanted.is_empty() {
            let enough = self.given_pairs.unwrap_or(FEWEST_PAIRS).min(self.most_pairs);
            let is_late = self.began.elapsed() + longest > until;
            let pairs = results.pairs();
            if pairs >= self.most_pairs || (pairs >= enough && is_late) {
                break;
            }
            let began = Instant::now();
            self.pair(&mut plans, &mut results)?;
            longest = longest.max(began.elapsed());
            if self.interrupts.signal().is_some() {
                break;
            }
            let failed = results.failed();
            if !failed.is_empty() {
                wanted = &wanted - &failed;
                for (plan, side) in plans.iter_mut().zip(self.sides) {
                    rows::retain(plan, &side.transports.registry, &wanted);
                }
            }
        }
        Ok(results)
    }

    /// Measures one pair: A B, or B A if the last was A B. Both use the same order of rows and the same
    /// placement.
    fn pair(&mut self, plans: &mut [Plan; 2], results: &mut Results) -> Result<(), Error> {
        let order = if self.next % 2 == 1 { [0, 1] } else { [1, 0] };
        for side in order {
            plans[side].first_trial = self.next;
            let PlanSide { transports, request, name, .. } = &self.sides[side];
            transports.export_to_children();
            self.observer.begin(self.next, name);
            let (options, interrupt) = (&request.options, &self.interrupts.readable);
            let registry = &transports.registry;
            let result =
                ipcmark_engine::run(registry, &plans[side], options, interrupt, &mut self.observer);
            results.0[side].push(result?);
            if self.interrupts.signal().is_some() {
                break;
            }
        }
        self.next += 1;
        Ok(())
    }
}

/// Shows the progress of the comparison.
struct TurnObserver {
    progress: ProgressLine,
    began: Instant,
    budget: Duration,
    /// Trials of each side, if given.
    expected: Option<u32>,
    pair: u32,
    side: String,
}

impl TurnObserver {
    fn new(budget: Duration, expected: Option<u32>) -> Self {
        let (progress, began) = (ProgressLine::new(), Instant::now());
        Self { progress, began, budget, expected, pair: 0, side: String::new() }
    }

    /// A trial of this pair begins.
    fn begin(&mut self, pair: u32, side: &str) {
        (self.pair, self.side) = (pair, side.into());
    }

    fn done(&self) -> f64 {
        match self.expected {
            Some(pairs) => f64::from(self.pair - 1) / f64::from(pairs),
            None => (self.began.elapsed().as_secs_f64() / self.budget.as_secs_f64()).min(1.0),
        }
    }
}

impl Observer for TurnObserver {
    fn begun(&mut self, _: &RunResult) {}

    fn progress(&mut self, what: &str, _: f64) {
        let done = self.done();
        self.progress.show(&format!("pair {}, {}: {what}", self.pair, self.side), done);
    }

    fn recorded(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
}
