//! Rows of Python for real: streams, and an end that dies.

use crate::support::{
    Verdict, listed,
    scene::{FOLLOWER, LEADER, Scene, killed_end_costs_its_row},
};

ipcmark_harness::tests![
    a_stream_loses_nothing,
    an_end_that_dies_ends_the_wait_of_the_other,
    no_process_of_python_is_started,
];

/// The rows of Python that can run here.
fn rows() -> Vec<String> {
    listed::of_families(&["python"])
}

fn none() -> Verdict {
    Verdict::Skipped("the module of Python is not there".into())
}

fn a_stream_loses_nothing() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    listed::streams_lose_nothing(&rows);
    Verdict::Holds
}

fn an_end_that_dies_ends_the_wait_of_the_other() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    let waits = rows.iter().flat_map(|row| [(row, "spin"), (row, "block")]);
    for (row, wait) in waits.filter(|(row, wait)| *row != "python-queue" || *wait == "block") {
        for name in [LEADER, FOLLOWER] {
            killed_end_costs_its_row(row, wait, name);
        }
    }
    Verdict::Holds
}

/// Python's resource tracker would be one.
fn no_process_of_python_is_started() -> Verdict {
    let rows = rows();
    if rows.is_empty() {
        return none();
    }
    for row in rows {
        let scene = Scene::start(&format!("run -t {row} -w block -s 64 -d 1h"));
        scene.await_case();
        let names: Vec<_> = scene.processes().into_iter().map(|process| process.name).collect();
        assert!(names.iter().all(|name| name.starts_with("ipcmark")), "{row}: {names:?}");
    }
    Verdict::Holds
}
