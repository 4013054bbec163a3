//! Tests with real Python rows: streams, and a killed endpoint.

use std::slice;

use crate::support::{
    Verdict,
    listed::{self, Library},
    scene::{FOLLOWER, LEADER, Scene},
};

ipcmark_harness::tests![
    a_stream_loses_nothing,
    an_end_that_dies_ends_the_wait_of_the_other,
    no_process_of_python_is_started,
];

const LIBRARY: Library =
    Library { families: &["python"], lacking: "the module of Python is not there" };

fn a_stream_loses_nothing() -> Verdict {
    LIBRARY.holds(listed::streams_lose_nothing)
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    LIBRARY.holds(|rows| {
        for row in rows {
            let waits: &[_] = if row == "python-queue" { &["block"] } else { &["spin", "block"] };
            listed::killed_ends_cost_their_rows(slice::from_ref(row), waits, &[LEADER, FOLLOWER]);
        }
    })
}

/// Python's resource tracker would be such a process.
fn no_process_of_python_is_started() -> Verdict {
    LIBRARY.holds(|rows| {
        for row in rows {
            let scene = Scene::start(&format!("run -t {row} -w block -s 64 -d 1h"));
            scene.await_case();
            let names: Vec<_> = scene.processes().into_iter().map(|process| process.name).collect();
            assert!(names.iter().all(|name| name.starts_with("ipcmark")), "{row}: {names:?}");
        }
    })
}
