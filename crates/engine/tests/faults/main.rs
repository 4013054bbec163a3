//! The engine against transports that are wrong on purpose: each costs its own row, with a reason
//! that names the cause, in bounded time, and leaves nothing.
//!
//! Every scenario is played by the process of its test, which has the run's processes as children and
//! finds those that are left.

mod play;
mod scenario;

use std::process::ExitCode;

use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_harness::Test;
use ipcmark_results::{Case, Status};
use libtest_mimic::Failed;

use play::{Interrupt, Outcome, play, registry};
use scenario::{Expected, HANGING, HEALTHY, LONG, SCENARIOS, Scenario};

/// So many at once, for those in which something hangs only wait.
const AT_ONCE: usize = 8;

/// Whether an outcome is as it should be.
type Check = fn(&Outcome) -> Result<(), Failed>;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&registry());
    }
    ipcmark_harness::main_at_once(tests(), AT_ONCE)
}

fn tests() -> Vec<Test> {
    let interrupts: [(&str, &[&str], Interrupt, Check); 2] = [
        ("interrupt", &[HEALTHY, HANGING], Interrupt::During(HANGING), keeps_what_was_measured),
        ("interrupt-at-once", &[HEALTHY], Interrupt::AtOnce, measures_nothing),
    ];
    let places = [("sandbox", true), ("host", false)].into_iter();
    let all = places.flat_map(|(place, sandbox)| {
        let faults = SCENARIOS.iter().map(move |scenario| {
            Test::new(format!("{}/{place}", scenario.name), move || {
                let names = [scenario.name, HEALTHY];
                let outcome = play(&names, sandbox, Interrupt::Never, scenario.timeout());
                scenario.check(&outcome)?;
                outcome.left_nothing()
            })
        });
        faults.chain(interrupts.map(|(name, played, interrupt, check)| {
            Test::new(format!("{name}/{place}"), move || {
                let outcome = play(played, sandbox, interrupt, LONG);
                check(&outcome)?;
                outcome.left_nothing()
            })
        }))
    });
    all.collect()
}

impl Outcome {
    fn left_nothing(&self) -> Result<(), Failed> {
        expect(self.left.is_empty(), format!("it left {:?}", self.left))
    }
}

impl Scenario {
    fn check(&self, outcome: &Outcome) -> Result<(), Failed> {
        let [faulty, healthy] = outcome.result.cases.as_slice() else {
            return Err(format!("there are not two cases: {:?}", outcome.result).into());
        };
        expect(outcome.result.complete, "the result is not complete")?;
        expect(
            healthy.status == Status::Ok,
            format!("the case behind it suffered: {:?}", healthy.reason),
        )?;
        self.expected.check(faulty)
    }
}

impl Expected {
    fn check(&self, case: &Case) -> Result<(), Failed> {
        match (self, &case.figures) {
            (Expected::Failed(words), _) => {
                let reason = case.reason.as_deref().unwrap_or("(none)");
                expect(case.status == Status::Failed, format!("it is {:?}", case.status))?;
                let missing = words.iter().find(|words| !reason.contains(**words));
                expect(missing.is_none(), format!("no '{missing:?}' in the reason: {reason}"))
            }
            (_, None) => Err(format!("it is not measured: {:?}", case.reason).into()),
            (Expected::Measured, Some(figures)) => {
                expect(figures.lost == 0, format!("{} were lost", figures.lost))?;
                expect(figures.round_trips == 1000, format!("{} trips", figures.round_trips))
            }
            // On a busy machine an answer can come so late that it counts as lost.
            (Expected::Lossy(lost), Some(figures)) => {
                expect(figures.lost >= *lost, format!("{} were lost", figures.lost))?;
                let all = figures.round_trips + figures.lost;
                expect(all == 1000, format!("{all} round trips in all"))?;
                let waited = figures.lost_wait_ns >= figures.lost * 100_000_000;
                expect(waited, format!("it waited for {} ns", figures.lost_wait_ns))
            }
        }
    }
}

fn keeps_what_was_measured(outcome: &Outcome) -> Result<(), Failed> {
    let result = &outcome.result;
    expect(!result.complete, "the result says that it is complete")?;
    expect(result.planned_cases == 2, "there are not two planned cases")?;
    let statuses: Vec<_> = result.cases.iter().map(|case| case.status).collect();
    expect(statuses == [Status::Ok], format!("the cases are {statuses:?}"))
}

fn measures_nothing(outcome: &Outcome) -> Result<(), Failed> {
    expect(!outcome.result.complete, "the result says that it is complete")?;
    expect(outcome.result.cases.is_empty(), "something was measured")
}

fn expect(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(Failed::from(otherwise.into())) }
}
