//! A test for every fixed bug. Those of the engine are in `crates/engine/tests`.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::pipe,
    os::unix::ffi::OsStrExt,
    process::Stdio,
};

use crate::support::{end, ipcmark, read, run};
use ipcmark_results::RunResult;

ipcmark_harness::tests![
    a_mistake_with_closed_standard_error_has_its_exit_status,
    a_result_that_cannot_be_printed_is_no_success,
    a_full_file_is_named_once,
    a_file_name_needs_no_unicode,
    a_plan_may_have_the_name_of_a_word,
    a_flag_replaces_a_list_of_a_plan,
    a_name_of_a_transport_and_a_family_means_the_transport,
];

/// The message to a closed standard error made the command panic, with status 101.
fn a_mistake_with_closed_standard_error_has_its_exit_status() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut command = ipcmark("run -t pip");
    let status = command.stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

/// The status was 0.
fn a_result_that_cannot_be_printed_is_no_success() {
    for words in ["run -t null -s 64 -n 10", "list", "schema"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = ipcmark(words).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot write to standard output: No space left"), "{said}");
    }
}

/// The sentence contained itself.
fn a_full_file_is_named_once() {
    let ended = run("run -t null -s 64 -n 10 -o /dev/full").exits(1);
    assert_eq!(ended.stderr.matches("/dev/full").count(), 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("null"), "the result is shown all the same");
}

/// Arguments that are not Unicode made the command panic, and were dropped if there was a plan.
fn a_file_name_needs_no_unicode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(OsStr::from_bytes(b"result-\xff.json"));
    end(ipcmark("run -t null -s 64 -n 10 -o").arg(&path)).exits(0);
    read(&path);
    fs::remove_file(&path).unwrap();
    let plan = directory.path().join("plan.toml");
    fs::write(&plan, "transports = [\"null\"]\nsizes = [64]\nround-trips = 10\n").unwrap();
    end(ipcmark("run -o").arg(&path).arg(&plan)).exits(0);
    assert_eq!(read(&path).cases.len(), 1);
}

/// Every word equal to the plan's name was taken for the plan.
fn a_plan_may_have_the_name_of_a_word() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("null"), "sizes = [64]\nround-trips = 10\n").unwrap();
    let mut command = ipcmark("run null -t null --format json");
    let result = end(command.current_dir(directory.path())).exits(0).result();
    assert_eq!(result.cases.len(), 1);
}

/// A list in a plan was merged with the same flag's; a count was refused together with a plan's
/// time.
fn a_flag_replaces_a_list_of_a_plan() {
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("plan.toml");
    let text = "transports = [\"pipe\"]\nsizes = [64]\nwaits = [\"block\"]\nduration = \"1h\"\n";
    fs::write(&plan, text).unwrap();
    let mut command = ipcmark("run -t null -w spin -n 10 --format json");
    let result: RunResult = end(command.arg(&plan)).exits(0).result();
    let rows: Vec<_> = result
        .cases
        .iter()
        .map(|case| (&*case.identity.transport, case.identity.wait.as_str()))
        .collect();
    assert_eq!(rows, [("null", "spin")]);
}

/// `-t iceoryx2` chose the whole family, and failed because the others were unavailable.
fn a_name_of_a_transport_and_a_family_means_the_transport() {
    let ended = run("run -t iceoryx2 -w spin -s 64 -n 10 --format json");
    let names: Vec<String> =
        ended.result().cases.into_iter().map(|case| case.identity.transport).collect();
    assert_eq!(names, ["iceoryx2"]);
}
