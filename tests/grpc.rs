//! gRPC for real: the carrier, whatever variables of the user's say, streams, several followers, an end that dies.

use ipcmark_results::Status;
use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, listed, run,
    scene::{FOLLOWER, LEADER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_a_server_each,
    an_end_that_dies_ends_the_wait_of_the_other,
];

/// gRPC in C++ and in Rust.
const FAMILIES: [&str; 2] = ["grpc", "tonic"];

/// The rows of gRPC that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&FAMILIES)
}

/// Those of them whose ends take no turns.
fn streams() -> Vec<String> {
    rows().into_iter().filter(|row| row.ends_with("stream")).collect()
}

fn none() -> Verdict {
    Verdict::Skipped("no module of gRPC is there".into())
}

fn every_row_takes_its_carrier() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    // The user's variables do not count: nothing is printed, and no other way to poll is taken.
    let variables = [("GRPC_VERBOSITY", "debug"), ("GRPC_POLL_STRATEGY", "none")];
    listed::take_their_carriers(&rows, "", &variables, |_| Carrier::Kernel);
    Verdict::Holds
}

fn a_stream_loses_nothing() -> Verdict {
    let rows = streams();
    if rows.is_empty() {
        return none();
    }
    listed::streams_lose_nothing(&rows);
    Verdict::Holds
}

fn several_followers_have_a_server_each() -> Verdict {
    let rows = streams();
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
