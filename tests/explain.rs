//! `ipcmark explain`: the system calls and copies of a message, counted by the kernel.

use std::fs;

use serde_json::Value;

use crate::support::{
    Running, Verdict, end, ipcmark, ipcmark_under, listed,
    processes::{await_end_of, await_that, descendants},
    run, works,
};

ipcmark_harness::tests![
    a_pipe_takes_a_write_and_a_read,
    shared_memory_takes_no_call,
    its_page_stacks_the_parts_of_each_row,
    a_library_is_counted_with_its_threads,
    instructions_and_cycles_are_counted_or_the_reason_is_given,
    every_row_of_a_run_is_counted,
    impossible_explanations_are_rejected,
    a_process_that_is_traced_already_is_not_counted,
    a_process_killed_while_it_is_traced_is_reported,
];

/// The only row of an explanation.
fn explained(words: &str) -> Value {
    let ended = run(&format!("explain {words} --trials 1 -d 30ms --format json")).exits(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let rows = document["rows"].as_array().unwrap();
    assert!(rows.len() == 1 && document["notes"].as_array().unwrap().is_empty(), "{document}");
    rows[0].clone()
}

/// One endpoint's successful calls of a kind per message, and their bytes.
fn calls(row: &Value, end: usize, name: &str) -> (f64, f64) {
    let calls = row["ends"][end]["calls_per_message"].as_array().unwrap();
    let call = calls.iter().find(|call| call["name"] == name);
    let figure = |figure: &str| call.map_or(0.0, |call| call[figure].as_f64().unwrap());
    (figure("done"), figure("bytes"))
}

fn a_pipe_takes_a_write_and_a_read() {
    for wait in ["spin", "block"] {
        let row = explained(&format!("pipe -s 1k -w {wait}"));
        for end in [0, 1] {
            for name in ["read", "write"] {
                let (done, bytes) = calls(&row, end, name);
                // A message and its frame of 8 bytes; the harness's own messages add a few per 1000.
                assert!((done - 1.0).abs() < 0.05, "{name} {done} in {row}");
                assert!((bytes / 1032.0 - 1.0).abs() < 0.05, "{name} {bytes} in {row}");
            }
        }
        let parts = row["parts"].as_array().unwrap();
        let time: f64 = parts.iter().map(|part| part["time_ns"].as_f64().unwrap()).sum();
        let (hop, rest) = (&row["hop_ns"]["value"], &row["rest_ns"]);
        let (hop, rest) = (hop.as_f64().unwrap(), rest.as_f64().unwrap());
        assert!((hop - rest - time).abs() <= 1e-6 * hop.max(time), "{row}");
        let copies = parts.iter().find(|part| part["part"] == "copies").unwrap();
        assert!((copies["count"].as_f64().unwrap() - 2.0).abs() < 0.1, "in and out: {row}");
    }
}

fn shared_memory_takes_no_call() {
    let row = explained("shm-ring -w spin");
    assert!(row["ends"].as_array().unwrap().len() == 2, "{row}");
    assert!(row["parts"].as_array().unwrap().iter().all(|part| part["part"] != "calls"), "{row}");
    let table = run("explain shm-ring -w spin --trials 1 -d 30ms").exits(0).stdout;
    for words in
        ["shm-ring (latency · 64 B", "the rest", "no system calls", "each: the cost of one"]
    {
        assert!(table.contains(words), "{words} is not in: {table}");
    }
}

fn its_page_stacks_the_parts_of_each_row() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("explained.html");
    let words = "explain pipe -s 1k --trials 1 -d 30ms --format json --html";
    let ended = end(ipcmark(words).arg(&file)).exits(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let page = fs::read_to_string(&file).unwrap();
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(page.matches("<section").count(), rows.len());
    let parts: usize = rows.iter().map(|row| row["parts"].as_array().unwrap().len()).sum();
    // Each part, and the rest, appears in a bar and in the key next to the figures.
    assert_eq!(page.matches("<rect").count(), 2 * (parts + rows.len()), "{page}");
    for words in ["the rest", "copy the payload in the kernel", "default-src &#x27;none&#x27;"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<script") && !page.contains(" style="), "the policy forbids both");
    let ended = run("explain pipe --html /nowhere/at/all.html").exits(2);
    assert!(ended.stderr.contains("/nowhere"), "{}", ended.stderr);
}

fn a_library_is_counted_with_its_threads() -> Verdict {
    if let Some(why) = listed::missing("zeromq-ipc") {
        return Verdict::Skipped(why);
    }
    let row = explained("zeromq-ipc -w block");
    // The library's own threads send and receive.
    assert!(calls(&row, 0, "sendto").0 > 0.9 && calls(&row, 1, "recvfrom").0 > 0.9, "{row}");
    Verdict::Holds
}

fn instructions_and_cycles_are_counted_or_the_reason_is_given() {
    let ended = run("explain pipe -w block --trials 1 -d 30ms --format json").exits(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let remarks = document["remarks"].as_array().unwrap();
    let ends = document["rows"][0]["processor"].as_array().unwrap();
    if ends.is_empty() {
        let [remark] = &remarks[..] else { panic!("one reason: {document}") };
        assert!(remark.as_str().unwrap().contains("nstructions and cycles"), "{remark}");
        let table = run("explain pipe -w block --trials 1 -d 30ms").exits(0).stdout;
        assert!(table.contains("nstructions and cycles"), "{table}");
        return;
    }
    assert!(remarks.is_empty() && ends.len() == 2, "{document}");
    for end in ends {
        let figure = |name: &str| end[name].as_f64().unwrap();
        // A message takes two system calls, and a call more than ten instructions.
        assert!(figure("instructions_per_message") > 10.0, "{document}");
        assert!(figure("cycles_per_message") > 10.0, "{document}");
    }
}

/// Once only `explain` counted, one transport at a time.
fn every_row_of_a_run_is_counted() {
    let words = "run -t pipe,uds-stream -s 64 -w spin,block --trials 1 -d 20ms --count";
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("counted.json");
    let table = end(ipcmark(&format!("{words} -o")).arg(&file)).exits(0).stdout;
    assert!(table.contains("calls/msg"), "{table}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let measured = result["cases"].as_array().unwrap().iter().filter(|case| case["status"] == "ok");
    for case in measured {
        let calls = &case["measurement"]["round_trips"]["counted"]["calls"];
        let (messages, processes) = (calls["messages"].as_f64(), calls["processes"].as_array());
        let writes = |process: &Value| {
            let calls = process["calls"].as_array().unwrap().iter();
            let writes = calls.filter(|call| call["name"] == "write");
            writes.map(|call| call["made"].as_f64().unwrap()).sum::<f64>()
        };
        let (messages, processes) = (messages.unwrap(), processes.unwrap());
        assert!(processes.len() == 2 && messages > 0.0, "{case}");
        if case["transport"] == "pipe" {
            let writes = processes.iter().map(writes).sum::<f64>() / messages;
            assert!((writes - 1.0).abs() < 0.1, "{writes} in {calls}");
        }
    }
    for (further, said) in [("--rate 1k/s", "--rate"), ("--interval 1ms", "--interval")] {
        let stderr = run(&format!("{words} {further}")).exits(2).stderr;
        assert!(stderr.contains("--count") && stderr.contains(said), "{stderr}");
    }
    let stderr = run("leader -t pipe --count").exits(2).stderr;
    assert!(stderr.contains("--count starts its own processes"), "{stderr}");
}

fn impossible_explanations_are_rejected() {
    for (words, said) in [
        ("nope", "there is no transport 'nope'"),
        ("os", "one transport is explained at a time"),
        ("pipe -s 64,4k", "messages of one size"),
        ("pipe -s many", "in --size many"),
        ("pipe -p throughput", "unexpected argument"),
    ] {
        let stderr = run(&format!("explain {words}")).exits(2).stderr;
        assert!(stderr.contains(said), "{said} is not in: {stderr}");
    }
    let without = run("explain pipe -w hybrid").exits(1).stdout;
    assert!(without.contains("pipe · hybrid could not be measured"), "{without}");
}

fn a_process_that_is_traced_already_is_not_counted() -> Verdict {
    if !works("strace", &["-V"]) {
        return Verdict::Skipped("there is no strace".into());
    }
    let strace = ["-f", "-o", "/dev/null", "-e", "trace=none"];
    let explain = "explain pipe -w block --trials 1 -d 30ms --timeout 60s";
    let stdout = end(&mut ipcmark_under("strace", &strace, explain)).exits(1).stdout;
    assert!(stdout.contains("pipe · block could not be counted"), "{stdout}");
    assert!(stdout.contains("the system allows no tracing"), "{stdout}");
    let counts = "run -t pipe -s 64 -w block --trials 1 -d 30ms --timeout 60s --count";
    let stdout = end(&mut ipcmark_under("strace", &strace, counts)).exits(1).stdout;
    let said = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("System calls of pipe · block were not counted"), "{stdout}");
    assert!(said.contains("1 of 1 cases measured"), "{stdout}");
    Verdict::Holds
}

/// Killing a worker costs its row; killing the counting process costs the counts, which are not shown.
fn a_process_killed_while_it_is_traced_is_reported() {
    for kills_tracer in [false, true] {
        // 1000 round trips of 256 KiB take long enough to be interrupted.
        let running =
            Running::start(&mut ipcmark("explain pipe -w block -s 256k --trials 1 -d 30ms"));
        let (traced, tracer) = await_that("an end is traced", || {
            descendants(running.id()).into_iter().find_map(|one| Some((one.id, tracer(one.id)?)))
        });
        let all = descendants(running.id());
        // SAFETY: both are processes of this test's own command, in its own namespaces.
        unsafe { libc::kill(if kills_tracer { tracer } else { traced }, libc::SIGKILL) };
        let stdout = running.end().exits(1).stdout;
        let said = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("pipe · block could not be counted"), "{stdout}");
        if kills_tracer {
            assert!(said.contains("ended"), "{stdout}");
        }
        assert!(!said.contains("a message: read"), "{stdout}");
        await_end_of(&all);
    }
}

/// The process that traces this one.
fn tracer(id: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    tracer.trim().parse().ok().filter(|tracer| *tracer > 0)
}
