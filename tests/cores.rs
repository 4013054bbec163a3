//! `ipcmark cores`: a time for every pair of processors, in a table, as JSON and as a picture.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{Verdict, refused, run};

ipcmark_harness::tests![
    every_pair_has_its_distances,
    a_transport_takes_longer_than_a_line,
    impossible_maps_are_rejected,
];

/// The processors that this test may use.
fn count() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

fn map(words: &str) -> Value {
    serde_json::from_str(&run(&format!("cores {words} --format json")).exits(0).stdout).unwrap()
}

fn every_pair_has_its_distances() -> Verdict {
    if count() < 2 {
        return Verdict::Skipped("there is one processor".into());
    }
    let directory = tempdir().unwrap();
    let picture = directory.path().join("cores.svg");
    let map = map(&format!("--cpus 0,1 -d 100ms --svg {}", picture.display()));
    let [pair] = &map["pairs"].as_array().unwrap()[..] else { panic!("{map}") };
    let distances = pair["distances"].as_array().unwrap();
    assert!(!distances.is_empty(), "{map}");
    let shares: f64 = distances.iter().map(|part| part["share"].as_f64().unwrap()).sum();
    assert!(shares > 0.0 && shares < 1.001, "{map}");
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("cpu 0 – cpu 1"), "{picture}");
    let table = run("cores --cpus 0,1 -d 100ms").exits(0).stdout;
    assert!(
        table.starts_with("round trips of a bare cache line") && table.contains('·'),
        "{table}"
    );
    Verdict::Holds
}

fn a_transport_takes_longer_than_a_line() -> Verdict {
    if count() < 2 {
        return Verdict::Skipped("there is one processor".into());
    }
    let through = map("-t pipe -s 64 -w block --cpus 0,1 -d 50ms");
    assert_eq!(through["what"], "pipe · 64 · block");
    let time = &through["pairs"][0]["usual_round_trip_ns"];
    // Two system calls in each direction: otherwise a cache line could not be distinguished from a
    // message.
    assert!(time.as_f64().unwrap() > 500.0, "{through}");
    Verdict::Holds
}

fn impossible_maps_are_rejected() {
    for (words, said) in [
        ("--cpus 9999", "may not use"),
        ("--cpus x", "names no processor"),
        ("-t nothing", "no transport 'nothing'"),
        ("-t pipe,tcp", "one transport"),
        ("-s 64", "--transport"),
        ("--svg /nowhere/at/all.svg", "/nowhere/at/all.svg"),
    ] {
        refused(&format!("cores {words}"), said);
    }
}
