//! The engine against transports that are wrong on purpose: each costs its own row, with a reason
//! that names the cause, in bounded time, and leaves nothing.
//!
//! Every scenario is played by a process of its own, which has the run's processes as children and
//! finds those that are left.

mod fault;
mod faulty;
mod plain;
mod play;
mod scenario;

use std::{
    env,
    io::Read,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_results::{Case, Status};
use libtest_mimic::{Arguments, Failed, Trial};

use play::{Interrupt, Outcome, play, registry};
use scenario::{Expected, HANGING, HEALTHY, SCENARIOS, Scenario};

/// The word by which this executable is told to play a scenario.
const PLAY: &str = "__play";

/// A scenario that takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Whether an outcome is as it should be.
type Check = fn(&Outcome) -> Result<(), Failed>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [KEEPER_COMMAND, ..] => ipcmark_engine::keep(&registry()),
        [PLAY, what, place] => tell(play_word(what, *place == "sandbox")),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn play_word(what: &str, sandbox: bool) -> Outcome {
    match what {
        "interrupt" => play(&[HEALTHY, HANGING], sandbox, Interrupt::During(HANGING)),
        "interrupt-at-once" => play(&[HEALTHY], sandbox, Interrupt::AtOnce),
        name => play(&[name, HEALTHY], sandbox, Interrupt::Never),
    }
}

fn tell(outcome: Outcome) -> ExitCode {
    println!("{}", serde_json::to_string(&outcome).expect("an outcome is plain data"));
    ExitCode::SUCCESS
}

fn trials() -> Vec<Trial> {
    let interrupts: [(_, Check); 2] =
        [("interrupt", keeps_what_was_measured), ("interrupt-at-once", measures_nothing)];
    let places = ["sandbox", "host"].into_iter();
    let all = places.flat_map(|place| {
        let faults = SCENARIOS.iter().map(move |scenario| {
            trial(scenario.name, place, move |outcome| scenario.check(outcome))
        });
        faults.chain(interrupts.map(|(name, check)| trial(name, place, check)))
    });
    all.collect()
}

fn trial(
    name: &'static str,
    place: &'static str,
    check: impl Fn(&Outcome) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::test(format!("{name}/{place}"), move || {
        let outcome = played(name, place)?;
        check(&outcome)?;
        expect(outcome.left.is_empty(), format!("it left {:?}", outcome.left))
    })
}

/// Has a process of its own play the scenario.
fn played(name: &str, place: &str) -> Result<Outcome, Failed> {
    let mut player = Command::new(env::current_exe()?)
        .args([PLAY, name, place])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdout = player.stdout.take().ok_or("it has no standard output")?;
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    await_end(&mut player)?;
    let text = reader.join().map_err(|_| "the reader panicked")??;
    Ok(serde_json::from_str(&text)?)
}

fn await_end(player: &mut Child) -> Result<(), Failed> {
    let deadline = Instant::now() + WATCHDOG;
    loop {
        if let Some(status) = player.try_wait()? {
            return expect(status.success(), format!("the player ended: {status}"));
        }
        if Instant::now() > deadline {
            player.kill()?;
            player.wait()?;
            return Err(format!("it hung for {} s", WATCHDOG.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(10));
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
            (Expected::Lossy(lost), Some(figures)) => {
                expect(figures.lost == *lost, format!("{} were lost", figures.lost))?;
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
