//! Tests with real libfabric: the carrier, whatever the user's variables are, streams, several followers.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    listed::{self, Library},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_an_endpoint_each,
];

const LIBRARY: Library =
    Library { families: &["libfabric"], lacking: "the module of libfabric is not there" };

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        for sandbox in ["--sandbox auto", "--sandbox off"] {
            let variables = [("FI_PROVIDER", "tcp"), ("FI_LOG_LEVEL", "debug")];
            listed::take_their_carriers(rows, sandbox, &variables, |_| Carrier::SharedMemory);
        }
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(|rows| {
        listed::streams_lose_nothing(rows);
        listed::streams_with(rows, "--set libfabric-shm.cma=off");
    })
}

fn several_followers_have_an_endpoint_each() -> Verdict {
    LIBRARY.holds(listed::several_follow)
}
