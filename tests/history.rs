//! `ipcmark history`: results stored, listed, tracked and compared; and files that are not a
//! history.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use ipcmark_results::RunResult;
use nix::{sys::stat::Mode, unistd::mkfifo};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    Ended, Verdict, end, ipcmark, is_root, run,
    runs::{self, measured},
};

ipcmark_harness::tests![
    a_result_is_stored_once,
    a_result_comes_back_whole,
    a_run_adds_itself,
    runs_are_listed_with_their_labels,
    a_change_is_named_and_few_runs_are_not_enough,
    machines_are_series_of_their_own,
    sides_are_compared_as_compare_does,
    unknown_words_are_rejected,
    files_that_are_not_histories_are_rejected,
    a_history_of_another_form_is_refused,
    a_file_of_another_user_is_rejected,
    a_locked_file_is_waited_for_and_then_refused,
];

/// The result as another run on the same machine, in which everything takes `factor` times as long.
fn again(result: &RunResult, number: u32, factor: f64) -> RunResult {
    let mut again = runs::again(result, number, |_| factor);
    again.run.started_at = format!("2026-01-{:02}T03:04:05Z", number + 1);
    again
}

/// A history in its own directory.
struct HistoryDirectory {
    place: TempDir,
    result: RunResult,
}

impl HistoryDirectory {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), result: measured() }
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("h.sqlite")
    }

    /// `ipcmark history` with these words.
    fn history(&self, words: &str) -> Ended {
        history(&self.file(), words)
    }

    /// Adds the run of this number, in which everything takes `factor` times as long.
    fn add(&self, number: u32, factor: f64, words: &str) -> Ended {
        let path = self.place.path().join(format!("{number}.json"));
        let text = ipcmark_results::to_json(&again(&self.result, number, factor));
        fs::write(&path, text).unwrap();
        self.history(&format!("add {} {words}", path.display())).exits(0)
    }

    fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.history(&format!("{words} --format json")).exits(0).stdout)
            .unwrap()
    }
}

fn history(file: &Path, words: &str) -> Ended {
    end(ipcmark("history --file").arg(file).args(words.split_whitespace()))
}

/// Refused in one sentence: operation, file, cause, remedy.
#[track_caller]
fn refused(file: &Path, words: &str, said: &str) {
    let ended = history(file, words).exits(1);
    assert_eq!(ended.stdout, "");
    let stderr = ended.stderr;
    assert!(stderr.starts_with("ipcmark: cannot ") && stderr.contains(said), "{words}: {stderr}");
    assert!(stderr.contains(&file.display().to_string()) && stderr.contains("; "), "{stderr}");
}

fn a_result_is_stored_once() {
    let scene = HistoryDirectory::new();
    assert!(scene.add(1, 1.0, "").stderr.contains("added"));
    assert!(scene.add(1, 1.0, "").stderr.contains("is in the history already"));
    assert!(scene.add(1, 1.0, "--commit abcd").stderr.contains("its labels are set"));
    let list = scene.json("list");
    assert_eq!(list["runs"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["runs"][0]["commit"], "abcd");
    // Another result of the same run is an error, unless the first was incomplete.
    let path = scene.place.path().join("other.json");
    let write = |result: &RunResult| fs::write(&path, ipcmark_results::to_json(result)).unwrap();
    write(&again(&scene.result, 1, 2.0));
    refused(&scene.file(), &format!("add {}", path.display()), "another result of the run run-1");
    let mut partial = again(&scene.result, 2, 1.0);
    partial.complete = false;
    write(&partial);
    scene.history(&format!("add {} --label kept", path.display())).exits(0);
    let replaced = scene.add(2, 1.0, "");
    assert!(replaced.stderr.contains("replaced the incomplete result"), "{}", replaced.stderr);
    let list = scene.json("list");
    assert_eq!(list["runs"][1]["label"], "kept");
    assert_eq!(list["runs"][1]["complete"], true);
}

fn a_result_comes_back_whole() {
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "");
    let stored = ipcmark_history::History::read(&scene.file()).unwrap().result(1).unwrap();
    assert_eq!(stored, again(&scene.result, 1, 1.0));
}

