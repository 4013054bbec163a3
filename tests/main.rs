//! The end-to-end tests of the command. Each test runs in its own namespaces: see `crates/harness`.
//!
//! `cargo test --package ipcmark-cli --test end_to_end faults::` runs those of one file.

mod advise;
mod aeron;
mod buffers;
mod buses;
mod by_hand;
mod clean;
mod coming_from;
mod compare;
mod completion;
mod constrained;
mod cores;
mod dds;
mod doctor;
mod explain;
mod exports;
mod fan_in;
mod fan_out;
mod faults;
mod files;
mod formats;
mod grpc;
mod history;
mod inherited;
mod leftovers;
mod lent;
mod libfabric;
mod libraries;
mod limits;
mod live;
mod load;
mod man_pages;
mod mistakes;
mod modules;
mod mpi;
mod options;
mod pairs;
mod placement;
mod python;
mod redis;
mod regression;
mod report;
mod run;
mod secure;
mod setup;
mod streams;
mod styles;
mod support;
mod sweep;
mod terminals;
mod torture;
mod ucx;
mod uring;
mod varlink;
mod xdp;
mod zenoh;

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode};

use ipcmark_harness::Test;

/// The tests of each file.
fn files() -> Vec<(&'static str, Vec<Test>)> {
    vec![
        ("advise", advise::tests()),
        ("aeron", aeron::tests()),
        ("buffers", buffers::tests()),
        ("buses", buses::tests()),
        ("by_hand", by_hand::tests()),
        ("clean", clean::tests()),
        ("coming_from", coming_from::tests()),
        ("compare", compare::tests()),
        ("completion", completion::tests()),
        ("constrained", constrained::tests()),
        ("cores", cores::tests()),
        ("dds", dds::tests()),
        ("explain", explain::tests()),
        ("exports", exports::tests()),
        ("doctor", doctor::tests()),
        ("fan_in", fan_in::tests()),
        ("fan_out", fan_out::tests()),
        ("faults", faults::tests()),
        ("files", files::tests()),
        ("formats", formats::tests()),
        ("grpc", grpc::tests()),
        ("history", history::tests()),
        ("inherited", inherited::tests()),
        ("leftovers", leftovers::tests()),
        ("lent", lent::tests()),
        ("libfabric", libfabric::tests()),
        ("libraries", libraries::tests()),
        ("limits", limits::tests()),
        ("live", live::tests()),
        ("load", load::tests()),
        ("man_pages", man_pages::tests()),
        ("mistakes", mistakes::tests()),
        ("modules", modules::tests()),
        ("mpi", mpi::tests()),
        ("options", options::tests()),
        ("pairs", pairs::tests()),
        ("placement", placement::tests()),
        ("python", python::tests()),
        ("redis", redis::tests()),
        ("regression", regression::tests()),
        ("report", report::tests()),
        ("run", run::tests()),
        ("secure", secure::tests()),
        ("setup", setup::tests()),
        ("streams", streams::tests()),
        ("styles", styles::tests()),
        ("sweep", sweep::tests()),
        ("terminals", terminals::tests()),
        ("torture", torture::tests()),
        ("ucx", ucx::tests()),
        ("uring", uring::tests()),
        ("varlink", varlink::tests()),
        ("xdp", xdp::tests()),
        ("zenoh", zenoh::tests()),
    ]
}

fn main() -> ExitCode {
    let of_files = files()
        .into_iter()
        .flat_map(|(file, tests)| tests.into_iter().map(move |test| test.of(file)));
    let all = of_files.chain([Test::new("every_file_is_listed", every_file_is_listed)]);
    ipcmark_harness::main_at_once(all.collect(), at_once())
}

/// Twice as many as processors, because a test waits half of the time.
fn at_once() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

fn every_file_is_listed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut there: BTreeSet<String> = entries.map(|path| stem(&path)).collect();
    // This file, and the shared code of the others.
    assert!(there.remove("main") && there.remove("support"));
    let listed = files().into_iter().map(|(file, _)| file.to_owned()).collect();
    assert_eq!(there, listed);
}
