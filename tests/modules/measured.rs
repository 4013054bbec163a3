//! Modules that are measured, and the effect of faults during the measurement.

use std::{fs, path::Path};

use serde_json::Value;

use super::{
    command::{entries, entry, finish, ipcmark, run},
    compiled::{compile, module},
};

ipcmark_harness::tests![
    a_right_module_is_measured_with_its_version_and_configuration,
    a_module_is_told_the_time_to_connect,
    a_module_of_a_later_header_is_measured,
    a_module_under_tmp_is_measured_though_the_sandbox_hides_it,
    modules_lie_in_directories_of_the_environment,
    only_modules_of_the_chosen_transports_are_loaded,
    one_queue_for_both_directions_is_detected,
    a_silent_fallback_of_a_library_is_detected,
    a_module_that_crashes_costs_its_row_and_leaves_nothing,
    the_catalogue_agrees_with_the_installed_modules,
];

fn a_right_module_is_measured_with_its_version_and_configuration() {
    let module = module("right", "measured");
    let (output, cases) = run(&module, &["-t", "test-transport", "-s", "16,64,64k"]);
    assert!(output.status.success(), "{cases:#?}");
    assert_eq!(cases.len(), 3);
    for case in cases {
        assert_eq!(case["status"], "ok", "{case:#}");
        assert_eq!(case["family"], "test");
        assert_eq!(case["library_version"], "7.7");
        let trial = &case["measurement"]["round_trips"]["trials"][0];
        assert_eq!(trial["session"]["configuration"]["buffer"], "64 KiB");
        assert_eq!(trial["times_ns"]["count"], 500);
    }
}

/// Four fifths of the timeout.
fn a_module_is_told_the_time_to_connect() {
    let module = module("notes_limit", "limit");
    let (output, cases) = run(&module, &["-t", "test-transport", "-s", "64", "--timeout", "5m"]);
    assert!(output.status.success(), "{cases:#?}");
    let trial = &cases[0]["measurement"]["round_trips"]["trials"][0];
    assert_eq!(trial["session"]["configuration"]["connect_ns"], "240000000000");
}

fn a_module_of_a_later_header_is_measured() {
    let (output, _) = run(&module("larger", "larger"), &["-t", "test-transport", "-s", "64"]);
    assert!(output.status.success());
}

fn a_module_under_tmp_is_measured_though_the_sandbox_hides_it() {
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let hidden = directory.path().join("hidden.so");
    fs::copy(module("right", "hidden"), &hidden).unwrap();
    for sandbox in ["auto", "off"] {
        let (output, cases) =
            run(&hidden, &["-t", "test-transport", "-s", "64", "--sandbox", sandbox]);
        assert!(output.status.success(), "{cases:#?}");
    }
}

fn modules_lie_in_directories_of_the_environment() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::copy(module("right", "directory"), directory.path().join("some.so")).unwrap();
    fs::write(directory.path().join("notes.txt"), "no module").unwrap();
    let mut command = ipcmark();
    command.env("IPCMARK_MODULE_PATH", directory.path());
    let (output, cases) =
        finish(command.args(["run", "-t", "test", "-s", "64", "-n", "100", "--format", "json"]));
    assert!(output.status.success());
    assert_eq!(cases[0]["transport"], "test-transport", "{cases:#?}");
}

/// Regression: loading the large libraries took as long as a short run of a pipe.
fn only_modules_of_the_chosen_transports_are_loaded() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::copy(module("forks", "chosen"), directory.path().join("nng.so")).unwrap();
    let trace = directory.path().join("loaded");
    for (words, is_asked, succeeds) in [
        ("pipe", false, true),
        ("pip*", false, true),
        ("pipe,nng-tcp", true, false),
        ("pipe,nng", true, true),
    ] {
        let mut command = ipcmark();
        command.env("IPCMARK_MODULE_PATH", directory.path()).env("TEST_PID_FILE", &trace);
        let (output, _) =
            finish(command.args(["run", "-t", words, "-s", "64", "-n", "5", "--format", "json"]));
        assert_eq!(output.status.success(), succeeds, "{words}");
        assert_eq!(fs::remove_file(&trace).is_ok(), is_asked, "{words}");
    }
}

fn one_queue_for_both_directions_is_detected() {
    let module = module("one_queue", "one-queue");
    let (output, cases) = run(&module, &["-t", "test-transport", "-s", "64"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(cases[0]["status"], "failed");
    let reason = cases[0]["reason"].as_str().unwrap();
    // Either process may be the first to detect it: one takes its own message, which the other then misses.
    let found = ["took its own message back", "the transport loses or reorders"];
    assert!(found.iter().any(|cause| reason.contains(cause)), "{reason}");
}

fn a_silent_fallback_of_a_library_is_detected() {
    let module = module("falls_back", "falls-back");
    for sandbox in ["auto", "off"] {
        let options = ["-t", "test-transport", "-s", "64", "--sandbox", sandbox];
        let (output, cases) = run(&module, &options);
        assert!(output.status.success(), "{cases:#?}");
        let trial = &cases[0]["measurement"]["round_trips"]["trials"][0];
        let carrier = &trial["session"]["carrier"];
        assert_eq!(carrier["declared"], "shared-memory", "{carrier:#}");
        assert_eq!(carrier["found"], "kernel", "{carrier:#}");
    }
    let mut command = ipcmark();
    command.args(["run", "-n", "500", "-s", "64", "-t", "test-transport", "--module"]).arg(&module);
    let table = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let sentence = "test-transport: it fell back: kernel carried the messages, not shared memory";
    assert!(table.contains(sentence), "{table}");
}

fn a_module_that_crashes_costs_its_row_and_leaves_nothing() {
    let module = module("crashes_later", "crashes-later");
    let mut command = ipcmark();
    command.args(["run", "-n", "500", "--format", "json", "--sandbox", "off", "-s", "64"]);
    let (output, cases) =
        finish(command.args(["-t", "test-transport,null", "--module"]).arg(module));
    assert_eq!(output.status.code(), Some(1));
    for case in cases {
        let failed = case["transport"] == "test-transport";
        assert_eq!(case["status"], if failed { "failed" } else { "ok" }, "{case:#}");
        assert!(!failed || case["reason"].as_str().unwrap().contains("SIGABRT"), "{case:#}");
    }
    let left = Path::new("/dev/shm/test-of-a-module-that-crashes-later");
    assert!(!left.exists(), "the module named it");
}

/// An entry of the list without fields that depend on the machine.
fn words(entries: &[Value]) -> Vec<Value> {
    let mut entries = entries.to_vec();
    for entry in &mut entries {
        for field in ["available", "reason", "install"] {
            entry[field].take();
        }
    }
    entries
}

/// With `IPCMARK_MODULE_PATH` set, as in `make test`, this compares every module that was built.
fn the_catalogue_agrees_with_the_installed_modules() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules/null/null.c");
    let mut command = ipcmark();
    if let Some(path) = std::env::var_os("IPCMARK_MODULE_PATH") {
        command.env("IPCMARK_MODULE_PATH", path);
    }
    command.args(["list", "--format", "json", "--module"]).arg(compile(&source, "null"));
    let there = entries(&mut command);
    let known = entries(ipcmark().args(["list", "--format", "json"]));
    assert_eq!(entry(&there, "null-module").unwrap()["available"], true);
    assert_eq!(entry(&known, "null-module").unwrap()["available"], false);
    assert_eq!(words(&there), words(&known));
}
