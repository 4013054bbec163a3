//! Tests with real zenoh: two peers over the requested carrier, streams, a killed endpoint.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    listed::{self, Library},
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_a_session_each,
    an_end_that_dies_ends_the_wait_of_the_other,
];

const LIBRARY: Library =
    Library { families: &["zenoh"], lacking: "the module of zenoh is not there" };

/// The rows whose endpoints do not alternate.
fn streams(rows: &[String]) -> Vec<String> {
    rows.iter().filter(|row| !row.ends_with("query")).cloned().collect()
}

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        // The library would panic at it.
        let variables = [("ZENOH_RUNTIME", "nothing")];
        for sandbox in ["--sandbox auto", "--sandbox off"] {
            listed::take_their_carriers(rows, sandbox, &variables, |row| match row {
                "zenoh-shm" => Carrier::SharedMemory,
                "zenoh-tcp" => Carrier::Network,
                _ => Carrier::Kernel,
            });
        }
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(|rows| listed::streams_lose_nothing(&streams(rows)))
}

fn several_followers_have_a_session_each() -> Verdict {
    LIBRARY.holds(|rows| listed::several_follow(&streams(rows)))
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    LIBRARY.holds(|rows| {
        listed::killed_ends_cost_their_rows(rows, &["spin", "block"], &[LEADER, FOLLOWER])
    })
}
