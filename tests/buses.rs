//! Tests with real remote calls and buses: Cap'n Proto, D-Bus, LCM, NATS. Carriers, streams, several followers, a killed
//! endpoint, a bus that does not get ready.

use std::{env, fs, os::unix::fs::PermissionsExt};

use ipcmark_transport::Carrier;

use crate::support::{
    Verdict, end, ipcmark,
    listed::{self, Library},
    only, outcome, run,
    scene::{FOLLOWER, LEADER},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    one_packet_reaches_all_followers,
    an_end_that_dies_ends_the_wait_of_the_other,
    a_missing_server_is_reported_with_the_package_to_install,
    a_bus_that_does_not_get_ready_is_given_up_in_time,
];

/// The libraries that lose nothing.
const RELIABLE: Library =
    Library { families: &["capnproto", "nats"], lacking: "neither Cap'n Proto nor NATS is there" };

const LCM: Library = Library { families: &["lcm"], lacking: "the module of LCM is not there" };

const NATS: Library =
    Library { families: &["nats"], lacking: "the module of NATS, or nats-server, is not there" };

const DBUS: Library =
    Library { families: &["dbus"], lacking: "the module of D-Bus, or dbus-daemon, is not there" };

const ALL: Library = Library { families: &["capnproto", "lcm", "nats"], lacking: "none is there" };

fn every_row_takes_its_carrier() -> Verdict {
    RELIABLE.holds(|rows| {
        let told = |row: &str| if row == "nats" { Carrier::Network } else { Carrier::Kernel };
        let variables = [("NATS_DEFAULT_TO_LIB_MSG_DELIVERY", "1")];
        listed::take_their_carriers(rows, "", &variables, told);
    })
}

fn a_stream_loses_nothing() -> Verdict {
    RELIABLE.holds(listed::streams_lose_nothing)
}

fn one_packet_reaches_all_followers() -> Verdict {
    LCM.holds(|rows| {
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
    ALL.holds(|rows| {
        listed::killed_ends_cost_their_rows(rows, &["spin"], &[LEADER]);
        listed::killed_ends_cost_their_rows(rows, &["block"], &[FOLLOWER]);
    })
}

fn a_missing_server_is_reported_with_the_package_to_install() -> Verdict {
    NATS.holds(|_| {
        let mut command = ipcmark("run -t nats -w spin -s 64 -n 100 --trials 1 --format json");
        let result = end(command.env("PATH", "/nowhere")).exits(1).result();
        let (status, reason) = outcome(&result, "nats");
        assert_eq!(status, "unavailable");
        assert!(reason.contains("cannot find nats-server: there is no such program"), "{reason}");
        assert!(reason.contains("apt install nats-server"), "{reason}");
    })
}

/// The row has the module's own error, which names four fifths of the timeout.
fn a_bus_that_does_not_get_ready_is_given_up_in_time() -> Verdict {
    DBUS.holds(|_| {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let program = directory.path().join("dbus-daemon");
        fs::write(&program, "#!/bin/sh\nexec sleep 3600\n").expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        let others = env::var_os("PATH").unwrap_or_default();
        let path = [directory.path().into()].into_iter().chain(env::split_paths(&others));
        let mut command =
            ipcmark("run -t dbus-daemon -w block -s 64 -n 10 --timeout 20s --format json");
        command.env("PATH", env::join_paths(path).expect("a list of directories"));
        let result = end(&mut command).exits(1).result();
        let (status, reason) = outcome(&result, "dbus-daemon");
        assert_eq!(status, "failed");
        let said = "cannot start dbus-daemon: it does not get ready within 16 s, said the leader";
        assert!(reason.contains(said), "{reason}");
    })
}
