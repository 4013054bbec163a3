//! User mistakes: reported in a sentence with the correct usage, before anything is measured.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, process::Command};

use crate::support::{Ended, IPCMARK, end, ipcmark, outcome, run};

ipcmark_harness::tests![
    transports_that_are_unknown_bring_the_nearest,
    invalid_sizes,
    words_that_are_unknown_bring_the_known,
    numbers_that_make_no_sense,
    flags_that_contradict_each_other,
    processors_that_cannot_be_used,
    patterns_and_loads_that_contradict,
    options_that_cannot_be_set,
    payload_files_that_hold_none,
    files_that_cannot_be_written,
    plans_that_cannot_be_read,
    modules_that_cannot_be_read,
    waits_that_a_named_transport_lacks,
    waits_that_any_transport_lacks,
    commands_that_are_unknown,
];

/// Runs `ipcmark` with a mistake; nothing is measured, and the sentence contains all these words.
#[track_caller]
fn refused(words: &str, expected: &[&str]) {
    says(run(words), expected);
}

#[track_caller]
fn says(ended: Ended, expected: &[&str]) {
    let ended = ended.exits(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.starts_with("ipcmark: "), "one prefix for every error: {}", ended.stderr);
    // Line breaks may separate the words of a long sentence.
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in expected {
        assert!(said.contains(words), "no '{words}' in: {said}");
    }
}

fn transports_that_are_unknown_bring_the_nearest() {
    refused("run -t pip", &["there is no transport 'pip'", "pipe"]);
    refused("run -t pipe,uds_stream", &["'uds_stream'", "uds-stream"]);
    refused("run -t xyzzy", &["'xyzzy'", "'ipcmark list' shows them all"]);
    refused("run -t zz*", &["'zz*'"]);
    refused("run -t [a", &["'[a' is not a glob"]);
}

fn invalid_sizes() {
    for (size, reason) in [
        ("0", "0 is too small: a message holds at least 16 bytes"),
        ("8", "8 is too small: a message holds at least 16 bytes"),
        ("15", "15 is too small"),
        ("-1", "'-1' is not a size; write 64, 4k, 1MiB or 16..4M"),
        ("5M", "5M is beyond the limit of 4 MiB"),
        ("99999999999999999999G", "is not a size"),
        ("abc", "'abc' is not a size; write 64, 4k, 1MiB or 16..4M"),
        ("64,,128", "'' is not a size"),
        ("17..31", "there is no power of two from 17 to 31"),
        ("4k..64", "there is no power of two"),
    ] {
        refused(&format!("run -s {size}"), &["--sizes", reason]);
    }
}

fn words_that_are_unknown_bring_the_known() {
    refused("run -w sleep", &["'sleep' for '--waits", "waits are spin, block, hybrid"]);
    refused("run -p ping", &["'ping' for '--patterns", "latency"]);
    refused("run --format xml", &["'xml' for '--format", "table, markdown, csv, json"]);
    refused("run --touch most", &["'most' for '--touch", "head, all"]);
    refused("run --sandbox on", &["'on' for '--sandbox", "auto, off"]);
    refused("run --size 64", &["unexpected argument '--size'", "'--sizes'"]);
    refused("list --format csv", &["'csv' for '--format", "table, json"]);
}

fn numbers_that_make_no_sense() {
    refused("run -n 0", &["0 is not in 1.."]);
    refused("run -n many", &["'many' for '--round-trips"]);
    refused("run --trials 0", &["0 is not in 1.."]);
    refused("run -d 200", &["time unit needed", "200ms"]);
    refused("run -d 0s", &["between 1ms and 1h"]);
    refused("run -d 2h", &["between 1ms and 1h"]);
    refused("run --timeout 0ms", &["between 1ms and 1h"]);
    refused("run --seed odd", &["'odd' for '--seed"]);
}

fn flags_that_contradict_each_other() {
    refused("run -n 100 -d 1s", &["--round-trips", "cannot be used with", "--duration"]);
    refused("run --cpus 0,1 --no-pin", &["--cpus", "cannot be used with", "--no-pin"]);
}

fn processors_that_cannot_be_used() {
    refused("run --cpus 0", &["--cpus with 1 processors", "2 processors are needed"]);
    refused("run --cpus 0,0,0", &["--cpus with 3 processors", "2 processors are needed"]);
    refused("run --placement near", &["near", "smt", "cross-numa"]);
    refused("run --placement smt --cpus 0,1", &["--placement", "cannot be used with", "--cpus"]);
    refused("run --placement smt --pairs 2", &["2 pairs smt", "--cpus"]);
    refused("run --placement all --pairs 2", &["2 pairs all", "--cpus"]);
    refused("run --cpus 0,99999", &["processor 99999", "may not run on it", "choose from"]);
    refused("run --subscribers 2 --cpus 0,1", &["--cpus with 2 processors", "3 processors"]);
    refused("run --cpus all", &["'all' for '--cpus"]);
}

