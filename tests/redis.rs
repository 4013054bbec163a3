//! Redis for real: streams through its server, an end that dies, a machine without a server.

use crate::support::{
    Verdict, end, ipcmark, listed, outcome,
    scene::{FOLLOWER, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    a_stream_loses_nothing,
    a_follower_that_dies_ends_the_sleep_of_its_leader,
    without_a_server_the_list_says_what_to_install,
];

/// The rows of Redis that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&["redis"])
}

fn none() -> Verdict {
    Verdict::Skipped("the module of Redis, or redis-server, is not there".into())
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
        killed_end_costs_its_row(&row, "block", FOLLOWER);
    }
    Verdict::Holds
}

fn without_a_server_the_list_says_what_to_install() -> Verdict {
    if rows().is_empty() {
        return none();
    }
    let mut command =
        ipcmark("run -t redis-list,pipe -w spin -s 64 -n 100 --trials 1 --format json");
    let result = end(command.env("PATH", "/nowhere")).exits(1).result();
    let (status, reason) = outcome(&result, "redis-list");
    assert_eq!(status, "unavailable");
    assert!(reason.contains("cannot find redis-server: there is no such program"), "{reason}");
    assert!(reason.contains("apt install redis-server"), "{reason}");
    assert_eq!(outcome(&result, "pipe").0, "ok");
    Verdict::Holds
}
