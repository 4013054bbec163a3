//! Tests with real libfabric: the carrier, whatever the user's variables are, streams, several followers, signals.

use std::fs;

use ipcmark_transport::Carrier;
use libc::{
    SIGABRT, SIGBUS, SIGINT, SIGSEGV, SIGTERM, SYS_process_vm_readv, SYS_process_vm_writev,
};

use crate::support::{
    Verdict,
    confined::{confined, no_call, refused},
    end, ipcmark,
    listed::{self, Library},
    only,
    processes::await_that,
    scene::{LEADER, Scene},
};

ipcmark_harness::tests![
    every_row_takes_its_carrier,
    a_stream_loses_nothing,
    several_followers_have_an_endpoint_each,
    a_signal_calls_no_handler_of_the_provider,
    a_refused_call_is_no_single_copy,
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

/// Regression: a worker that got a signal while it opened its end waited in the provider's handler for a lock of its
/// own.
fn a_signal_calls_no_handler_of_the_provider() -> Verdict {
    LIBRARY.holds(|_| {
        let scene = Scene::start("run -t libfabric-shm -w spin -s 64 -d 1h");
        let leader = scene.await_case();
        let of_leader = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", leader.id));
        await_that("the leader has an endpoint", || {
            of_leader("maps").ok()?.contains("-leader").then_some(())
        });
        let status = of_leader("status").expect("it measures");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.expect("a mask").trim(), 16).expect("a number");
        for signal in [SIGINT, SIGABRT, SIGBUS, SIGSEGV, SIGTERM] {
            assert_eq!(caught >> (signal - 1) & 1, 0, "signal {signal} is caught: {caught:x}");
        }
        scene.send(LEADER, SIGTERM);
        let result = scene.end().1;
        let reasons: Vec<_> = result.cases.iter().filter_map(|case| case.reason()).collect();
        assert!(matches!(reasons[..], [one] if one.contains("signal 15")), "{reasons:?}");
    })
}

/// Regression: the provider copies twice if the kernel refuses its call, and the result said what was asked for.
fn a_refused_call_is_no_single_copy() -> Verdict {
    // As a container or Yama refuses them: the provider tries the second one, and uses the first one.
    let steps = || vec![no_call(SYS_process_vm_readv), no_call(SYS_process_vm_writev)];
    if let Some(skipped) = refused("no copies between processes", steps()) {
        return skipped;
    }
    LIBRARY.holds(|_| {
        let words = "run -t libfabric-shm -w spin -s 64k -n 20 --trials 1 --format json";
        let result = end(&mut confined(ipcmark(words), steps())).exits(0).result();
        let configuration = &only(&result.cases[0]).session.configuration;
        assert_eq!(configuration["CMA"], "refused by the kernel");
    })
}
