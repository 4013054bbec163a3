//! `ipcmark compare`: files, and plans run alternately.

use std::{fs, path::Path};

use ipcmark_results::{Case, Outcome, RunResult};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    modules::compiled::module,
    support::{
        Ended, end, ipcmark, run,
        runs::{self, measured},
    },
};

ipcmark_harness::tests![
    a_result_does_not_differ_from_itself,
    three_files_a_side_give_a_verdict,
    differences_between_the_files_are_listed,
    files_that_cannot_be_read_are_errors,
    files_without_a_row_in_common_are_not_compared,
    flags_of_a_run_need_one,
    two_equal_plans_take_turns,
    a_slow_module_is_found_and_confirmed,
    the_workflow_of_the_examples_compares,
    a_failed_row_is_reported_and_the_others_are_compared,
    plans_without_a_row_in_common_are_refused,
    plans_that_pairs_cannot_compare_are_refused,
    rows_of_only_one_plan_are_listed,
];

/// The result as another run on the same machine, in which pipe takes `factor` times as long.
fn again(result: &RunResult, number: u32, factor: f64) -> RunResult {
    let of_pipe = |case: &Case| if case.identity.transport == "pipe" { factor } else { 1.0 };
    runs::again(result, number, of_pipe)
}

/// Files of these results; their names separated by commas.
fn files(place: &TempDir, name: &str, results: &[RunResult]) -> String {
    let write = |(at, result): (usize, &RunResult)| {
        let path = place.path().join(format!("{name}{at}.json"));
        fs::write(&path, ipcmark_results::to_json(result)).unwrap();
        path.display().to_string()
    };
    results.iter().enumerate().map(write).collect::<Vec<_>>().join(",")
}

fn compare(base: &str, new: &str) -> Ended {
    run(&format!("compare {base} {new}"))
}

#[track_caller]
fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|e| panic!("{e} in: {}\nstderr: {}", ended.stdout, ended.stderr))
}

/// The verdict of each row, with its transport.
fn verdicts(comparison: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    let rows = comparison["rows"].as_array().expect("rows");
    let mut verdicts: Vec<_> =
        rows.iter().map(|row| (text(&row["transport"]), text(&row["verdict"]))).collect();
    verdicts.sort();
    verdicts
}

fn a_result_does_not_differ_from_itself() {
    let place = tempfile::tempdir().unwrap();
    let file = files(&place, "base", &[measured()]);
    let ended = compare(&file, &file).exits(0);
    for words in
        ["cannot tell: the same run is on both sides", "3 runs a side", "ipcmark compare --run"]
    {
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{words}: {}", ended.stdout);
    }
    let comparison = json(&run(&format!("compare {file} {file} --format json")).exits(0));
    assert_eq!((&comparison["slower"], &comparison["faster"]), (&0.into(), &0.into()));
    for row in comparison["rows"].as_array().unwrap() {
        assert_eq!((&row["ratio"], &row["verdict"]), (&1.0.into(), &"cannot tell".into()), "{row}");
    }
}

fn three_files_a_side_give_a_verdict() {
    let (place, result) = (tempfile::tempdir().unwrap(), measured());
    let side = |first: u32, factor| [0, 1, 2].map(|at| again(&result, first + at, factor));
    let base = files(&place, "base", &side(0, 1.0));
    for (factor, verdict, code) in [(1.1, "slower", 1), (0.9, "faster", 0), (1.0, "same", 0)] {
        let new = files(&place, "new", &side(3, factor));
        let ended = compare(&base, &new).exits(code);
        assert!(ended.stdout.contains(verdict), "{}", ended.stdout);
        let comparison = json(&run(&format!("compare {base} {new} --format json")).exits(code));
        let expected = [("pipe", verdict), ("uds-stream", "same")];
        assert_eq!(verdicts(&comparison), expected.map(|(row, word)| (row.into(), word.into())));
        assert_eq!(comparison["obstacles"], Value::Array(vec![]));
    }
    // Once the status was 0, although a row had failed.
    let mut failing = side(3, 1.0);
    failing[1].cases[0].outcome = Outcome::Failed { reason: "it broke".into() };
    let new = files(&place, "failing", &failing);
    let text = compare(&base, &new).exits(1).stdout;
    assert!(text.contains("broke"), "{text}");
    compare(&new, &base).exits(0);
    let two = files(&place, "two", &side(3, 1.1)[..2]);
    let text = compare(&base, &two).exits(0).stdout;
    assert!(text.contains("3 runs of the base and 2 of the new side"), "{text}");
    assert!(text.contains("1.10") && !text.contains("slower\n"), "the ratio is shown: {text}");
}

fn differences_between_the_files_are_listed() {
    let (place, result) = (tempfile::tempdir().unwrap(), measured());
    let (base, mut new) = (again(&result, 1, 1.0), again(&result, 2, 1.0));
    new.cases[0].identity.options.insert("capacity".into(), "4096".into());
    new.environment.kernel = "Linux \x1b[31m9".into();
    let words = compare(&files(&place, "base", &[base]), &files(&place, "new", &[new])).exits(0);
    let text = words.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("options defaults → capacity=4096"), "{text}");
    assert!(text.contains("differ in their kernel (Linux 9;") && !text.contains('\x1b'), "{text}");
}

