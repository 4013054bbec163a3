//! Loads other than one message after the other: an open loop at a rate, and pauses.

use std::{thread, time::Duration};

use ipcmark_results::{Load, Status, decode};
use libc::{SIGCONT, SIGSTOP};

use crate::support::{
    Verdict, assert_valid, only, run,
    scene::{FOLLOWER, Scene},
};

ipcmark_harness::tests![
    a_rate_is_offered_and_accounted_for,
    a_rate_that_nobody_holds_ends,
    a_stalled_receiver_makes_messages_late,
    a_pause_follows_each_answer,
    each_rate_has_its_own_table,
    followers_are_paced_too,
];

fn a_rate_is_offered_and_accounted_for() {
    let words = "run -t pipe,udp -s 64 -n 40 --trials 1 --rate 50/s --format json";
    for arrivals in ["fixed", "poisson"] {
        let ended = run(&format!("{words} --arrivals {arrivals}")).exits(0);
        assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
        let result = ended.result();
        assert_eq!(result.cases.len(), 4);
        for case in &result.cases {
            assert!(case.identity.load.to_string().starts_with("50/s"), "{:?}", case.identity);
            let (trial, name) = (only(case), &case.identity.transport);
            let offered = trial.offered.as_ref().expect("it was an open loop");
            assert_eq!((offered.intended, offered.sent), (40, 40), "{name} {offered:?}");
            assert_eq!(trial.times_ns.count, 40);
            assert_eq!((offered.service_ns.count, offered.delay_ns.count), (40, 40));
            assert!(trial.times_ns.max >= offered.service_ns.max, "{name} {offered:?}");
            assert!(trial.blocks.clock_free.iter().all(|clock_free| !clock_free));
            assert!(trial.session.turns_ns >= offered.elapsed_ns, "{name}");
            if arrivals == "fixed" {
                // The first is due after one gap, and none is sent before its time.
                assert!(offered.elapsed_ns >= 40 * 20_000_000, "{name} {offered:?}");
            }
        }
    }
}

/// What is not sent by the end is neither forgotten nor waited for.
fn a_rate_that_nobody_holds_ends() {
    let words = "run -t pipe -s 64 -d 50ms --trials 1 --rate 100M/s --format json";
    let result = run(words).exits(0).result();
    for case in &result.cases {
        let trial = only(case);
        let offered = trial.offered.as_ref().unwrap();
        // 50 ms hold 5,000,000 of them, and probes move the end.
        assert!(offered.intended >= 4_900_000 && offered.sent < offered.intended, "{offered:?}");
        assert!(offered.late >= offered.intended - offered.sent, "{offered:?}");
        assert_eq!(trial.times_ns.count, offered.intended);
        assert_eq!(trial.session.losses.lost, 0, "a message that was not sent is not lost");
    }
    let table = run("run -t pipe -s 64 -d 5ms --trials 1 --rate 10M/s").exits(0).stdout;
    for words in ["10,000,000/s", "sent/s", "late", "cores", "response from the intended time"] {
        assert!(table.contains(words), "no {words} in: {table}");
    }
}

/// Whoever waits for the answer and then goes on as before has one late message a stall.
fn a_stalled_receiver_makes_messages_late() {
    let scene = Scene::start(
        "run -t uds-stream -w block -s 64 -d 4s --trials 1 --rate 1000/s --timeout 1m",
    );
    scene.await_case();
    while scene.is_under_way() {
        let followers = scene.processes().into_iter().filter(|one| one.name == FOLLOWER);
        for follower in followers {
            follower.send(SIGSTOP);
            thread::sleep(Duration::from_millis(100));
            follower.send(SIGCONT);
        }
        thread::sleep(Duration::from_millis(500));
    }
    let (ended, result) = scene.end();
    ended.exits(0);
    let trial = only(&result.cases[0]);
    let offered = trial.offered.as_ref().unwrap();
    let longer = |times: &ipcmark_results::Times| {
        let samples = decode(&times.histogram).unwrap();
        samples.count_between(10_000_000, samples.high())
    };
    let (responses, services) = (longer(&trial.times_ns), longer(&offered.service_ns));
    assert!(offered.late >= 90 && responses >= 80, "{responses} of {offered:?}");
    assert!(responses >= services + 70, "{responses} {services}: {offered:?}");
}

fn each_rate_has_its_own_table() {
    let words = "run -t pipe -w block -s 64 -n 5 --trials 1 --rate 1000/s,200/s,1k/s";
    let ended = run(words).exits(0);
    let titles: Vec<&str> =
        ended.stdout.lines().filter(|line| line.starts_with("latency · ")).collect();
    assert!(titles.len() == 2 && titles[0].contains("200/s"), "{titles:?}");
    assert!(titles[1].contains("1,000/s"), "{titles:?}");
}

fn a_pause_follows_each_answer() {
    let words = "run -t pipe,shm-ring -s 64 -n 20 --trials 1 --interval 2ms --format json";
    let result = run(words).exits(0).result();
    for case in &result.cases {
        assert_eq!(case.identity.load, Load::Interval { pause_ns: 2_000_000 });
        let trial = only(case);
        assert!(trial.offered.is_none(), "nothing had its intended time");
        assert_eq!(trial.times_ns.count, 20);
        assert!(trial.session.turns_ns >= 20 * 2_000_000);
    }
}

fn followers_are_paced_too() -> Verdict {
    let words = "run -t fastdds-shm --subscribers 2 -w block -s 64 -n 10 --trials 1 --rate 100/s \
                 --format json";
    let result = run(words).result();
    if result.cases[0].status() == Status::Unavailable {
        return Verdict::Skipped("Fast DDS is not here".into());
    }
    let trial = only(&result.cases[0]);
    assert_eq!(trial.answers.len(), 2);
    assert!(trial.answers.iter().all(|answers| answers.answer_ns.count == 10), "{trial:?}");
    Verdict::Holds
}
