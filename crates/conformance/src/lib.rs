//! The suite that every transport must pass, run for each of them by name.
//!
//! It tests the rules of the contract in `ipcmark_transport`: every check runs a leader and a
//! follower in two separate processes, started from the test's executable, and a watchdog ends
//! processes that hang. A crate that offers transports runs it in a test target with `harness = false`:
//!
//! ```no_run
//! # fn transports(_: &mut ipcmark_conformance::Suites) -> Vec<ipcmark_conformance::Suite> { vec![] }
//! fn main() -> std::process::ExitCode {
//!     ipcmark_conformance::main(transports)
//! }
//! ```
//!
//! The name of each test is `TRANSPORT/WAIT/CHECK`. `IPCMARK_CONFORM` selects tests by name; unknown names are
//! an error: `IPCMARK_CONFORM=shm-ring/spin cargo test -p ipcmark-conformance --test native`, or for any kind of
//! transport `make conformance NAME=shm-ring/spin`. A check that a transport cannot run is an ignored test with
//! the reason. So is a check that kills processes of a library, except with one of its waits, another each time:
//! `IPCMARK_TEST_ALL=1`, which `make conformance` sets, runs it with each.
//!
//! A test target runs in its own namespaces, where the system allows them.

mod allocation;
mod check;
pub mod checks;
mod context;
mod end;
mod failure;
mod footprint;
mod pair;
mod part;
mod progress;
mod runner;
mod selection;
mod stamp;
mod suite;
mod traces;
mod worker;

use std::{
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ipcmark_harness::is_drawn;
use ipcmark_transport::{Availability, Definition, Wait};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

pub use check::Check;
pub use failure::Failure;
use selection::TestSelection;
pub use suite::{Suite, Suites};

/// The time limit of a check: far longer than any needs on a busy machine.
pub const WATCHDOG: Duration = Duration::from_secs(180);

/// A function that makes a [`Suite`] of every transport of a crate.
pub type List = fn(&mut Suites) -> Vec<Suite>;

/// The `main` of a test target: runs the checks that the command line selects, for every transport and wait of `list`.
pub fn main(list: List) -> ExitCode {
    if let Some(code) = play_part(list) {
        return code;
    }
    ipcmark_harness::isolate();
    match selection(list(&mut Suites)) {
        Ok(trials) => libtest_mimic::run(&arguments(), trials).exit_code(),
        Err(fault) => {
            eprintln!("conformance: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// The command line's arguments. Libraries mostly wait for one another, so four times as many tests run concurrently
/// as there are processors.
fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads = arguments.test_threads.or(Some(4 * processors));
    arguments
}

/// The selected tests.
fn selection(suites: Vec<Suite>) -> Result<Vec<Trial>, String> {
    let (selection, subjects) = (TestSelection::from_env(), subjects(suites));
    selection.check(subjects.iter().map(|subject| &subject.suite))?;
    let mut trials = trials(subjects);
    trials.retain(|trial| selection.includes(trial.name()));
    selection.are_among(&trials)?;
    Ok(trials)
}

/// Runs a part of a check if this process was started for one. A custom `main` calls it before anything else, with the
/// same list as the checks.
pub fn play_part(list: List) -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (first, words) = words.split_first()?;
    (first == part::WORD).then(|| worker::run(&list(&mut Suites), words))
}

/// Runs one check of one transport with one wait.
pub fn run(suite: &Suite, wait: Wait, check: Check, watchdog: Duration) -> Result<(), Failure> {
    check.run(suite, wait, watchdog)
}

/// A transport and a lock: its tests run one after the other, because some system limits per user are enough for one
/// test only. Transports with fixed names share one lock, because families can share a library.
struct LockedTransport {
    suite: Suite,
    turn: Arc<Mutex<()>>,
}

fn subjects(suites: Vec<Suite>) -> Vec<Arc<LockedTransport>> {
    let fixed_names: Arc<Mutex<()>> = Arc::default();
    let subject = |suite: Suite| {
        let definition = suite.definition();
        let turn = match definition.capabilities.exclusive {
            true => Arc::clone(&fixed_names),
            false => Arc::default(),
        };
        Arc::new(LockedTransport { suite, turn })
    };
    suites.into_iter().map(subject).collect()
}

/// All tests; those of one transport are far apart, so that threads seldom wait for each other.
fn trials(subjects: Vec<Arc<LockedTransport>>) -> Vec<Trial> {
    let kinds = checks::ALL.iter().flat_map(|check| Wait::ALL.iter().map(|wait| (*check, *wait)));
    kinds
        .flat_map(|(check, wait)| subjects.iter().map(move |subject| (check, wait, subject)))
        .filter(|(_, wait, subject)| subject.suite.definition().capabilities.waits.contains(wait))
        .map(|(check, wait, subject)| trial(Arc::clone(subject), wait, check))
        .collect()
}

fn trial(subject: Arc<LockedTransport>, wait: Wait, check: Check) -> Trial {
    let name = format!("{}/{wait}/{}", subject.suite.definition().name, check.name);
    Trial::ignorable_test(name, move || {
        if let Some(reason) = reason_to_skip(&subject.suite, wait, check) {
            return Ok(Completion::ignored_with(reason));
        }
        let _turn = subject.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = run(&subject.suite, wait, check, WATCHDOG);
        if let (Err(failure), true) = (&outcome, check.gets_second_try(subject.suite.definition()))
        {
            eprintln!("once more, for a library may lose a race with a killed peer: {failure}");
            outcome = run(&subject.suite, wait, check, WATCHDOG);
        }
        outcome.map_err(|failure| Failed::from(failure.to_string()))?;
        Ok(Completion::Completed)
    })
}

fn reason_to_skip(suite: &Suite, wait: Wait, check: Check) -> Option<String> {
    match suite.probe() {
        Availability::Unavailable { reason, .. } => Some(reason),
        Availability::Available { .. } => {
            let exempt = check.exempt(suite.definition(), wait);
            exempt.or_else(|| not_drawn(suite.definition(), wait, check)).map(str::to_owned)
        }
    }
}

/// These checks take half of the suite's time, and what they find in a library hardly depends on the wait.
fn not_drawn(definition: &Definition, wait: Wait, check: Check) -> Option<&'static str> {
    let waits = &definition.capabilities.waits;
    let at = waits.iter().position(|one| *one == wait)?;
    let is_drawn = !check.kills
        || suite::is_all_ours(definition)
        || is_drawn((&definition.name, check.name), waits.len(), at);
    (!is_drawn)
        .then_some("this time it runs with another wait; IPCMARK_TEST_ALL=1 runs it with each")
}
