//! Successful runs by hand.

use ipcmark_results::Status;
use libc::SIGTERM;

use super::run_directory::{RunDirectory, assert_all, free_address};
use crate::{
    fan_in,
    fan_out::available,
    support::{
        Running, Verdict, end, ipcmark_under, listed,
        namespaces::{lacking, namespaces},
        only,
        processes::await_listener,
        traces,
    },
};

ipcmark_harness::tests![
    everything_of_the_system_is_measured_by_hand,
    the_order_of_starting_does_not_matter,
    several_followers_come_one_by_one,
    a_follower_that_only_listens_answers_nothing_that_is_timed,
    publishers_are_followers_too,
    a_run_with_only_silent_followers_is_rejected,
    a_follower_with_forever_serves_several_runs,
    a_follower_in_another_time_namespace_is_measured,
];

fn everything_of_the_system_is_measured_by_hand() {
    let place = RunDirectory::new();
    let follower = Running::start(&mut place.here("follower"));
    let rows = listed::selected(&["os"]).join(",");
    let words = format!("leader -t {rows} -s 64k -n 100 --trials 1 --touch all --format json");
    let leader = end(&mut place.here(&words));
    let result = leader.exits(0).result();
    assert_all(&result, Status::Ok);
    assert!(result.distances.is_some(), "both are on one machine");
    for case in &result.cases {
        let carrier = &only(case).session.carrier;
        assert_eq!(carrier.declared, Some(carrier.found), "{}", case.identity.transport);
    }
    let words = follower.end().exits(0).stderr;
    assert!(words.contains("a leader is there") && words.contains("sessions"), "{words}");
    assert_eq!(traces::names(&result.run.id), [""; 0]);
    assert!(!place.path("socket").exists(), "the socket is gone with the leader");
}

fn the_order_of_starting_does_not_matter() {
    let place = RunDirectory::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --trials 1 --format json";
    let leader = Running::start(&mut place.here(words));
    leader.await_words("waiting for a follower");
    await_listener(&place.path("socket"));
    let follower = Running::start(&mut place.here("follower"));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
}

/// With a transport that reaches all of them itself, and one with an endpoint for each.
fn several_followers_come_one_by_one() -> Verdict {
    let place = RunDirectory::new();
    let words =
        "leader -t fastdds-shm,pipe -w block -s 64 -n 50 --trials 1 --subscribers 3 --format json";
    let leader = Running::start(&mut place.here(words));
    let followers = [0, 1, 2].map(|_| {
        let follower = Running::start(&mut place.here("follower"));
        follower.await_words("a leader is there");
        follower
    });
    let result = leader.end().result();
    for follower in followers {
        follower.end();
    }
    let case = |name| result.cases.iter().find(|case| case.identity.transport == name).unwrap();
    let answers =
        |case| -> Vec<u64> { only(case).answers.iter().map(|one| one.answer_ns.count).collect() };
    assert_eq!(answers(case("pipe")), [50, 50, 50]);
    assert!(case("pipe").identity.n_sends);
    let several = case("fastdds-shm");
    if several.status() == Status::Unavailable {
        return Verdict::Skipped(format!("fastdds-shm: {:?}", several.reason()));
    }
    assert_eq!(answers(several), [50, 50, 50]);
    assert!(!several.identity.n_sends);
    Verdict::Holds
}

/// It connects first, and is still the last of the followers.
fn a_follower_that_only_listens_answers_nothing_that_is_timed() -> Verdict {
    let place = RunDirectory::new();
    let listening = Running::start(&mut place.here("latency-test subscriber --echo=false"));
    let words =
        "leader -t fastdds-shm -w block -s 64 -n 50 --trials 1 --subscribers 2 --format json";
    let leader = Running::start(&mut place.here(words));
    listening.await_words("a leader is there");
    let answering = Running::start(&mut place.here("follower"));
    let result = leader.end().result();
    let case = &result.cases[0];
    if case.status() == Status::Unavailable {
        return Verdict::Skipped(format!("fastdds-shm: {:?}", case.reason()));
    }
    assert_all(&result, Status::Ok);
    assert_eq!(case.identity.silent_subscribers, 1);
    [listening, answering].into_iter().for_each(|follower| _ = follower.end().exits(0));
    Verdict::Holds
}

