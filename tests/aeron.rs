//! Tests with real Aeron: the carrier wherever its media driver runs, streams, options that do not go together, a
//! killed endpoint.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict,
    listed::{self, Library},
    outcome, run,
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    an_end_that_dies_costs_its_row,
    settings_that_aeron_rejects_are_reported,
];

const LIBRARY: Library =
    Library { families: &["aeron"], lacking: "the module of Aeron is not there" };

fn every_row_takes_its_carrier() -> Verdict {
    LIBRARY.holds(|rows| {
        let variables = [("AERON_DIR", "/nowhere"), ("AERON_THREADING_MODE", "INVOKER")];
        listed::take_their_carriers(rows, "-w hybrid", &variables, |row| match row {
            "aeron-ipc" => Carrier::SharedMemory,
            _ => Carrier::Network,
        });
    })
}

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(|rows| listed::streams_with(rows, "-w hybrid"))
}

fn an_end_that_dies_costs_its_row() -> Verdict {
    LIBRARY
        .holds(|rows| listed::killed_ends_cost_their_rows(rows, &["hybrid"], &[LEADER, FOLLOWER]))
}

fn settings_that_aeron_rejects_are_reported() -> Verdict {
    LIBRARY.holds(|_| {
        let ended = run("run -t aeron-ipc -s 64 --set aeron-ipc.term-length=100k").exits(2);
        let said = "term-length=102400: it is no power of two";
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        let words = "run -t aeron-ipc -w spin -s 64k --set aeron-ipc.term-length=64k --format json";
        let result = run(words).exits(1).result();
        let (status, reason) = outcome(&result, "aeron-ipc");
        assert_eq!(status, "failed");
        assert!(reason.contains("terms of 65536 bytes carry those of up to 8192"), "{reason}");
        assert!(reason.contains("term-length=4194304"), "{reason}");
    })
}