fn patterns_and_loads_that_contradict() {
    refused("run -p latency --subscribers 3", &["--subscribers", "fan-out"]);
    refused("run --subscribers 0", &["0 is not in 1..=64"]);
    refused("run --rate 10k", &["it is not a rate", "10k/s"]);
    refused("run --rate 0/s", &["between 1/s and 100M/s"]);
    refused("run --rate 1/s --interval 1s", &["cannot be used with"]);
    refused("run --arrivals poisson --interval 1s", &["cannot be used with"]);
    refused("run --arrivals poisson --trace t.csv", &["cannot be used with"]);
    refused("run --arrivals poisson", &["--rate"]);
    refused("run -p throughput --rate 1k/s", &["--rate", "as fast as it goes"]);
    refused("run -p throughput --subscribers 2", &["--subscribers", "fan-out"]);
    refused("run -p stream", &["patterns are latency, one-way, throughput"]);
}

fn options_that_cannot_be_set() {
    refused("run --set tcp", &["'tcp' is not a setting", "--set TRANSPORT.KEY=VALUE"]);
    refused("run --set tcp.colour=red", &["no option colour", "tcp.send-buffer"]);
    refused("run --set tcp.no-delay=maybe", &["'maybe' is not one of on|off"]);
    refused("run --set nowhere.depth=1", &["there is no transport 'nowhere'"]);
}

fn payload_files_that_hold_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("payloads.csv");
    for (text, reason) in [("16;x", "not a size"), ("0", "too small"), ("", "no payload")] {
        fs::write(&path, text).unwrap();
        refused(&format!("run -s @{}", path.display()), &[reason, "payloads.csv"]);
    }
    refused("run -s @/nowhere", &["cannot read the payloads in /nowhere"]);
}

fn files_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing/result.json");
    let to = |path: &std::path::Path| end(ipcmark("run -t null -d 10ms -o").arg(path));
    let sentence =
        |path: &std::path::Path| format!("cannot write the result file {}", path.display());
    says(to(&missing), &[&sentence(&missing), "No such file or directory"]);
    says(to(directory.path()), &[&sentence(directory.path()), "directory"]);
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("result.json");
    says(to(&below), &[&sentence(&below), "Not a directory"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing was made");
}

fn plans_that_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    let name = path.display().to_string();
    let planned = || end(ipcmark("run").arg(&path));
    says(planned(), &["cannot read the plan", &name, "No such file or directory"]);
    for (text, reason) in [
        ("sizes = = 3", "cannot understand the plan"),
        ("sizes 64", "line 1"),
        ("\u{1}", "cannot understand the plan"),
        ("size = [64]", "has the key size; the keys are transports, sizes"),
        ("plan = \"other.toml\"", "has the key plan"),
        ("rates = \"1/s\"", "has the key rates"),
        ("trials = 0.5", "trials must be a string, integer, list or boolean"),
        ("[run]\nsizes = [64]", "has the key run"),
        ("sizes = [8]", "8 is too small"),
        ("transports = [\"pip\"]", "there is no transport 'pip'"),
        ("duration = \"1s\"\nround-trips = 5", "cannot be used with"),
    ] {
        fs::write(&path, text).unwrap();
        says(planned(), &[reason]);
    }
    // Regression: a leader's plan was ignored.
    fs::write(&path, "sizes = [8]").unwrap();
    says(end(ipcmark("leader").arg(&path)), &["8 is too small"]);
    let behind = end(ipcmark("ipc-bench pipe --").arg(&path));
    says(behind, &["is not a flag", "'ipcmark leader' take a plan"]);
    fs::write(&path, b"sizes = \"\xff\"").unwrap();
    says(planned(), &["cannot read the plan", &name]);
}

fn modules_that_cannot_be_read() {
    refused("run --module /missing.so -t null", &["cannot read the module /missing.so"]);
}

fn waits_that_a_named_transport_lacks() {
    let ended = run("run -t pipe,null -w hybrid -s 64 --format json").exits(1);
    let result = ended.result();
    let unsupported = ("unsupported", "it cannot wait by hybrid; it has spin, block");
    assert_eq!(outcome(&result, "pipe"), unsupported);
    assert!(result.complete);
    let table = run("run -t pipe -w hybrid -s 64").exits(1).stdout;
    assert!(table.contains("it has spin, block"), "{table}");
}

fn waits_that_any_transport_lacks() {
    let result = run("run -t all -w hybrid -s 64 -d 1ms --format json").exits(0).result();
    assert_eq!(outcome(&result, "pipe").0, "unsupported");
    assert_eq!(outcome(&result, "memfd").0, "ok");
    // A family or a pattern of names does not request any row by name.
    run("run -t pip*,null -w spin -s 64 -d 1ms").exits(0);
    run("run -t pip* -w hybrid -s 64 -d 1ms").exits(0);
}

fn commands_that_are_unknown() {
    refused("measure", &["unrecognized subcommand 'measure'"]);
    let ended = end(&mut Command::new(IPCMARK));
    assert!(ended.exits(2).stderr.contains("Usage: ipcmark <COMMAND>"));
    let named = end(Command::new(IPCMARK).arg(OsStr::from_bytes(b"\xff")));
    says(named, &["unrecognized subcommand"]);
    // The words with which the command starts its own processes.
    for words in ["__keeper", "__module"] {
        let ended = run(words);
        assert!(!ended.status.success(), "{words}");
        assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
    }
}