fn publishers_are_followers_too() -> Verdict {
    let rows = match available(&["alephzero-pubsub", "zeromq-pubsub-ipc"]) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    let place = RunDirectory::new();
    let followers = [0, 1].map(|_| Running::start(&mut place.here("follower")));
    let words = format!("leader -t {} -w block -s 64 --publishers 2 -n 200 --trials 1", rows[0]);
    let leader = end(&mut place.here(&format!("{words} --format json"))).exits(0);
    leader.result().cases.iter().for_each(|case| fan_in::is_whole(case, 2));
    followers.into_iter().for_each(|follower| _ = follower.end().exits(0));

    let silent = Running::start(&mut place.here("follower --silent"));
    let words = format!("leader -t {} -w block -s 64 -p fan-in -n 200", rows[0]);
    let leader = end(&mut place.here(&words)).exits(1);
    assert!(leader.stderr.contains("every follower publishes"), "{}", leader.stderr);
    silent.end().exits(1);
    Verdict::Holds
}

fn a_run_with_only_silent_followers_is_rejected() {
    let (place, address) = (RunDirectory::new(), free_address());
    let follower = Running::start(&mut place.at("follower --silent", &address));
    let leader = end(&mut place.at("leader -t tcp -s 64 -n 50 --trials 1", &address)).exits(1);
    assert!(leader.stderr.contains("only listens"), "{}", leader.stderr);
    assert!(leader.stdout.is_empty(), "{}", leader.stdout);
    follower.end().exits(1);
}

fn a_follower_with_forever_serves_several_runs() {
    let place = RunDirectory::new();
    let follower = Running::start(&mut place.here("follower --forever"));
    for wait in ["spin", "block"] {
        let words = format!("leader -t pipe,tcp -w {wait} -s 64 -n 100 --trials 1 --format json");
        assert_all(&end(&mut place.here(&words)).exits(0).result(), Status::Ok);
    }
    // SAFETY: it is this test's own child.
    unsafe { libc::kill(follower.id(), SIGTERM) };
    follower.end().exits(128 + SIGTERM);
}

/// Its clock is five seconds ahead. Regression: the offset was not subtracted, and the leader's report was refused.
fn a_follower_in_another_time_namespace_is_measured() -> Verdict {
    let own = [namespaces("--time"), vec!["--monotonic", "5"]].concat();
    if let Some(verdict) = lacking(&own, "true") {
        return verdict;
    }
    let place = RunDirectory::new();
    let mut follower = ipcmark_under("unshare", &own, "follower --socket");
    let follower = Running::start(follower.arg(place.path("socket")));
    let words = "leader -p one-way,throughput -t pipe,shm-ring -w spin -s 64 -n 200 --trials 1";
    let result = end(&mut place.here(&format!("{words} --format json"))).exits(0).result();
    follower.end().exits(0);
    assert_all(&result, Status::Ok);
    let parts = result.cases.iter().filter_map(|case| only(case).one_way.as_ref());
    let offsets: Vec<_> = parts.filter_map(|parts| parts.clock_offset).collect();
    if offsets.is_empty() {
        return Verdict::Skipped("the two processors never ran at the same time".into());
    }
    let ahead_ns = 5_000_000_000;
    // A comparison that takes longer is given up.
    assert!(offsets.iter().all(|offset| offset.estimate_ns.abs_diff(ahead_ns) < 1_000_000));
    for case in &result.cases {
        let (trial, name) = (only(case), &case.identity.transport);
        if trial.one_way.as_ref().is_some_and(|parts| parts.clock_offset.is_some()) {
            assert!(trial.times_ns.min < ahead_ns as u64, "{name}: {:?}", trial.times_ns);
        }
    }
    Verdict::Holds
}