fn a_run_adds_itself() {
    let place = tempfile::tempdir().unwrap();
    let with_home = |words: &str| end(ipcmark(words).env("XDG_DATA_HOME", place.path()));
    with_home("run -t pipe -w block -s 64 -n 50 --history").exits(0);
    let list = with_home("history list --format csv").exits(0).stdout;
    assert_eq!(list.lines().count(), 2, "{list}");
    let file = place.path().join("ipcmark/history.sqlite");
    let directory = fs::metadata(file.parent().unwrap()).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    // An unusable history is reported before anything is measured.
    fs::write(&file, "no database").unwrap();
    let refused = with_home("run -t pipe -w block -s 64 -n 50 --history").exits(2);
    assert!(refused.stderr.contains("it is not a SQLite database"), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

fn runs_are_listed_with_their_labels() {
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "--commit 3f2a9c --label before");
    scene.add(2, 1.0, "--commit 77aa01 --machine runner-1");
    let table = scene.history("list").exits(0).stdout;
    for word in ["3f2a9c", "before", "runner-1", "2026-01-02 03:04", "ipcmark 0.", "versions"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let list = scene.json("list");
    assert_eq!(list["schema"], "ipcmark-history/1");
    assert_eq!(list["runs"][1]["machine"], "runner-1");
    assert_eq!(list["runs"][0]["rows"], 2);
    let csv = scene.history("list --format csv").exits(0).stdout;
    assert!(csv.starts_with("run,id,started_at,machine,commit,label,versions,rows,complete\n"));
}

fn a_change_is_named_and_few_runs_are_not_enough() {
    let scene = HistoryDirectory::new();
    let row = "latency/pipe/64/block/round_trip";
    let trend = |words: &str| scene.json(&format!("trend --row {row} {words}"))["trends"][0].take();
    for number in 0..3 {
        scene.add(number, 1.0, "--commit aaaa");
    }
    assert_eq!(trend("")["runs_missing"], 3);
    scene.add(3, 1.2, "--commit bbbb");
    let few = scene.history(&format!("trend --row {row}")).exits(0).stdout;
    assert!(few.contains("cannot tell: 2 more runs are needed"), "{few}");
    scene.add(4, 1.2, "--commit bbbb");
    scene.add(5, 1.2, "--commit bbbb");
    for by in ["", "--by commit"] {
        let found = trend(by);
        let change = &found["changes"][0];
        assert_eq!((&change["from"], &change["verdict"]), (&"bbbb".into(), &"slower".into()));
        let ratio = change["ratio"].as_f64().unwrap();
        assert!((ratio - 1.2).abs() < 0.01, "{found}");
        assert_eq!(found["points"].as_array().unwrap().len(), if by.is_empty() { 6 } else { 2 });
        assert_eq!(found["points"][0]["time_ns"].as_f64().unwrap().round(), {
            if by.is_empty() { 1_000.0 } else { 1_001.0 }
        });
    }
    let table = scene.history(&format!("trend --row {row} --by commit")).exits(0).stdout;
    assert!(table.contains("slower from bbbb (2026-01-04 03:04) on: 1.20 times"), "{table}");
    let csv = scene.history("trend -t pipe --format csv").exits(0).stdout;
    assert_eq!(csv.lines().filter(|line| line.contains(",slower,")).count(), 1, "{csv}");
    let all = scene.json("trend");
    assert_eq!(all["trends"].as_array().unwrap().len(), 2, "every row: {all}");
    let versions = trend("--by version");
    assert_eq!(versions["points"].as_array().unwrap().len(), 1, "{versions}");
    assert_eq!(versions["changes"].as_array().unwrap().len(), 0, "{versions}");
}

fn machines_are_series_of_their_own() {
    let scene = HistoryDirectory::new();
    for number in 0..6 {
        let machine = if number % 2 == 0 { "one" } else { "two" };
        scene.add(number, if number % 2 == 0 { 1.0 } else { 3.0 }, &format!("--machine {machine}"));
    }
    let trends = scene.json("trend -t pipe");
    let machines: Vec<&str> = trends["trends"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["machine"].as_str().unwrap())
        .collect();
    assert_eq!(machines, ["one", "two"]);
    assert!(trends["trends"][0]["changes"].as_array().unwrap().is_empty(), "{trends}");
}

fn sides_are_compared_as_compare_does() {
    let scene = HistoryDirectory::new();
    for number in 0..6 {
        let (factor, commit) = if number < 3 { (1.0, "aaaa1111") } else { (1.2, "bbbb2222") };
        scene.add(number, factor, &format!("--commit {commit}"));
    }
    let comparison = scene.history("compare aaaa bbbb --format json").exits(1);
    let mut comparison: Value = serde_json::from_str(&comparison.stdout).unwrap();
    assert_eq!(comparison["slower"], 2, "{comparison}");
    let files = |of: std::ops::Range<u32>| {
        let name = |number: u32| scene.place.path().join(format!("{number}.json"));
        of.map(|number| name(number).display().to_string()).collect::<Vec<_>>().join(",")
    };
    let words = format!("compare {} {} --format json", files(0..3), files(3..6));
    let mut by_files: Value = serde_json::from_str(&run(&words).exits(1).stdout).unwrap();
    for side in ["base", "new"] {
        comparison[side].take();
        by_files[side].take();
    }
    assert_eq!(comparison, by_files);
    let few = scene.history("compare run:run-0 bbbb").exits(0).stdout;
    assert!(few.contains("cannot tell: 1 run of the base and 3"), "{few}");
}

fn unknown_words_are_rejected() {
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "--commit aaaa");
    for (words, said) in [
        ("trend -t nothing", "no row has that name; rows are latency/"),
        ("compare aaaa nothing", "no run has a commit, version, machine, label or id 'nothing'"),
        ("add nowhere.json", "nowhere.json"),
    ] {
        let ended = scene.history(words).exits(1);
        assert!(ended.stderr.contains(said), "{words}: {}", ended.stderr);
    }
    for words in ["", "add", "trend --by day", "list --format xml"] {
        scene.history(words).exits(2);
    }
    let unknown = end(ipcmark("history list").env_remove("XDG_DATA_HOME").env_remove("HOME"));
    assert!(unknown.exits(2).stderr.contains("neither XDG_DATA_HOME nor HOME"));
}

fn files_that_are_not_histories_are_rejected() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name);
    refused(&file("none"), "list", "there is none yet; `ipcmark history add");
    fs::write(file("text"), "no database at all, but long enough to be one".repeat(20)).unwrap();
    refused(&file("text"), "list", "it is not a SQLite database");
    mkfifo(&file("fifo"), Mode::S_IRWXU).unwrap();
    refused(&file("fifo"), "list", "it is not a regular file");
    fs::create_dir(file("directory")).unwrap();
    refused(&file("directory"), "list", "is a directory");
    fs::write(file("plain"), "").unwrap();
    refused(&file("plain/below"), "list", "cannot read the history");
    let other = Connection::open(file("other")).unwrap();
    other.execute_batch("CREATE TABLE precious (x)").unwrap();
    for words in ["list", "add r.json"] {
        refused(&file("other"), words, "it is a database of another program");
    }
    // A truncated database.
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "");
    let bytes = fs::read(scene.file()).unwrap();
    fs::write(file("half"), &bytes[..bytes.len() / 2 / 4096 * 4096]).unwrap();
    refused(&file("half"), "trend", "cannot read the history");
    let damaged = Connection::open(scene.file()).unwrap();
    damaged.execute("UPDATE cases SET content = x'00ff'", []).unwrap();
    refused(&scene.file(), "trend", "its run 1 is damaged");
}

