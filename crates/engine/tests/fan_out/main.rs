//! One leader and several followers, each a process: every answer counts, and a mistake is found.

mod broadcast;

use std::{os::unix::net::UnixStream, process::ExitCode, time::Duration};

use broadcast::{Broadcast, Fault};
use ipcmark_engine::{
    Budget, KEEPER_COMMAND, Observer, Pinning, Plan, PlanRequest, PlannedCase, PlannedSession,
    Register, Registry, RunOptions, Touch,
};
use ipcmark_harness::Test;
use ipcmark_results::{Case, RunResult, Status};
use ipcmark_transport::{Collect, Error, Pattern, Span};
use libtest_mimic::Failed;

const ROUND_TRIPS: u64 = 1000;

/// The transport that never reaches its last follower.
const FORGETS_ONE: &str = "forgets-one";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&registry());
    }
    ipcmark_harness::main(vec![
        Test::new("every_follower_answers_every_message", every_follower_answers),
        Test::new("lost_answers_are_counted_for_whom_they_miss", lost_answers_are_counted),
        Test::new("a_silent_follower_gets_everything_and_answers_nothing", silent_follower),
        Test::new("an_answer_that_comes_twice_fails_the_case", repeats),
        Test::new("a_follower_that_is_never_reached_fails_the_case", forgets_one),
        Test::new("ends_are_processes_unless_they_stay_within_one", processes),
        Test::new("more_followers_than_it_has_are_unsupported", too_many),
    ])
}

fn registry() -> Registry {
    let mut collect = Register;
    vec![
        collect.item(Broadcast::new("right", Fault::Nothing, Span::Process)),
        collect.item(Broadcast::new("threads", Fault::Nothing, Span::Thread)),
        collect.item(Broadcast::new("loses", Fault::Loses, Span::Process)),
        collect.item(Broadcast::new("repeats", Fault::Repeats, Span::Process)),
        collect.item(Broadcast::new(FORGETS_ONE, Fault::ForgetsOne, Span::Process)),
    ]
}

fn measure(name: &str, subscribers: u32) -> Case {
    measure_with(name, subscribers, 0)
}

fn measure_with(name: &str, subscribers: u32, silent: u32) -> Case {
    // Only one that is never reached is found out by its silence.
    let timeout = Duration::from_secs(if name == FORGETS_ONE { 2 } else { 300 });
    let registry = registry();
    let place = registry.iter().position(|candidate| candidate.definition().name == name);
    let request = PlanRequest {
        transports: vec![place.expect("it is in the list")],
        patterns: vec![Pattern::FanOut],
        payloads: vec![(64, vec![Touch::All])],
        subscribers,
        silent,
        budget: Budget::RoundTrips(ROUND_TRIPS),
        ..PlanRequest::default()
    };
    let options = RunOptions { pinning: Pinning::Off, timeout, ..RunOptions::default() };
    let (interrupt, _writer) = UnixStream::pair().expect("a pair of sockets");
    let plan = Plan::new(&registry, &request);
    let result = ipcmark_engine::run(&registry, &plan, &options, &interrupt, &mut Silent);
    result.expect("the run ends").cases.remove(0)
}

struct Silent;

impl Observer for Silent {
    fn begun(&mut self, _: &RunResult) {}
    fn starting(&mut self, _: &str, _: &PlannedSession, _: &PlannedCase) {}
    fn finished(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
}

fn every_follower_answers() -> Result<(), Failed> {
    for subscribers in [1, 3] {
        let case = measure("right", subscribers);
        let figures = case.figures.ok_or_else(|| format!("{:?}", case.reason))?;
        assert_eq!(
            (case.subscribers, figures.round_trips, figures.lost),
            (subscribers, ROUND_TRIPS, 0)
        );
        let each: Vec<_> =
            figures.per_subscriber.iter().map(|one| (one.answers, one.lost)).collect();
        let expected = if subscribers == 1 { 0 } else { subscribers as usize };
        assert_eq!(each, vec![(ROUND_TRIPS, 0); expected]);
        // The round trip ends with the last answer: no follower's answers come later.
        let last = figures.per_subscriber.iter().map(|one| one.answer_ns.max).max();
        assert!(last.unwrap_or(0) <= figures.round_trip_ns.max, "{last:?}");
    }
    Ok(())
}

fn silent_follower() -> Result<(), Failed> {
    let case = measure_with("right", 3, 1);
    let figures = case.figures.ok_or_else(|| format!("{:?}", case.reason))?;
    assert_eq!((case.silent_subscribers, figures.round_trips), (1, ROUND_TRIPS));
    let answers: Vec<_> = figures.per_subscriber.iter().map(|one| one.answers).collect();
    assert_eq!(answers, [ROUND_TRIPS, ROUND_TRIPS, 0]);
    // It took every message, or it would not have got to the end.
    assert!(figures.per_subscriber[2].cpu_ns_per_message > 0.0);
    // Three messages out and two back.
    let round_trips = figures.messages_per_second / 5.0 * figures.round_trip_ns.mean / 1e9;
    assert!((0.8..1.2).contains(&round_trips), "{round_trips}");
    Ok(())
}

fn lost_answers_are_counted() -> Result<(), Failed> {
    let case = measure("loses", 3);
    let figures = case.figures.ok_or_else(|| format!("{:?}", case.reason))?;
    let lost: Vec<u64> = figures.per_subscriber.iter().map(|one| one.lost).collect();
    // On a busy machine an answer can come so late that it counts as lost.
    assert!(lost[2] >= 4 && figures.lost >= lost[2], "{lost:?} of {ROUND_TRIPS} are lost");
    assert!(figures.lost <= lost.iter().sum());
    assert_eq!(figures.round_trips + figures.lost, ROUND_TRIPS);
    assert!(figures.lost_wait_ns >= figures.lost * 100_000_000);
    Ok(())
}

fn repeats() -> Result<(), Failed> {
    fails("repeats", "came again")
}

fn forgets_one() -> Result<(), Failed> {
    fails(FORGETS_ONE, "no end within")
}

fn fails(name: &str, reason: &str) -> Result<(), Failed> {
    let case = measure(name, 3);
    assert_eq!(case.status, Status::Failed);
    let words = case.reason.unwrap_or_default();
    assert!(words.contains(reason), "{words}");
    Ok(())
}

fn processes() -> Result<(), Failed> {
    for (name, subscribers, one) in
        [("right", 1, false), ("right", 3, false), ("threads", 1, true), ("threads", 3, true)]
    {
        let case = measure(name, subscribers);
        let figures = case.figures.ok_or_else(|| format!("{:?}", case.reason))?;
        let [leader, follower] = ["leader", "follower"].map(|role| &figures.configuration[role]);
        assert_eq!(leader == follower, one, "{name}: {leader} and {follower}");
        assert_eq!(case.span, if one { "thread" } else { "process" });
        assert_eq!(figures.path.carrier == "process", one, "{name}: {:?}", figures.path);
        // What one process costs stands once.
        assert_eq!(figures.cpu_ns_per_message.follower == 0.0, one, "{name}");
        assert!(figures.cpu_ns_per_message.leader > 0.0, "{name}");
    }
    Ok(())
}

fn too_many() -> Result<(), Failed> {
    let case = measure("right", 5);
    assert_eq!(case.status, Status::Unsupported);
    assert!(case.reason.unwrap_or_default().contains("4 followers"));
    Ok(())
}
