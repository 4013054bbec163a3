//! The options of transports, each set to its minimum and maximum: the row is measured, or has a reason that names the
//! system's limit.

use ipcmark_harness::sampled;

use crate::support::{Verdict, listed, only, run};
use ipcmark_harness::Test;
use ipcmark_results::{Case, RunResult, Status};
use ipcmark_transport::number;
use serde_json::Value;

/// The many options are divided among tests that run concurrently.
const SHARES: usize = 6;

pub fn tests() -> Vec<Test> {
    let share = |share| {
        let name = format!("every_option_works_at_both_its_ends_{}", share + 1);
        Test::new(name, move || every_option_works_at_both_its_ends(share))
    };
    let last = Test::new("options_take_effect_in_the_library", options_take_effect_in_the_library);
    (0..SHARES).map(share).chain([last]).collect()
}

/// An option of a transport that can run here.
struct Entry {
    transport: String,
    waits: Vec<String>,
    key: String,
    accepts: String,
}

fn options() -> Vec<Entry> {
    let mut found = Vec::new();
    for entry in listed::all().iter().filter(|entry| entry["available"] == true) {
        for option in entry["options"].as_array().into_iter().flatten() {
            let word = |value: &Value| value.as_str().expect("a word").to_owned();
            let waits = entry["waits"].as_array().expect("a list").iter().map(word);
            found.push(Entry {
                transport: word(&entry["name"]),
                waits: waits.filter(|wait| wait != "hybrid").collect(),
                key: word(&option["key"]),
                accepts: word(&option["accepts"]),
            });
        }
    }
    assert!(found.len() > 10, "there are {}", found.len());
    found
}

/// The words that an option accepts, and the bounds of a range.
fn ends(accepts: &str) -> Vec<String> {
    let alternatives = accepts.split('|').filter(|word| !["FILE", "DIR"].contains(word));
    let each = alternatives.map(|word| match word.split_once("..") {
        Some((least, most)) => vec![least.to_owned(), most.to_owned()],
        None => vec![word.to_owned()],
    });
    each.flatten().collect()
}

/// Names of limits that the system may not let everybody exceed.
const LIMITS: [&str; 6] =
    ["fs.mqueue", "kernel.msgmnb", "/dev/shm", "ulimit", "there is no memory", "Cannot allocate"];

/// The reason of a row of an unreliable transport that lost everything for a while, as on a busy machine, with any
/// setting.
const LOST: &str = "round trips in a row were lost";

/// The number of runs that may end so.
const TRIES: usize = 5;

fn every_option_works_at_both_its_ends(share: usize) {
    let options = options();
    let of_share = options.iter().skip(share).step_by(SHARES).flat_map(|entry| {
        // One wait per value, in turn, starting with the one that sleeps: an option's effect seldom depends on the
        // wait.
        let waits = entry.waits.iter().rev().cycle();
        ends(&entry.accepts).into_iter().zip(waits).map(move |(value, wait)| (entry, value, wait))
    });
    for (Entry { transport, key, .. }, value, wait) in sampled(share, of_share) {
        // Two messages must fit into the smallest ring. Messages of more than 2 KiB take a fifth of a second each if a
        // connection has the smallest buffer.
        let payload = if key == "capacity" { "64" } else { "2k" };
        let words = format!("-t {transport} -s {payload} -n 20 --trials 1 -w {wait} --format json");
        let set = format!("--set {transport}.{key}={value}");
        let result = told(&format!("run {words} {set}"));
        for why in result.cases.iter().filter_map(failure) {
            assert!(LIMITS.iter().any(|limit| why.contains(limit)), "{set}, {wait}: {why}");
        }
        let done = result.cases.iter().filter(|case| case.status() == Status::Ok);
        let written = number(&value).map_or(value.clone(), |number| number.to_string());
        for case in done {
            assert_eq!(case.identity.options.get(key), Some(&written), "{set}");
        }
    }
}

/// The result of a run in which not everything was lost.
fn told(words: &str) -> RunResult {
    let mut tries = (0..TRIES).map(|_| run(words).result());
    let says_more =
        |result: &RunResult| !result.cases.iter().filter_map(failure).any(|why| why.contains(LOST));
    tries.find(says_more).unwrap_or_else(|| panic!("{words}: {LOST}, {TRIES} times"))
}

/// The reason why a row has failed.
fn failure(case: &Case) -> Option<&str> {
    case.reason().filter(|_| case.status() == Status::Failed)
}

/// An option without effect would be worse than none.
fn options_take_effect_in_the_library() -> Verdict {
    let mut seen = 0;
    for (transport, set, key, value) in [
        ("tcp", "send-buffer=64k", "send buffer", "131072 bytes"),
        ("zeromq-pair-ipc", "send-high-water-mark=7", "high-water marks", "7 messages sent"),
        ("zeromq-ipc", "io-threads=3", "I/O threads", "3"),
        ("nng-ipc", "send-queue=5", "queues", "5 messages sent"),
        ("nng-tcp", "no-delay=off", "TCP_NODELAY", "off"),
        ("boost-mq", "depth=17", "queue", "17 messages"),
        ("iceoryx-cpp", "depth=9", "queue", "9 messages"),
        ("iceoryx2", "depth=9", "buffer", "9 samples"),
        ("alephzero-pubsub", "depth=9", "under way", "9 messages"),
        ("zenoh-unix", "depth=9", "messages under way", "9"),
        ("zenoh-unix", "express=off", "express", "off"),
        ("zenoh-query", "express=off", "express", "off"),
        ("ucx-shm", "memory=sysv", "lanes", "sysv/memory"),
        ("ucx-shm", "rndv-thresh=1000", "protocols", "..1000..<rndv>"),
        ("ucx-am-shm", "memory=sysv", "lanes", "sysv/memory"),
        ("libfabric-shm", "cma=off", "CMA", "off"),
        ("aeron-ipc", "driver=embedded", "driver", "embedded"),
        ("aeron-ipc", "term-length=1M", "term-length", "1048576"),
        ("aeron-udp", "threading=dedicated", "threading", "dedicated"),
        ("capnp-rpc", "send-buffer=64k", "send buffer", "131072 bytes"),
        ("lcm-udpm", "queue=7", "queue", "7 messages"),
        ("shm-ring", "capacity=65600", "rings", "65600 bytes"),
        ("shm-ring", "pause=none", "pause", "none"),
        ("shm-ring", "pause=most", "pause", "after most looks"),
        ("shm-futex", "capacity=1M", "rings", "1048576 bytes"),
        ("fastdds", "history=33", "history", "33 messages"),
        ("cyclonedds", "history=33", "history", "33 messages"),
    ] {
        let words = format!("run -t {transport} -s 64 -n 20 --trials 1 --format json");
        let result = run(&format!("{words} --set {transport}.{set}")).result();
        for case in result.cases.iter().filter(|case| case.status() != Status::Unavailable) {
            let told = only(case).session.configuration.get(key).cloned().unwrap_or_default();
            assert!(told.contains(value), "{transport}.{set}: {key} is {told}");
            seen += 1;
        }
    }
    match seen {
        0 => Verdict::Skipped("none of the libraries is there".into()),
        _ => Verdict::Holds,
    }
}
