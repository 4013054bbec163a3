//! zenoh for real: two peers over the carrier that was asked for, streams, an end that dies.

use ipcmark_results::Status;
use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, listed, run,
    scene::{FOLLOWER, LEADER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_a_session_each,
    an_end_that_dies_ends_the_wait_of_the_other,
];

/// The rows of zenoh that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&["zenoh"])
}

fn none() -> Verdict {
    Verdict::Skipped("the module of zenoh is not there".into())
}

fn every_row_takes_its_carrier() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for sandbox in ["--sandbox auto", "--sandbox off"] {
        listed::take_their_carriers(&rows, sandbox, &[], |row| match row {
            "zenoh-shm" => Carrier::SharedMemory,
            "zenoh-tcp" => Carrier::Network,
            _ => Carrier::Kernel,
        });
    }
    Verdict::Holds
}

fn a_stream_loses_nothing() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    listed::streams_lose_nothing(&rows);
    Verdict::Holds
}

fn several_followers_have_a_session_each() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    let words = "-p fan-out --subscribers 3 -s 64 -n 20 --trials 1 --format json";
    let result = run(&format!("run -t {} {words}", rows.join(","))).exits(0).result();
    assert!(result.cases.iter().all(|case| case.status() == Status::Ok));
    Verdict::Holds
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for (row, wait) in rows.iter().flat_map(|row| [(row, "spin"), (row, "block")]) {
        for name in [LEADER, FOLLOWER] {
            killed_end_costs_its_row(row, wait, name);
        }
    }
    Verdict::Holds
}
