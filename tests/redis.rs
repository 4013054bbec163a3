//! Tests with real Redis: streams through its server, a killed endpoint, a machine without a
//! server.

use crate::support::{
    Verdict, end, ipcmark,
    listed::{self, Library},
    outcome,
    scene::FOLLOWER,
};

ipcmark_harness::tests![
    a_stream_loses_nothing,
    a_follower_that_dies_ends_the_sleep_of_its_leader,
    a_missing_server_is_reported_with_the_package_to_install,
];

const LIBRARY: Library =
    Library { families: &["redis"], lacking: "the module of Redis, or redis-server, is not there" };

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(listed::streams_lose_nothing)
}

fn a_follower_that_dies_ends_the_sleep_of_its_leader() -> Verdict {
    LIBRARY.holds(|rows| listed::killed_ends_cost_their_rows(rows, &["block"], &[FOLLOWER]))
}

fn a_missing_server_is_reported_with_the_package_to_install() -> Verdict {
    LIBRARY.holds(|_| {
        let mut command =
            ipcmark("run -t redis-list,pipe -w spin -s 64 -n 100 --trials 1 --format json");
        let result = end(command.env("PATH", "/nowhere")).exits(1).result();
        let (status, reason) = outcome(&result, "redis-list");
        assert_eq!(status, "unavailable");
        assert!(reason.contains("cannot find redis-server: there is no such program"), "{reason}");
        assert!(reason.contains("apt install redis-server"), "{reason}");
        assert_eq!(outcome(&result, "pipe").0, "ok");
    })
}