fn files_that_cannot_be_read_are_errors() {
    let (place, result) = (tempfile::tempdir().unwrap(), measured());
    let file = files(&place, "base", std::slice::from_ref(&result));
    let old = place.path().join("old.json");
    fs::write(&old, ipcmark_results::to_json(&result).replace("\"ipcmark/2\"", "\"ipcmark/1\""))
        .unwrap();
    for (other, cause) in [
        (old.to_str().unwrap(), "it is of the form `ipcmark/1`"),
        ("/no/such/file.json", "cannot read the result file /no/such/file.json"),
    ] {
        for words in [format!("{file} {other}"), format!("{file},{other} {file}")] {
            let ended = run(&format!("compare {words}")).exits(1);
            assert!(ended.stderr.contains(cause) && ended.stdout.is_empty(), "{}", ended.stderr);
        }
    }
    run(&format!("compare {file}")).exits(2);
}

fn files_without_a_row_in_common_are_not_compared() {
    let (place, result) = (tempfile::tempdir().unwrap(), measured());
    let (mut base, mut new) = (result.clone(), result);
    base.cases.retain(|case| case.identity.transport == "pipe");
    new.cases.retain(|case| case.identity.transport != "pipe");
    let ended = compare(&files(&place, "base", &[base]), &files(&place, "new", &[new])).exits(1);
    assert!(ended.stderr.contains("no row was measured on both sides"), "{}", ended.stderr);
    assert!(ended.stdout.contains("measured in the base"), "{}", ended.stdout);
}

fn flags_of_a_run_need_one() {
    for flag in ["-t pipe", "--pairs 8", "--budget 5s", "--no-pin"] {
        let ended = run(&format!("compare a.json b.json {flag}")).exits(2);
        assert!(ended.stderr.contains("--run"), "{flag}: {}", ended.stderr);
    }
}

