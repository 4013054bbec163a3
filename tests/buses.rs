//! Remote calls and buses for real: Cap'n Proto. Carriers, streams, an end that dies.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, listed,
    scene::{FOLLOWER, LEADER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    an_end_that_dies_ends_the_wait_of_the_other,
];

/// Does this with the rows of these families that can run here.
fn with_rows(play: impl FnOnce(Vec<String>)) -> Verdict {
    let rows = listed::of_families(&["capnproto"]);
    if rows.is_empty() {
        return Verdict::Skipped("none of their modules is there".into());
    }
    play(rows);
    Verdict::Holds
}

fn every_row_takes_its_carrier() -> Verdict {
    with_rows(|rows| {
        listed::take_their_carriers(&rows, "auto", &[], |_| Carrier::Kernel);
    })
}

fn a_stream_loses_nothing() -> Verdict {
    with_rows(|rows| listed::streams_lose_nothing(&rows))
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    with_rows(|rows| {
        for row in rows {
            killed_end_costs_its_row(&row, "spin", LEADER);
            killed_end_costs_its_row(&row, "block", FOLLOWER);
        }
    })
}
