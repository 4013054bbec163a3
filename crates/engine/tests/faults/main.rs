//! The engine with deliberately faulty transports: each fault costs its own row, with a reason that names the
//! cause, in bounded time, and leaves nothing. The rows that take turns with it are measured completely.
//!
//! Each test's own process plays its scenario: the run's processes are its children, so it finds those that are
//! left.

mod play;
mod scenario;

use std::process::ExitCode;

use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_harness::Test;
use ipcmark_results::{Case, Status, Trial};
use libtest_mimic::Failed;

use play::{Interrupt, Outcome, TRIALS, play, registry};
use scenario::{AT_DIFFERENT_MOMENTS, Expected, HANGING, HEALTHY, LONG, SCENARIOS, round_trips};

/// The number of scenarios at once: those with a hang only wait.
const AT_ONCE: usize = 16;

/// A check of an outcome.
type Check = fn(&Outcome) -> Result<(), Failed>;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&registry());
    }
    ipcmark_harness::main_at_once(tests(), AT_ONCE)
}

/// Each test in a sandbox and without one.
const PLACES: [(&str, bool); 2] = [("sandbox", true), ("host", false)];

fn tests() -> Vec<Test> {
    let faults = SCENARIOS.iter().flat_map(|scenario| {
        PLACES.map(|(place, sandbox)| {
            Test::new(format!("{}/{place}", scenario.name), move || {
                let names = [scenario.name, HEALTHY];
                let outcome = play(&names, sandbox, Interrupt::Never, scenario.timeout());
                check(&names, &outcome)
            })
        })
    });
    let several = PLACES.map(|(place, sandbox)| {
        Test::new(format!("several-in-one-round/{place}"), move || {
            let names = [&AT_DIFFERENT_MOMENTS[..], &[HEALTHY]].concat();
            check(&names, &play(&names, sandbox, Interrupt::Never, LONG))
        })
    });
    let interrupts = INTERRUPTS.into_iter().flat_map(|(name, transport, interrupt, check)| {
        PLACES.map(|(place, sandbox)| {
            Test::new(format!("{name}/{place}"), move || {
                let outcome = play(&[transport], sandbox, interrupt, LONG);
                expect(!outcome.result.complete, "the result says that it is complete")?;
                check(&outcome)?;
                outcome.left_nothing()
            })
        })
    });
    faults.chain(several).chain(interrupts).collect()
}

/// The interrupted transports, the moments of the interrupts, and the checks of their outcomes.
const INTERRUPTS: [(&str, &str, Interrupt, Check); 3] = [
    ("interrupt", HEALTHY, Interrupt::AfterATrial, keeps_measured_rows),
    ("interrupt-during-a-hang", HANGING, Interrupt::Measuring, measures_nothing),
    ("interrupt-at-once", HEALTHY, Interrupt::AtOnce, measures_nothing),
];

/// Checks that every scenario of a round has its expected outcome, and that the healthy transport beside them is
/// measured.
fn check(names: &[&str], outcome: &Outcome) -> Result<(), Failed> {
    let result = &outcome.result;
    expect(result.complete, "the result is not complete")?;
    expect(result.cases.len() == names.len(), format!("it has other cases: {result:?}"))?;
    let count = round_trips(names);
    for name in names {
        let case = result.cases.iter().find(|case| case.identity.transport == **name);
        let case = case.ok_or_else(|| format!("{name} has no case"))?;
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == *name);
        let expected = scenario.map_or(&Expected::Measured, |scenario| &scenario.expected);
        expected
            .check(case, count)
            .map_err(|failed| format!("{name}: {}", failed.message().unwrap_or_default()))?;
    }
    outcome.left_nothing()
}

impl Outcome {
    fn left_nothing(&self) -> Result<(), Failed> {
        expect(self.left.is_empty(), format!("it left {:?}", self.left))
    }
}

