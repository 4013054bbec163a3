//! Unusable modules: they are listed with the reason, and do not affect others.

use std::{fs, path::Path};

use super::{
    command::{entries, entry, finish, ipcmark, list, reason, run, text},
    compiled::{compile, module},
};
use crate::support::processes::Process;

ipcmark_harness::tests![
    another_version,
    no_entry,
    a_function_that_no_library_has,
    a_crashing_constructor_is_reported_with_its_standard_error,
    a_constructor_that_ends_the_process,
    a_constructor_that_hangs,
    a_missing_library,
    no_shared_object_at_all,
    a_file_that_is_not_there_is_a_wrong_command_line,
    descriptions_that_do_not_hold,
    a_missing_daemon_is_reported_with_its_remedy,
    of_two_with_one_name_the_first_counts,
    output_of_a_library_does_not_disturb_the_answer,
    processes_of_a_library_end_with_the_query,
    a_module_that_is_refused_is_a_row_of_a_run,
    a_named_module_that_is_refused_is_no_success,
    a_named_module_stands_for_an_installed_one_of_its_file_name,
];

/// The reason why the module `name` is refused.
fn refusal(name: &str) -> String {
    // Its own names are unknown, so it is listed under the file's name.
    let test = "refused";
    reason(&module(name, test), &format!("{test}-{name}"))
}

#[track_caller]
fn says(name: &str, words: &str) {
    let reason = refusal(name);
    assert!(reason.contains(words), "{reason}");
}

fn another_version() {
    says("other_version", "it is built for version 2 of the contract, and this ipcmark speaks 1");
}

fn no_entry() {
    says("no_entry", "it has no function ipcmark_module()");
}

fn a_function_that_no_library_has() {
    says("unresolved", "undefined symbol: a_function_that_is_nowhere");
}

fn a_crashing_constructor_is_reported_with_its_standard_error() {
    says(
        "crashes",
        "it was killed by SIGSEGV when it was tried; its standard error ends with: about to crash",
    );
}

fn a_constructor_that_ends_the_process() {
    says("exits", "it ended when it was tried (exit status: 3)");
}

fn a_constructor_that_hangs() {
    says("hangs", "it did not answer within 15 s");
}

fn a_missing_library() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let needed = module("no_entry", "gone");
    let source = directory.join("needs.c");
    fs::write(&source, "int ipcmark_module(void) { return 0; }\n").unwrap();
    let object = directory.join("needs.so");
    let status = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"])
        .args([&object, &source, &needed])
        .status()
        .unwrap();
    assert!(status.success());
    fs::remove_file(&needed).unwrap();
    let reason = reason(&object, "needs");
    assert!(reason.contains("gone-no_entry.so: cannot open shared object file"), "{reason}");
}

fn no_shared_object_at_all() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    fs::write(&file, "some text\n").unwrap();
    let reason = reason(&file, "text");
    assert!(reason.contains("text.so: "), "{reason}");
}

