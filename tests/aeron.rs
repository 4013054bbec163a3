//! Aeron for real: what carries the messages, wherever its media driver runs, streams, options that do not fit, an end
//! that dies.

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, listed, outcome, run,
    scene::{FOLLOWER, LEADER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    an_end_that_dies_costs_its_row,
    what_aeron_would_refuse_is_told,
];

/// The rows of Aeron that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&["aeron"])
}

fn none() -> Verdict {
    Verdict::Skipped("the module of Aeron is not there".into())
}

fn every_row_takes_its_carrier() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    let variables = [("AERON_DIR", "/nowhere"), ("AERON_THREADING_MODE", "INVOKER")];
    listed::take_their_carriers(&rows, "-w hybrid", &variables, |row| match row {
        "aeron-ipc" => Carrier::SharedMemory,
        _ => Carrier::Network,
    });
    Verdict::Holds
}

fn a_stream_loses_nothing() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    listed::streams_with(&rows, "-w hybrid");
    Verdict::Holds
}

fn an_end_that_dies_costs_its_row() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for row in rows {
        killed_end_costs_its_row(&row, "hybrid", FOLLOWER);
        killed_end_costs_its_row(&row, "hybrid", LEADER);
    }
    Verdict::Holds
}

fn what_aeron_would_refuse_is_told() -> Verdict {
    if rows().is_empty() {
        return none();
    }
    let ended = run("run -t aeron-ipc -s 64 --set aeron-ipc.term-length=100k").exits(2);
    assert!(ended.stderr.contains("term-length=102400: it is no power of two"), "{}", ended.stderr);
    let words = "run -t aeron-ipc -w spin -s 64k --set aeron-ipc.term-length=64k --format json";
    let result = run(words).exits(1).result();
    let (status, reason) = outcome(&result, "aeron-ipc");
    assert_eq!(status, "failed");
    assert!(reason.contains("terms of 65536 bytes carry those of up to 8192"), "{reason}");
    assert!(reason.contains("term-length=4194304"), "{reason}");
    Verdict::Holds
}