fn a_history_of_another_form_is_refused() {
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "");
    let change = |text: &str| Connection::open(scene.file()).unwrap().execute_batch(text).unwrap();
    for (version, said) in [(2, "it has the form 2, and this ipcmark knows 1"), (0, "the form 0")] {
        change(&format!("PRAGMA user_version = {version}"));
        for words in ["list", "trend", "compare a b", "add r.json"] {
            refused(&scene.file(), words, said);
        }
    }
    // A view can run forever.
    change(
        "PRAGMA user_version = 1; ALTER TABLE runs RENAME TO old;
         CREATE VIEW runs AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n)
         SELECT i AS run FROM n",
    );
    refused(&scene.file(), "list", "its tables are not those that ipcmark makes");
}

fn a_file_of_another_user_is_rejected() -> Verdict {
    if !is_root() {
        return Verdict::Skipped("only root can make a file of another user".into());
    }
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "");
    fs::set_permissions(scene.place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    chown(scene.file(), Some(65534), None).unwrap();
    for words in ["list", "add r.json"] {
        refused(&scene.file(), words, "a file of another user (uid 65534) is there");
    }
    Verdict::Holds
}

fn a_locked_file_is_waited_for_and_then_refused() {
    let scene = HistoryDirectory::new();
    scene.add(1, 1.0, "");
    let other = Connection::open(scene.file()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for words in ["list", "add r.json"] {
        refused(&scene.file(), words, "another program has locked it; try again");
    }
    other.execute_batch("COMMIT").unwrap();
    scene.history("list").exits(0);
}
