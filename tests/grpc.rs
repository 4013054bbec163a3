//! Tests with real gRPC: the carrier, whatever the user's variables are, streams, several followers, a killed endpoint.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    listed::{self, Library},
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_a_server_each,
    an_end_that_dies_ends_the_wait_of_the_other,
];

/// In C++ and in Rust.
const LIBRARY: Library =
    Library { families: &["grpc", "tonic"], lacking: "no module of gRPC is there" };

/// The rows whose endpoints do not alternate.
fn streams(rows: &[String]) -> Vec<String> {
    rows.iter().filter(|row| row.ends_with("stream")).cloned().collect()
}

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        // The user's variables are ignored: nothing is printed, and the polling strategy does not change.
        let variables = [("GRPC_VERBOSITY", "debug"), ("GRPC_POLL_STRATEGY", "none")];
        listed::take_their_carriers(rows, "", &variables, |_| Carrier::Kernel);
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(|rows| listed::streams_lose_nothing(&streams(rows)))
}

fn several_followers_have_a_server_each() -> Verdict {
    LIBRARY.holds(|rows| listed::several_follow(&streams(rows)))
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    LIBRARY.holds(|rows| {
        listed::killed_ends_cost_their_rows(rows, &["spin", "block"], &[LEADER, FOLLOWER])
    })
}
