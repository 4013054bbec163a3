//! Fan-in: one leader takes the messages of several concurrent publishers.

use ipcmark_results::{Case, Role, Status};
use ipcmark_transport::Pattern;

use crate::{
    fan_out::{
        LOSSY, NATIVE, RowsOfRun, a_death_costs_the_row, available, listed_native, received, waits,
    },
    support::{Verdict, assert_valid, only, refused, run, traces},
};

ipcmark_harness::tests![
    every_message_of_every_publisher_is_counted,
    publishers_that_wait_for_room_leave_the_leader_a_processor,
    large_messages_of_many_publishers_wait_for_the_leader,
    lost_messages_of_publishers_are_counted_and_not_awaited,
    the_death_of_any_publisher_costs_the_row,
    a_sweep_over_publishers_is_a_curve,
    impossible_publishers_are_rejected_with_the_reason,
];

/// The leader took everything that each publisher sent, plus the answers to its demands.
pub(crate) fn is_whole(case: &Case, publishers: u32) {
    let (trial, name) = (only(case), &case.identity.transport);
    assert_eq!((case.identity.pattern, case.identity.subscribers), (Pattern::FanIn, publishers));
    let losses = &trial.session.losses;
    assert!(losses.sent > 0 && (losses.received, losses.lost) == (losses.sent, 0), "{name}");
    let parts = trial.stream.as_ref().expect("it is a stream");
    assert!(parts.counted > 0 && parts.counted <= losses.received, "{name}: {parts:?}");
    assert!(parts.least_published.is_some(), "{name}");
    let mut ends = received(trial);
    let (_, demands, taken) = ends.remove(0);
    assert_eq!(ends.len(), publishers as usize, "{name}");
    let each = losses.sent / u64::from(publishers);
    for (number, end) in ends.into_iter().enumerate() {
        assert_eq!(end, (Role::Follower(number as u32), demands + each, demands), "{name}");
    }
    assert_eq!(taken, losses.sent + demands * u64::from(publishers), "{name}");
    assert!(!trial.session.carrier.fell_back(), "{name}: {:?}", trial.session.carrier);
}

fn every_message_of_every_publisher_is_counted() -> Verdict {
    let mut runs = match listed_native() {
        Ok(runs) => {
            runs.into_iter().map(|rows| (rows, "--publishers 3 -n 40", 3)).collect::<Vec<_>>()
        }
        Err(skipped) => return skipped,
    };
    let rows = match available(&NATIVE) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    let waits = waits(&rows);
    let words = format!("-t {} {waits} -s 64", rows.join(","));
    let many = RowsOfRun { words, count: rows.len() };
    runs.push((many, "--publishers 16 --sandbox off -n 200", 16));
    for (RowsOfRun { words: of_rows, count }, words, publishers) in runs {
        let words = format!("run {of_rows} {words} --trials 1 --timeout 1m");
        let ended = run(&format!("{words} --format json")).exits(0);
        assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
        let result = ended.result();
        assert_eq!(result.cases.len(), count);
        result.cases.iter().for_each(|case| is_whole(case, publishers));
        assert_eq!(traces::names(&result.run.id), [""; 0]);
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/several-publishers.toml");
    let words = format!("run {example} -t {} {waits} -d 2ms --trials 1 --format json", rows[0]);
    run(&words).exits(0).result().cases.iter().for_each(|case| is_whole(case, 3));
    let words = format!("run -t {} {waits} -s 64 --publishers 2 -n 200 --trials 1", rows[0]);
    let table = run(&words).exits(0).stdout;
    assert!(table.contains("fan-in · 64 B · 2 publishers") && table.contains("slowest"), "{table}");
    Verdict::Holds
}

/// Regression: they polled, and a run that now takes a second had no figure after more than a minute.
fn publishers_that_wait_for_room_leave_the_leader_a_processor() -> Verdict {
    match available(&["alephzero-pubsub"]) {
        Ok(_) => {
            let words = "run -t alephzero-pubsub -w block -s 64 --publishers 16 -d 250ms";
            run(&format!("{words} --trials 1 --timeout 20s")).exits(0);
            Verdict::Holds
        }
        Err(skipped) => skipped,
    }
}

/// Regression: of 8 MiB from each publisher the server kept 64 MiB, and then closed the leader's connection.
fn large_messages_of_many_publishers_wait_for_the_leader() -> Verdict {
    match available(&["nats"]) {
        Ok(_) => {
            run("run -t nats -w block -s 4M --publishers 16 -n 5 --trials 1").exits(0);
            Verdict::Holds
        }
        Err(skipped) => skipped,
    }
}

fn lost_messages_of_publishers_are_counted_and_not_awaited() -> Verdict {
    let rows = match available(&LOSSY) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    let words = format!("run -t {} -w block -s 64k --publishers 3 -n 2000", rows.join(","));
    let result = run(&format!("{words} --trials 1 --format json")).exits(0).result();
    for case in &result.cases {
        let losses = &only(case).session.losses;
        assert_eq!(losses.received + losses.lost, losses.sent, "{losses:?}");
    }
    Verdict::Holds
}

fn the_death_of_any_publisher_costs_the_row() -> Verdict {
    match available(&NATIVE) {
        Ok(rows) if rows.len() == 1 => {
            return Verdict::Skipped(format!("{} alone is there", rows[0]));
        }
        // All patterns detect a death in the same way: one row shows that this pattern uses it.
        Ok(rows) => {
            (0..3).for_each(|number| {
                a_death_costs_the_row("--publishers 3", number, rows[0], rows[1]);
            });
        }
        Err(skipped) => return skipped,
    }
    Verdict::Holds
}

fn a_sweep_over_publishers_is_a_curve() -> Verdict {
    let rows = match available(&["alephzero-pubsub", "zeromq-pubsub-ipc", "iceoryx2-event"]) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    let words = format!("sweep publishers -t {} -p fan-in -w block -s 64 --at 1,3", rows[0]);
    let ended = run(&words).exits(0);
    assert!(ended.stdout.contains("fan-in · 64 B · block"), "{}", ended.stdout);
    Verdict::Holds
}

fn impossible_publishers_are_rejected_with_the_reason() {
    for (words, reason) in [
        ("-p latency --publishers 3", "only for the pattern fan-in"),
        ("-p fan-in --publishers 3 --subscribers 2", "leave --subscribers out"),
        ("--publishers 3 --pairs 2", "leave --pairs out"),
        ("-p fan-in --silent 1", "leave --silent out"),
        ("--publishers 3 --rate 1k/s", "fan-in sends as fast as it"),
        ("--publishers 65", "1..=64"),
    ] {
        refused(&format!("run -t pipe {words}"), reason);
    }
    let result = run("run -t pipe --publishers 2 -n 9 --format json").exits(1).result();
    for case in &result.cases {
        assert_eq!(case.status(), Status::Unsupported);
        assert!(case.reason().unwrap().contains("fan-in"), "{:?}", case.reason());
    }
}
