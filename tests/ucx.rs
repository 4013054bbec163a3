//! Tests with real UCX: the requested carrier, whatever the user's variables are, streams, a killed endpoint.

use ipcmark_results::Status;
use ipcmark_transport::Carrier;
use serde_json::Value;

use crate::support::{
    Verdict,
    confined::{confined, no_call, refused},
    end, ipcmark,
    listed::{self, Library},
    only, outcome, run,
    scene::FOLLOWER,
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    a_follower_that_dies_ends_the_sleep_of_its_leader,
    only_large_messages_are_read_from_the_senders_memory,
    without_the_call_nothing_else_carries_large_messages,
];

const LIBRARY: Library = Library { families: &["ucx"], lacking: "the module of UCX is not there" };

/// The carrier of a row's messages, and the lanes that the library reports for them.
fn expected(row: &str) -> (Carrier, &'static str) {
    match row {
        "ucx-shm" | "ucx-am-shm" => (Carrier::SharedMemory, "posix/memory"),
        "ucx-tcp" => (Carrier::Network, "tcp/lo"),
        // Only the memory that announces a large message is visible.
        "ucx-cma" => (Carrier::SharedMemory, "posix/memory cma/memory"),
        _ => panic!("{row} is not known"),
    }
}

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        for sandbox in ["--sandbox auto", "--sandbox off"] {
            let variables = [("UCX_TLS", "self")];
            for case in
                listed::take_their_carriers(rows, sandbox, &variables, |row| expected(row).0)
            {
                let row = &case.identity.transport;
                assert_eq!(only(&case).session.configuration["lanes"], expected(row).1, "{row}");
            }
        }
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(listed::streams_lose_nothing)
}

fn a_follower_that_dies_ends_the_sleep_of_its_leader() -> Verdict {
    LIBRARY.holds(|rows| listed::killed_ends_cost_their_rows(rows, &["block"], &[FOLLOWER]))
}

/// The number of reads per message by `process_vm_readv`, which the shared memory does not show.
fn reads(size: &str) -> f64 {
    let words = format!("explain ucx-cma -w spin -s {size} --trials 1 -d 30ms --format json");
    let document: Value = serde_json::from_str(&run(&words).exits(0).stdout).unwrap();
    let calls = document["rows"][0]["ends"][0]["calls_per_message"].as_array().unwrap();
    let found = calls.iter().find(|call| call["name"] == "process_vm_readv");
    found.map_or(0.0, |call| call["done"].as_f64().unwrap())
}

fn only_large_messages_are_read_from_the_senders_memory() -> Verdict {
    LIBRARY.holds(|_| {
        assert!(reads("4k") < 0.05);
        assert!((reads("64k") - 1.0).abs() < 0.05);
    })
}

fn without_the_call_nothing_else_carries_large_messages() -> Verdict {
    let calls = [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev];
    let steps = || calls.map(no_call).into_iter().collect::<Vec<_>>();
    if let Some(skipped) = refused("no process_vm_readv", steps()) {
        return skipped;
    }
    LIBRARY.holds(|_| {
        let words = "run -t ucx-cma,ucx-shm -w spin -s 64 -n 20 --trials 1 --format json";
        let result = end(&mut confined(ipcmark(words), steps())).exits(1).result();
        let (status, reason) = outcome(&result, "ucx-cma");
        assert_eq!(status, "unavailable");
        assert!(reason.contains("cannot use process_vm_readv"), "{reason}");
        let is_ok = |case: &&ipcmark_results::Case| case.status() == Status::Ok;
        assert_eq!(result.cases.iter().filter(is_ok).count(), 1, "ucx-shm runs");
    })
}