fn plan(place: &Path, name: &str, text: &str) -> String {
    let path = place.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

const SMALL: &str = "transports = \"pipe\"\nwaits = \"block\"\nround-trips = 50\n";

fn two_equal_plans_take_turns() {
    let place = tempfile::tempdir().unwrap();
    let base = plan(place.path(), "a.toml", &format!("{SMALL}sizes = \"16k\"\ntrials = 3\n"));
    let new = plan(place.path(), "b.toml", &format!("{SMALL}sizes = \"16k\"\n"));
    let ended = run(&format!("compare --run {base} {new} -s 64,4k --pairs 8 --format json"));
    let comparison = json(&ended);
    let rows = verdicts(&comparison);
    assert_eq!(rows.len(), 2, "{comparison:#}");
    let known = |word: &str| ["faster", "slower", "same", "cannot tell"].contains(&word);
    assert!(rows.iter().all(|(row, word)| row == "pipe" && known(word)), "{rows:?}");
    // The status matches the output, whatever the machine did meanwhile.
    let slower = rows.iter().any(|(_, word)| word == "slower");
    let ended = ended.exits(i32::from(slower));
    assert!(ended.stderr.contains("a.toml: trials"), "the key is not used: {}", ended.stderr);
    assert_eq!(
        (&comparison["paired"], &comparison["differences"]),
        (&true.into(), &Value::Array(vec![]))
    );
    for row in comparison["rows"].as_array().unwrap() {
        assert!(row["pairs"].as_u64().unwrap() <= 8, "{row}");
    }
}

fn a_slow_module_is_found_and_confirmed() {
    let place = tempfile::tempdir().unwrap();
    let plan = |name: &str| {
        let module = module(name, "compared");
        let text = format!(
            "transports = \"test-transport\"\nsizes = 64\nround-trips = 50\nmodule = [\"{}\"]\n",
            module.display()
        );
        plan(place.path(), &format!("{name}.toml"), &text)
    };
    let words = format!("compare --run {} {} --format json", plan("right"), plan("naps"));
    // Where the distance moves, few pairs may have enough blocks at one: then measure more of them.
    for pairs in [10, 20, 40, 80] {
        let ended = run(&format!("{words} --pairs {pairs}"));
        let comparison = json(&ended);
        let [(row, verdict)] = &verdicts(&comparison)[..] else { panic!("{comparison:#}") };
        assert_eq!(row, "test-transport");
        assert_eq!(comparison["differences"][0]["setting"], "modules", "{comparison:#}");
        if verdict == "slower" {
            ended.exits(1);
            assert!(comparison["rows"][0]["ratio"].as_f64().unwrap() > 1.0);
            return;
        }
        assert_eq!(verdict, "cannot tell", "{comparison:#}");
    }
    panic!("a module that sleeps for a millisecond was never found slower");
}

/// The step of the workflow as written, except for its budget, with a module compiled by the tests.
fn the_workflow_of_the_examples_compares() {
    let place = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/github-actions");
    let module = module("right", "workflow");
    fs::create_dir_all(place.path().join("new/ci")).unwrap();
    fs::create_dir(place.path().join("base")).unwrap();
    for side in ["base", "new"] {
        let plan = fs::read_to_string(examples.join(side).with_extension("toml")).unwrap();
        let plan = plan.replace("my-transport", "test-transport");
        fs::write(place.path().join(format!("new/ci/{side}.toml")), plan).unwrap();
        fs::copy(&module, place.path().join(side).join("module.so")).unwrap();
    }
    let workflow = fs::read_to_string(examples.join("pull-request.yml")).unwrap();
    let step = workflow.lines().find(|line| line.contains("ipcmark compare")).unwrap();
    let words = step.trim().strip_prefix("ipcmark ").unwrap().strip_suffix("| tee changes.xml");
    let words = words.unwrap().replace("--budget 5m", "-n 50 --pairs 8");
    let ended = end(ipcmark(&words).current_dir(place.path()));
    let row = |payload| format!("name=\"latency/test-transport/{payload}/spin/round_trip\"");
    let rows = [row("64"), row("4096")];
    assert!(rows.iter().all(|row| ended.stdout.contains(row)), "{}{}", ended.stdout, ended.stderr);
    // The status matches the output, whatever the machine did meanwhile.
    let holds = ended.stdout.contains("failures=\"0\"");
    ended.exits(i32::from(!holds));
}

fn a_failed_row_is_reported_and_the_others_are_compared() {
    let place = tempfile::tempdir().unwrap();
    let plan = |name: &str| {
        let module = module(name, "compared-fails");
        let text = format!(
            "transports = \"test-transport,shm-ring\"\nwaits = \"spin\"\nsizes = 64\nround-trips = 50\n\
             module = [\"{}\"]\n",
            module.display()
        );
        plan(place.path(), &format!("{name}.toml"), &text)
    };
    let (base, new) = (plan("right"), plan("one_queue"));
    let ended = run(&format!("compare --run {base} {new} --pairs 8")).exits(1);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // The process that detects it depends on which takes a message from the shared queue first.
    let found = ["took its own message", "the transport loses or reorders"];
    assert!(text.contains("in the new side failed: "), "{text}");
    assert!(found.iter().any(|reason| text.contains(reason)), "{text}");
    assert!(text.contains("1 row:"), "{text}");
}

fn plans_without_a_row_in_common_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let base = plan(place.path(), "a.toml", SMALL);
    let new = plan(place.path(), "b.toml", "transports = \"fifo\"\nwaits = \"block\"\n");
    let ended = run(&format!("compare --run {base} {new}")).exits(2);
    assert!(ended.stderr.contains("they have no row in common"), "{}", ended.stderr);
    // Regression: both were compared as closed loops.
    let at = |rate: &str| plan(place.path(), rate, &format!("{SMALL}rate = \"{rate}/s\"\n"));
    let ended = run(&format!("compare --run {} {}", at("1000"), at("2000"))).exits(2);
    assert!(ended.stderr.contains("they have no row in common"), "{}", ended.stderr);
    let ended = run(&format!("compare --run {base} /no/such.toml")).exits(2);
    assert!(ended.stderr.contains("cannot read the plan /no/such.toml"), "{}", ended.stderr);
}

/// Regression: the distance was ignored, and of each placement in turn only the first trial was compared.
fn plans_that_pairs_cannot_compare_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let base = plan(place.path(), "a.toml", &format!("{SMALL}distance = \"72ns\"\n"));
    let new = plan(place.path(), "b.toml", &format!("{SMALL}distance = \"437ns\"\n"));
    let ended = run(&format!("compare --run {base} {new}")).exits(2);
    assert!(ended.stderr.contains("they name different distances"), "{}", ended.stderr);
    let flags = "--distance 72ns --placement all";
    let ended = run(&format!("compare --run {base} {new} {flags}")).exits(2);
    assert!(ended.stderr.contains("at each placement in turn"), "{}", ended.stderr);
}

fn rows_of_only_one_plan_are_listed() {
    let place = tempfile::tempdir().unwrap();
    let base = plan(place.path(), "a.toml", SMALL);
    let new = plan(place.path(), "b.toml", &SMALL.replace("\"pipe\"", "\"pipe,fifo\""));
    let mut command = ipcmark(&format!("compare --run {base} {new} -s 64 --pairs 8 --format json"));
    let comparison = json(&end(&mut command));
    assert_eq!(comparison["rows"].as_array().unwrap().len(), 1);
    let lone = &comparison["not_compared"][0];
    assert_eq!(lone["transport"], "fifo");
    assert_eq!(lone["base"]["status"], "absent");
    assert!(lone["new"]["reason"].as_str().unwrap().contains("the other plan"), "{lone}");
}
