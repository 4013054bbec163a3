//! One leader and several followers, each a process: every answer counts, and so does every published message;
//! faults are detected.

mod broadcast;
mod publishers;
mod runs;

use std::{collections::BTreeSet, process::ExitCode};

use ipcmark_engine::KEEPER_COMMAND;
use ipcmark_harness::Test;
use ipcmark_results::{Carrier, Case, Role, Status};
use ipcmark_transport::{Pattern, Span};
use libtest_mimic::Failed;

use runs::{
    FORGETS_ONE, Finalist, MeasurementRequest, ROUND_TRIPS, Starts, only, registry, traffic,
};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(KEEPER_COMMAND) {
        ipcmark_engine::keep(&registry());
    }
    let tests = vec![
        Test::new("every_follower_answers_every_message", every_follower_answers),
        Test::new("lost_answers_are_counted_for_whom_they_miss", lost_answers_are_counted),
        Test::new("a_silent_follower_gets_everything_and_answers_nothing", silent_follower),
        Test::new("an_answer_that_comes_twice_fails_the_case", repeats),
        Test::new("a_follower_that_is_never_reached_fails_the_case", forgets_one),
        Test::new("ends_are_processes_unless_they_stay_within_one", processes),
        Test::new("every_trial_of_a_case_is_kept", trials_are_kept),
        Test::new("a_finalist_has_twice_as_many_further_trials", finalists),
        Test::new("a_failed_trial_fails_the_case_at_once", a_failed_trial_fails_the_case),
        Test::new("a_later_trial_that_fails_is_named", a_later_trial_that_fails_is_named),
        Test::new("more_followers_than_it_has_are_unsupported", too_many),
        Test::new("every_publisher_is_heard", publishers::are_heard),
        Test::new("what_publishers_lose_is_counted", publishers::lose),
        Test::new("a_stream_that_is_lost_whole_is_repeated", publishers::lose_whole_streams),
        Test::new("a_published_message_that_comes_twice_fails_the_case", publishers::repeat),
        Test::new("who_does_not_hear_the_demand_fails_the_case", publishers::do_not_hear),
    ];
    // They mostly wait for timeouts.
    ipcmark_harness::main_at_once(tests, 8)
}

fn asked(name: &'static str, subscribers: u32) -> MeasurementRequest {
    MeasurementRequest::of(Pattern::FanOut, name, subscribers)
}

fn measure(name: &'static str, subscribers: u32) -> Case {
    asked(name, subscribers).case()
}

fn every_follower_answers() -> Result<(), Failed> {
    for subscribers in [1, 3] {
        let case = measure("right", subscribers);
        let trial = only(&case)?;
        let losses = &trial.session.losses;
        assert_eq!((losses.received, losses.lost), (losses.sent, 0));
        assert!(losses.sent > ROUND_TRIPS, "clock-free blocks and probes are beside the samples");
        assert_eq!(trial.times_ns.count, ROUND_TRIPS);
        let each: Vec<_> =
            trial.answers.iter().map(|one| (one.answer_ns.count, one.lost)).collect();
        let expected = if subscribers == 1 { 0 } else { subscribers as usize };
        assert_eq!(each, vec![(ROUND_TRIPS, 0); expected]);
        // The round trip ends with the last answer: no follower's answers come later.
        let first = trial.first_answer_ns.as_ref();
        assert_eq!(first.map(|first| first.count), (subscribers > 1).then_some(ROUND_TRIPS));
        let shortest = trial.answers.iter().map(|one| one.answer_ns.min).min();
        assert_eq!(first.map(|first| first.min), shortest);
        let longest = trial.answers.iter().map(|one| one.answer_ns.max).min();
        assert!(first.map(|first| first.max) <= longest, "no first answer is after another's last");
        let last = trial.answers.iter().map(|one| one.answer_ns.max).max();
        assert!(last.unwrap_or(0) <= trial.times_ns.max, "{last:?}");
        // One message to all, and one back from each.
        let (sent, subscribers) = (losses.sent, u64::from(subscribers));
        assert_eq!(traffic(trial)[0], (sent, sent * subscribers));
        assert_eq!(traffic(trial)[1..], vec![(sent, sent); subscribers as usize]);
        assert_eq!(trial.session.messages, 2 * sent * subscribers);
    }
    Ok(())
}

fn silent_follower() -> Result<(), Failed> {
    let case = MeasurementRequest { silent: 1, ..asked("right", 3) }.case();
    let trial = only(&case)?;
    assert_eq!(case.identity.silent_subscribers, 1);
    assert_eq!(trial.times_ns.count, ROUND_TRIPS);
    let answers: Vec<_> = trial.answers.iter().map(|one| one.answer_ns.count).collect();
    assert_eq!(answers, [ROUND_TRIPS, ROUND_TRIPS, 0]);
    assert_eq!(trial.first_answer_ns.as_ref().map(|first| first.count), Some(ROUND_TRIPS));
    let sent = trial.session.losses.sent;
    // It answers only outside the blocks: the probe announcements before and after each block, and the end of a
    // turn.
    let turns: BTreeSet<u32> = trial.blocks.turn.iter().copied().collect();
    let between = (trial.blocks.len() + 2 * turns.len()) as u64;
    let others = (sent, sent);
    assert_eq!(traffic(trial), [(sent, 2 * sent + between), others, others, (between, sent)]);
    assert!(trial.session.processes[3].cpu_ns > 0);
    // Three messages out and two back.
    assert_eq!(trial.session.messages, 5 * sent);
    let sum = trial.times_ns.mean * ROUND_TRIPS as f64;
    assert!((0.8..1.2).contains(&(sum / trial.elapsed_ns as f64)), "{sum} {}", trial.elapsed_ns);
    Ok(())
}