impl Expected {
    /// Checks the outcome of a row of `count` round trips.
    fn check(&self, case: &Case, count: u64) -> Result<(), Failed> {
        match (self, case.trials()) {
            (Expected::Failed(words), _) => {
                let reason = case.reason().unwrap_or("(none)");
                expect(case.status() == Status::Failed, format!("it is {}", case.status()))?;
                let missing = words.iter().find(|words| !reason.contains(**words));
                expect(missing.is_none(), format!("no '{missing:?}' in the reason: {reason}"))
            }
            (Expected::Measured, [trial]) => {
                is_whole(trial, count)?;
                let losses = &trial.session.losses;
                expect(losses.lost == 0 && losses.received == losses.sent, format!("{losses:?}"))?;
                let traffic = traffic(trial);
                expect(traffic == [(losses.sent, losses.sent); 2], format!("ends had {traffic:?}"))
            }
            // On a busy machine an answer can come so late that it counts as lost.
            (Expected::Lossy(lost), [trial]) => {
                is_whole(trial, count)?;
                let losses = &trial.session.losses;
                expect(losses.lost >= *lost, format!("{losses:?}"))?;
                let waited = trial.lost_wait_ns >= losses.lost * 100_000_000;
                expect(waited, format!("it waited for {} ns", trial.lost_wait_ns))?;
                // In whichever direction a message was lost, the leader misses an answer.
                let (leader, follower) = (traffic(trial)[0], traffic(trial)[1]);
                let in_time = losses.received + losses.late;
                expect(leader == (losses.sent, in_time), format!("{leader:?}, {losses:?}"))?;
                let answered = follower.0 == follower.1 && follower.1 >= losses.received;
                expect(answered, format!("{follower:?}, {losses:?}"))
            }
            (Expected::LossyStream, [trial]) => {
                let losses = &trial.session.losses;
                let adds_up = losses.lost > 0 && losses.received + losses.lost == losses.sent;
                expect(adds_up && trial.lost_wait_ns == 0, format!("{losses:?}"))?;
                expect(trial.stream.is_some(), "it is no stream")
            }
            (_, trials) => {
                let (number, reason) = (trials.len(), case.reason());
                Err(format!("it has {number} trials: {reason:?}").into())
            }
        }
    }
}

/// Checks that every turn of the row was measured: all samples are there, and further round trips in clock-free
/// blocks.
fn is_whole(trial: &Trial, count: u64) -> Result<(), Failed> {
    let blocks = &trial.blocks;
    let of = |clock_free: bool| -> u64 {
        let kind = (0..blocks.len()).filter(|at| blocks.clock_free[*at] == clock_free);
        kind.map(|at| blocks.events[at]).sum()
    };
    let (sampled, clock_free) = (of(false), of(true));
    let samples = trial.times_ns.count;
    expect(samples == count && sampled == count, format!("{sampled} {samples} of {count}"))?;
    expect(clock_free > 0 && blocks.turn.is_sorted(), format!("{clock_free}: {blocks:?}"))?;
    let losses = &trial.session.losses;
    expect(losses.sent > sampled + clock_free, format!("{sampled} {clock_free}: {losses:?}"))
}

/// The messages that each endpoint published and took.
fn traffic(trial: &Trial) -> Vec<(u64, u64)> {
    let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
    ends.map(|end| (end.sent, end.received)).collect()
}

fn keeps_measured_rows(outcome: &Outcome) -> Result<(), Failed> {
    let [case] = &outcome.result.cases[..] else { return Err("there is not one case".into()) };
    let trials = case.trials().len();
    expect(
        (1..TRIALS as usize).contains(&trials),
        format!("{trials} trials: {:?}", case.reason()),
    )?;
    let is_placed = outcome.result.distances.is_some();
    expect(is_placed, "what was measured is not placed at the distances of its probes")
}

fn measures_nothing(outcome: &Outcome) -> Result<(), Failed> {
    expect(outcome.result.cases.is_empty(), "something was measured")
}

fn expect(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(Failed::from(otherwise.into())) }
}