fn a_file_that_is_not_there_is_a_wrong_command_line() {
    let output = ipcmark().args(["list", "--module", "/nonexistent.so"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot read the module /nonexistent.so"));
}

/// A transport with a wrong description is left out, and the reason is reported with the list.
#[track_caller]
fn complains(name: &str, words: &str) {
    let module = module(name, "complains");
    let output = ipcmark().args(["list", "--format", "json", "--module"]).arg(module).output();
    let output = output.unwrap();
    assert!(output.status.success());
    let complaint = text(&output.stderr);
    assert!(complaint.contains(words), "{complaint}");
    assert!(!text(&output.stdout).contains("test-transport"));
}

fn descriptions_that_do_not_hold() {
    complains("smaller", "its struct ipcmark_transport has");
    complains("no_take", "its transport test-transport lacks the function take");
    complains("no_loan", "its transport test-transport has LOANS without loan");
    complains("no_wait", "its transport test-transport has no wait");
    complains("bad_name", "'Two Words' is no name for a transport");
}

fn a_missing_daemon_is_reported_with_its_remedy() {
    let entries = list(&module("not_here", "not-here"));
    let entry = entry(&entries, "test-transport").unwrap();
    assert_eq!(entry["available"], false);
    assert_eq!(entry["reason"], "cannot find the daemon testd: it is not installed");
    assert_eq!(entry["install"], "apt install testd");
}

fn of_two_with_one_name_the_first_counts() {
    let entries = list(&module("known_name", "known"));
    let pipes: Vec<_> = entries.iter().filter(|entry| entry["name"] == "pipe").collect();
    assert_eq!(pipes.len(), 1);
    assert_eq!(pipes[0]["family"], "os");
}

fn output_of_a_library_does_not_disturb_the_answer() {
    let entries = list(&module("prints", "prints"));
    assert_eq!(entry(&entries, "test-transport").unwrap()["available"], true);
}

fn processes_of_a_library_end_with_the_query() {
    started_by("forks", &[]);
    // It leaves its parent, its session and its group. Regression: it survived.
    started_by("detaches", &[]);
    started_by("detaches_and_hangs", &["it did not answer within 15 s"]);
}

/// The processes started by this module's constructor are gone when the list is printed.
#[track_caller]
fn started_by(name: &str, says: &[&str]) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pid"));
    let _ = fs::remove_file(&file);
    let mut command = ipcmark();
    command.env("TEST_PID_FILE", &file).args(["list", "--format", "json", "--module"]);
    let entries = entries(command.arg(module(name, "started")));
    for words in says {
        let reason = entry(&entries, &format!("started-{name}")).unwrap()["reason"].to_string();
        assert!(reason.contains(words), "{reason}");
    }
    let text = fs::read_to_string(&file).expect("it has started a process");
    let number = text.trim().parse().expect("its number");
    assert!(Process::read(number).is_none_or(|process| process.now().is_none()), "{name}");
}

fn a_module_that_is_refused_is_a_row_of_a_run() {
    let (output, cases) = run(&module("crashes", "row"), &["-t", "row-crashes,null", "-s", "64"]);
    assert_eq!(output.status.code(), Some(1), "it was asked for by name");
    let case = cases.iter().find(|case| case["transport"] == "row-crashes").unwrap();
    assert_eq!(case["status"], "unavailable");
    assert!(case["reason"].as_str().unwrap().contains("SIGSEGV"));
    let null = cases.iter().find(|case| case["transport"] == "null").unwrap();
    assert_eq!(null["status"], "ok");
}

/// Regression: the status was 0, and nothing was reported.
fn a_named_module_that_is_refused_is_no_success() {
    let module = module("crashes", "no-success");
    let (output, cases) = run(&module, &["-t", "null", "-s", "64"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(
        complaint.contains("cannot use the module") && complaint.contains("SIGSEGV"),
        "{complaint}"
    );
    assert!(cases.iter().all(|case| case["status"] == "ok"), "{cases:?}");
}

/// Regression: the installed one was measured.
fn a_named_module_stands_for_an_installed_one_of_its_file_name() {
    let [installed, named] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules/null/null.c");
    fs::copy(compile(&source, "installed-null"), installed.path().join("null.so")).unwrap();
    fs::copy(module("no_entry", "named"), named.path().join("null.so")).unwrap();
    let words = ["run", "-n", "100", "-t", "null-module", "-s", "64", "--format", "json"];
    let with = |named: Option<&Path>| {
        let mut command = ipcmark();
        command.env("IPCMARK_MODULE_PATH", installed.path()).args(words);
        let (output, cases) = finish(
            command.args(named.map(|_| "--module")).args(named.map(|path| path.join("null.so"))),
        );
        (output.status.code(), cases)
    };
    let (status, cases) = with(None);
    assert_eq!((status, &cases[0]["status"]), (Some(0), &"ok".into()), "{cases:?}");
    let (status, cases) = with(Some(named.path()));
    assert_eq!((status, &cases[0]["status"]), (Some(1), &"unavailable".into()), "{cases:?}");
    assert!(
        cases[0]["reason"].as_str().unwrap().contains("no function ipcmark_module"),
        "{cases:?}"
    );
}
