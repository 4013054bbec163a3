//! Remote calls and buses for real: Cap'n Proto, LCM, NATS. Carriers, streams, several followers, an end that dies.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, end, ipcmark, listed, only, outcome, run,
    scene::{FOLLOWER, LEADER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    one_packet_reaches_all_followers,
    an_end_that_dies_ends_the_wait_of_the_other,
    without_a_server_the_list_says_what_to_install,
];

/// Does this with the rows of these families that can run here.
fn with_rows(families: &[&str], play: impl FnOnce(Vec<String>)) -> Verdict {
    let rows = listed::of_families(families);
    if rows.is_empty() {
        return Verdict::Skipped("none of their modules is there".into());
    }
    play(rows);
    Verdict::Holds
}

/// Those that lose nothing.
const RELIABLE: [&str; 2] = ["capnproto", "nats"];

fn every_row_takes_its_carrier() -> Verdict {
    with_rows(&RELIABLE, |rows| {
        let told = |row: &str| if row == "nats" { Carrier::Network } else { Carrier::Kernel };
        listed::take_their_carriers(
            &rows,
            "auto",
            &[("NATS_DEFAULT_TO_LIB_MSG_DELIVERY", "1")],
            told,
        );
    })
}

fn a_stream_loses_nothing() -> Verdict {
    with_rows(&RELIABLE, |rows| listed::streams_lose_nothing(&rows))
}

fn one_packet_reaches_all_followers() -> Verdict {
    with_rows(&["lcm"], |rows| {
        for words in ["-p latency -s 16,64k", "-p fan-out --subscribers 3 -s 64k"] {
            let words = format!("{words} -w block -n 20 --trials 1 --touch all --format json");
            let result = run(&format!("run -t {} {words}", rows.join(","))).exits(0).result();
            for case in result.cases.iter().filter(|_| result.environment.sandbox == "namespaces") {
                assert_eq!(only(case).session.carrier.found, Carrier::Network, "{words}");
            }
        }
    })
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    with_rows(&["capnproto", "lcm", "nats"], |rows| {
        for row in rows {
            killed_end_costs_its_row(&row, "spin", LEADER);
            killed_end_costs_its_row(&row, "block", FOLLOWER);
        }
    })
}

fn without_a_server_the_list_says_what_to_install() -> Verdict {
    with_rows(&["nats"], |_| {
        let mut command = ipcmark("run -t nats -w spin -s 64 -n 100 --trials 1 --format json");
        let result = end(command.env("PATH", "/nowhere")).exits(1).result();
        let (status, reason) = outcome(&result, "nats");
        assert_eq!(status, "unavailable");
        assert!(reason.contains("cannot find nats-server: there is no such program"), "{reason}");
        assert!(reason.contains("apt install nats-server"), "{reason}");
    })
}
