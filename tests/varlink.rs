//! Tests with real Varlink: the carrier, and a killed endpoint.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    listed::{self, Library},
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![every_row_takes_its_carrier, an_end_that_dies_ends_the_wait_of_the_other,];

const LIBRARY: Library =
    Library { families: &["varlink"], lacking: "the module of Varlink is not there" };

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        for sandbox in ["--sandbox auto", "--sandbox off"] {
            listed::take_their_carriers(rows, sandbox, &[], |_| Carrier::Kernel);
        }
    })
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    LIBRARY.holds(|rows| {
        listed::killed_ends_cost_their_rows(rows, &["spin", "block"], &[LEADER, FOLLOWER])
    })
}
