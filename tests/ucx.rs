//! UCX for real: the carrier that was asked for, whatever variables of the user's say, streams, an end that dies.

use ipcmark_transport::Carrier;
use libc::SIGKILL;

use crate::support::{
    Verdict, end, ipcmark, listed, only,
    scene::{FOLLOWER, Scene},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    a_follower_that_dies_ends_the_sleep_of_its_leader,
];

/// The rows of UCX that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&["ucx"])
}

fn none() -> Verdict {
    Verdict::Skipped("the module of UCX is not there".into())
}

/// What carries the messages of a row, and the lanes that the library says it has taken for them.
fn expected(row: &str) -> (Carrier, &'static str) {
    match row {
        "ucx-shm" => (Carrier::SharedMemory, "posix/memory"),
        "ucx-tcp" => (Carrier::Network, "tcp/lo"),
        _ => panic!("{row} is not known"),
    }
}

fn every_row_takes_its_carrier() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for sandbox in ["auto", "off"] {
        let words = "-w spin,block -s 16,4k,4M -n 20 --trials 1 --touch all";
        let words = format!("run -t {} {words} --sandbox {sandbox} --format json", rows.join(","));
        // The user's variables do not count.
        let result = end(ipcmark(&words).env("UCX_TLS", "self")).exits(0).result();
        assert_eq!(result.cases.len(), 6 * rows.len());
        for case in &result.cases {
            let name = format!("{} {}", case.identity.transport, case.identity.payload_bytes);
            let session = &only(case).session;
            let (told, lanes) = expected(&case.identity.transport);
            assert_eq!(session.configuration["lanes"], lanes, "{name}");
            assert_eq!(session.carrier.declared, Some(told), "{name}");
            // Traffic of others is not told apart without a sandbox.
            let found = session.carrier.found;
            assert!(sandbox == "off" || found == told, "{name}: {:?}", session.carrier);
        }
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

fn a_follower_that_dies_ends_the_sleep_of_its_leader() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for row in rows {
        let scene = Scene::start(&format!("run -t {row} -w block -s 64 -d 1h"));
        scene.await_case();
        scene.send(FOLLOWER, SIGKILL);
        let result = scene.end().1;
        let reasons: Vec<_> = result.cases.iter().filter_map(|case| case.reason()).collect();
        assert_eq!(reasons.len(), 1, "{row}");
        assert!(reasons[0].contains("killed by signal 9"), "{row}: {reasons:?}");
    }
    Verdict::Holds
}
