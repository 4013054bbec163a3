//! Fan-out of what knows only two ends: the leader has an end for each follower.

use ipcmark_results::{Case, Role, Status, Trial};
use libc::SIGKILL;

use crate::support::{
    assert_valid, only, run,
    scene::{FOLLOWER, Scene},
    traces,
};

ipcmark_harness::tests![
    each_follower_has_an_end_of_its_own,
    sixty_four_followers_are_each_accounted_for,
    the_death_of_any_follower_costs_the_row,
    nothing_is_left_without_a_sandbox,
    what_cannot_fan_out_says_why,
];

fn received(trial: &Trial) -> Vec<(Role, u64, u64)> {
    let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
    ends.map(|end| (end.role, end.sent, end.received)).collect()
}

/// Every publication reached every follower, and every answer the leader.
fn is_whole(case: &Case, followers: u32) {
    let (trial, name) = (only(case), &case.identity.transport);
    assert!(case.identity.n_sends && case.identity.subscribers == followers, "{name}");
    let (leader, others) = {
        let mut ends = received(trial);
        (ends.remove(0), ends)
    };
    assert_eq!(others.len(), followers as usize, "{name}");
    for (number, (role, sent, taken)) in others.iter().enumerate() {
        assert_eq!(*role, Role::Follower(number as u32), "{name}");
        assert!(*taken == leader.1 && *sent == *taken, "{name}: {sent} {taken} of {}", leader.1);
    }
    assert_eq!(leader.2, leader.1 * u64::from(followers), "{name}");
    let counts: Vec<u64> = trial.answers.iter().map(|answers| answers.answer_ns.count).collect();
    assert_eq!(counts, vec![trial.times_ns.count; followers as usize], "{name}");
    assert!(!trial.session.carrier.fell_back(), "{name}: {:?}", trial.session.carrier);
}

fn each_follower_has_an_end_of_its_own() {
    let words = "run -t pipe,uds-dgram,memfd,tcp,shm-slot -w block -s 64,64k --subscribers 3 -n 20 \
                 --trials 1 --format json";
    let ended = run(words).exits(0);
    assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
    let result = ended.result();
    assert_eq!(result.cases.len(), 10);
    result.cases.iter().for_each(|case| is_whole(case, 3));
    let table = run("run -t pipe -w block -s 64 --subscribers 2 -n 5 --trials 1").exits(0).stdout;
    assert!(table.contains("pipe n-sends"), "{table}");
}

fn sixty_four_followers_are_each_accounted_for() {
    let words = "run -t pipe,shm-semaphore -w block -s 64 --subscribers 64 -n 5 --trials 1 \
                 --timeout 1m --format json";
    let result = run(words).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 64));
}

fn the_death_of_any_follower_costs_the_row() {
    for number in 0..3 {
        let words = "run -t pipe,uds-stream -w block -s 64 --subscribers 3 -d 1s --trials 1";
        let scene = Scene::start(words);
        scene.await_case();
        let followers = || {
            let all = scene.processes().into_iter().filter(|one| one.name == FOLLOWER);
            all.collect::<Vec<_>>()
        };
        while followers().len() <= number {
            std::thread::yield_now();
        }
        followers()[number].send(SIGKILL);
        let (ended, result) = scene.end();
        ended.exits(1);
        let of = |status| result.cases.iter().filter(move |case| case.status() == status);
        assert_eq!((of(Status::Failed).count(), of(Status::Ok).count()), (1, 1), "{number}");
        let reason = of(Status::Failed).next().unwrap().reason().unwrap();
        assert!(reason.contains("signal 9"), "{number}: {reason}");
    }
}

fn nothing_is_left_without_a_sandbox() {
    let words = "run -t mmap-file,fifo,posix-mq,uds-stream -w block -s 64 --subscribers 3 -n 20 \
                 --trials 1 --sandbox off --format json";
    let result = run(words).exits(0).result();
    result.cases.iter().for_each(|case| is_whole(case, 3));
    assert_eq!(traces::names(&result.run.id), [""; 0]);
}

fn what_cannot_fan_out_says_why() {
    let reasons = |words: &str| -> Vec<String> {
        let ended = run(&format!("run {words} -s 64 -n 5 --trials 1 --format json")).exits(1);
        let cases = ended.result().cases;
        cases.iter().filter_map(|case| case.reason().map(Into::into)).collect()
    };
    let one_end = reasons("-t signal -w block --subscribers 2");
    assert!(one_end[0].contains("it does not carry the pattern fan-out"), "{one_end:?}");
    let silent = reasons("-t pipe -w block --subscribers 2 --silent 1");
    assert!(silent[0].contains("those that are silent do not answer"), "{silent:?}");
}
