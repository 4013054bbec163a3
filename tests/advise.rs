//! `ipcmark advise`: the choice made from the measurements, and its explanation.

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{assert_valid, refused, run};

ipcmark_harness::tests![
    the_choice_is_shown_with_its_figures,
    transports_that_do_not_meet_a_need_are_left_out_with_the_reason,
    a_question_without_an_answer_says_so,
    a_saved_result_answers_as_the_run_did,
    invalid_questions_are_rejected,
    a_choice_at_a_rate_keeps_its_conditions,
    the_rows_that_could_be_the_choice_get_further_trials,
];

fn json(words: &str) -> Value {
    let ended = run(&format!("advise {words} --format json")).exits(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn names(of: &Value) -> Vec<&str> {
    let all = of.as_array().unwrap().iter();
    all.map(|one| one["transport"].as_str().unwrap()).collect()
}

fn the_choice_is_shown_with_its_figures() {
    let said = run("advise --size 64 -t pipe,tcp --trials 3 -n 1000").exits(0).stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "what to use here for 64 B · as fast as answers come");
    let chosen = ["pipe, sleeping", "tcp, sleeping"];
    assert!(
        chosen.iter().any(|name| lines[1].starts_with(&format!("  use          {name}"))),
        "{said}"
    );
    for word in ["figures", "runner-up", "no promise", "CPU time a message", "99 of 100 within"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

fn transports_that_do_not_meet_a_need_are_left_out_with_the_reason() {
    let answer = json(
        "--size 64 -t pipe,udp,tcp,shm-slot,null --needs cross-host,reliable --trials 1 -n 200",
    );
    assert_eq!(answer["choice"]["transport"], "tcp");
    let reasons: Vec<(&str, &str)> = answer["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["transport"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    let one_host = "its ends must be on one host";
    assert_eq!(
        reasons,
        [("pipe", one_host), ("shm-slot", one_host), ("udp", "it can lose messages")]
    );
    // The harness's own row does not lead to another process.
    let ended = run("advise --size 64 -t null --trials 1 -n 50").exits(1);
    assert!(ended.stdout.contains("nothing that was measured meets"), "{}", ended.stdout);
}

fn a_question_without_an_answer_says_so() {
    let words = "advise --size 64 -t pipe,eventfd -w block --rate 2k/s --p99-below 100ns --trials 1 -d 200ms";
    let said = run(words).exits(1).stdout;
    assert!(said.contains("nothing that was measured meets the conditions"), "{said}");
    assert!(said.contains("falls short") && said.contains("pipe, sleeping ("), "{said}");
    assert!(said.contains("p99"), "the figure that does not: {said}");
}

fn a_saved_result_answers_as_the_run_did() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("r.json").display().to_string();
    let words = format!("--size 1k -t pipe,uds-stream,eventfd -n 300 --trials 3 -o {path}");
    let measured = json(&words);
    assert_valid(&serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap());
    let read = json(&format!("--size 1k --from {path}"));
    assert_eq!(measured["choice"], read["choice"]);
    assert_eq!(measured["not_told_apart"], read["not_told_apart"]);
    assert_eq!(
        json(&format!("--size 1k --from {path} -t tcp,pipe"))["choice"]["transport"],
        "pipe"
    );
    let other = run(&format!("advise --size 2k --from {path}")).exits(2);
    assert!(
        other.stderr.contains("no row with the requested messages of 2048 bytes"),
        "{}",
        other.stderr
    );
}

fn invalid_questions_are_rejected() {
    for (words, said) in [
        ("--size 64,128", "messages of one size"),
        ("--size 64 --cpu-below 10%", "--rate"),
        ("--size 64 --rate 1k/s --cpu-below 10", "write it as 10%"),
        ("--size 64 --needs speed", "daemonless"),
        ("--size 64 --one-way --subscribers 2", "cannot be used with"),
        ("--rate 1k/s", "--size"),
        ("--size 64 --from none.json", "none.json"),
        ("--size 64 --from none.json -w spin", "--waits says how to measure"),
    ] {
        refused(&format!("advise {words}"), said);
    }
}

/// A row that cannot hold the rate on a busy machine is not chosen, and the answer says so; the chosen row meets the
/// conditions.
fn a_choice_at_a_rate_keeps_its_conditions() {
    let answer = |words: &str| -> Value {
        serde_json::from_str(&run(&format!("advise {words} --format json")).stdout).unwrap()
    };
    let words = "--size 64 -t pipe,shm-futex,tcp --rate 2k/s --p99-below 10s";
    let found = answer(words);
    let cores = |row: &Value| row["cores"]["value"].as_f64().unwrap();
    let (choice, next) = (&found["choice"], &found["runner_up"]);
    if !choice.is_null() {
        let slept = choice["wait"] == "block";
        assert!(slept || found["spinning"].is_null(), "what sleeps comes first: {found}");
        assert!(next.is_null() || cores(next) >= cores(choice), "the cheapest: {found}");
    }
    let short = found["falls_short"].as_array().unwrap();
    assert!(short.iter().all(|row| !row["shortfalls"].as_array().unwrap().is_empty()), "{found}");
    assert_eq!(names(&found["left_out"]), [""; 0], "all of them were measured");
    // Spinning is not measured if no core may be burned.
    let found = answer("--size 64 -t pipe --rate 200/s --cpu-below 100% --trials 1 -d 200ms");
    let rows = [&found["choice"], &found["falls_short"][0]];
    let rows: Vec<&&Value> = rows.iter().filter(|row| !row.is_null()).collect();
    assert!(
        rows.len() == 1 && rows[0]["wait"] == "block" && found["spinning"].is_null(),
        "{found}"
    );
}

/// Which rows these are depends on the machine, and on a busy one none may keep the rate: only the number of their
/// trials is checked.
fn the_rows_that_could_be_the_choice_get_further_trials() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("r.json").display().to_string();
    let trials = |words: &str| {
        let all = "-t pipe,fifo,uds-stream,uds-seqpacket,uds-dgram,eventfd -w block";
        let ended = run(&format!("advise --size 64 {all} --rate 2k/s {words} -o {path}"));
        let no_row = ended.code() == 1 && ended.stdout.contains("nothing that was measured meets");
        assert!(ended.code() == 0 || no_row, "{}{}", ended.stdout, ended.stderr);
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_valid(&result);
        let cases = result["cases"].as_array().unwrap().iter();
        let trials = |case: &Value| {
            let trials = &case["measurement"]["round_trips"]["trials"];
            trials.as_array().unwrap().len()
        };
        cases.map(trials).collect::<Vec<usize>>()
    };
    let found = trials("");
    let further = found.iter().filter(|count| **count == 9).count();
    assert!(found.iter().all(|count| [3, 9].contains(count)), "{found:?}");
    assert!((0..=4).contains(&further) && further != 1, "one alone decides nothing: {found:?}");
    assert_eq!(trials("--trials 2"), [2; 6], "their number is the user's");
}
