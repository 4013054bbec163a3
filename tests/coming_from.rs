//! The commands in the documentation for users of other benchmarks, run as written except for fewer messages and a
//! single size.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ipcmark_harness::Test;

use crate::support::{Ended, Running, end, ipcmark};

/// One test for each page.
pub fn tests() -> Vec<Test> {
    let paths = fs::read_dir(root().join("docs/coming-from")).unwrap();
    let mut pages: Vec<PathBuf> = paths.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let test = |page: PathBuf| {
        let name = page.file_stem().unwrap().to_string_lossy().replace('-', "_");
        Test::new(format!("commands_of_{name}_run"), move || commands_run(&page))
    };
    pages.into_iter().map(test).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the commands in a new directory with the examples.
fn commands_run(page: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let examples = fs::canonicalize(root().join("examples")).unwrap();
    std::os::unix::fs::symlink(examples, directory.path().join("examples")).unwrap();
    let text = fs::read_to_string(page).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("ipcmark "));
    let (mut follower, mut count) = (None, 0);
    for line in lines.map(|line| line.replace('\'', "")) {
        count += 1;
        if line.starts_with("iceperf-follower") || line.starts_with("latency-test subscriber") {
            follower = Some(line);
            continue;
        }
        check(&line, &run(&line, follower.take(), directory.path()));
    }
    assert!(count >= 3 && follower.is_none(), "{count} commands, {follower:?} without a leader");
}

/// Runs the command, with its follower in another terminal if it has one.
fn run(line: &str, follower: Option<String>, directory: &Path) -> Ended {
    let socket = follower.as_ref().map_or(String::new(), |_| " --socket socket".to_owned());
    let served = follower
        .map(|line| Running::start(ipcmark(&format!("{line}{socket}")).current_dir(directory)));
    let ended = end(ipcmark(&shortened(line, &socket)).current_dir(directory));
    if let Some(served) = served {
        served.end();
    }
    ended
}

/// Few messages of one size, and a timeout for a busy machine.
fn shortened(line: &str, socket: &str) -> String {
    let few = "-n 20 -s 64 --trials 1 --timeout 5m";
    match line.split_once(" -- ") {
        Some((own, of_run)) => format!("{own}{socket} -- {of_run} {few}"),
        None if line.starts_with("run ") => format!("{line} {few}"),
        None => format!("{line}{socket} -- {few}"),
    }
}

/// It prints something; the exit status is 0, or 1 if a library is missing.
fn check(line: &str, ended: &Ended) {
    let (shown, said) = (&ended.stdout, &ended.stderr);
    assert!(!shown.is_empty() && !shown.contains("failed:"), "{line}: {shown}{said}");
    let is_missing = shown.contains("unavailable");
    assert!(ended.code() == 0 || (ended.code() == 1 && is_missing), "{line}: {shown}{said}");
}