fn lost_answers_are_counted() -> Result<(), Failed> {
    let case = measure("loses", 3);
    let trial = only(&case)?;
    let losses = &trial.session.losses;
    let lost: Vec<u64> = trial.answers.iter().map(|one| one.lost).collect();
    // On a busy machine an answer can come so late that it counts as lost. A loss in the warm-up, in which one is
    // certain, is not counted.
    assert!(lost[2] >= 4 && losses.lost >= lost[2], "{lost:?} of {} are lost", losses.sent);
    assert!(losses.lost <= lost.iter().sum());
    assert_eq!(losses.received + losses.lost, losses.sent);
    assert!(trial.lost_wait_ns >= losses.lost * 100_000_000);
    let ends = traffic(trial);
    let in_time: u64 = lost.iter().map(|lost| losses.sent - lost).sum();
    assert_eq!(ends[0], (losses.sent, in_time + losses.late));
    // Every sample has an answer in time, or was lost.
    let sampled: u64 = (0..trial.blocks.len())
        .filter(|at| !trial.blocks.clock_free[*at])
        .map(|at| trial.blocks.lost[at])
        .sum();
    for answers in &trial.answers {
        let in_time = answers.answer_ns.count;
        assert!((ROUND_TRIPS - sampled..=ROUND_TRIPS).contains(&in_time), "{in_time} {sampled}");
    }
    Ok(())
}

fn repeats() -> Result<(), Failed> {
    asked("repeats", 3).fails("came again")
}

fn forgets_one() -> Result<(), Failed> {
    asked(FORGETS_ONE, 3).fails("no end within")
}

fn trials_are_kept() -> Result<(), Failed> {
    let mut starts = Starts::default();
    let result = MeasurementRequest { trials: 3, ..asked("right", 2) }.run(&mut starts);
    assert_eq!((result.planned_cases, result.cases.len(), starts.0), (1, 1, 3));
    let numbers: Vec<u32> = result.cases[0].trials().iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    Ok(())
}

fn finalists() -> Result<(), Failed> {
    let request = MeasurementRequest { trials: 2, beside: Some("loses"), ..asked("right", 2) };
    let result = request.run(&mut Finalist("right"));
    let numbers: Vec<(&str, Vec<u32>)> = result
        .cases
        .iter()
        .map(|case| {
            let numbers = case.trials().iter().map(|trial| trial.number).collect();
            (case.identity.transport.as_str(), numbers)
        })
        .collect();
    assert_eq!(numbers, [("right", vec![1, 2, 3, 4, 5, 6]), ("loses", vec![1, 2])]);
    let finals: Vec<u32> =
        result.rounds.iter().filter(|round| round.is_final).map(|round| round.trial).collect();
    assert_eq!(finals, [3, 4, 5, 6]);
    Ok(())
}

fn a_failed_trial_fails_the_case() -> Result<(), Failed> {
    let mut starts = Starts::default();
    let result = MeasurementRequest { trials: 3, ..asked("repeats", 3) }.run(&mut starts);
    let reason = result.cases[0].reason().unwrap_or_default();
    assert!(!reason.contains("in trial") && reason.contains("came again"), "{reason}");
    assert_eq!((result.cases.len(), starts.0), (1, 1), "it is not tried again");
    assert!(result.complete);
    Ok(())
}

fn a_later_trial_that_fails_is_named() -> Result<(), Failed> {
    let mut starts = Starts::default();
    let result = MeasurementRequest { trials: 3, ..asked("wears-out", 3) }.run(&mut starts);
    let reason = result.cases[0].reason().unwrap_or_default();
    assert!(reason.starts_with("in trial 2: ") && reason.contains("worn out"), "{reason}");
    assert_eq!((result.cases.len(), starts.0), (1, 2));
    Ok(())
}

fn processes() -> Result<(), Failed> {
    for (name, subscribers, one) in
        [("right", 1, false), ("right", 3, false), ("threads", 1, true), ("threads", 3, true)]
    {
        let case = measure(name, subscribers);
        let session = &only(&case)?.session;
        let [leader, follower] = ["leader", "follower"].map(|role| &session.configuration[role]);
        assert_eq!(leader == follower, one, "{name}: {leader} and {follower}");
        assert_eq!(case.identity.span, if one { Span::Thread } else { Span::Process });
        assert_eq!(session.carrier.found == Carrier::Process, one, "{name}: {:?}", session.carrier);
        // A process's costs are reported once, with all its endpoints.
        let ends: Vec<Vec<Role>> = session
            .processes
            .iter()
            .map(|process| process.ends.iter().map(|end| end.role).collect())
            .collect();
        let roles = std::iter::once(Role::Leader).chain((0..subscribers).map(Role::Follower));
        let roles: Vec<Role> = roles.collect();
        let each: Vec<Vec<Role>> = roles.iter().map(|role| vec![*role]).collect();
        assert_eq!(ends, if one { vec![roles] } else { each });
        assert!(session.processes.iter().all(|process| process.cpu_ns > 0), "{session:?}");
        assert!(session.processes.iter().all(|process| !process.name.is_empty()), "{session:?}");
    }
    Ok(())
}

fn too_many() -> Result<(), Failed> {
    let case = measure("right", 5);
    assert_eq!(case.status(), Status::Unsupported);
    assert!(case.reason().unwrap_or_default().contains("4 followers"));
    Ok(())
}
