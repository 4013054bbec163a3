//! A small result in each format, compared exactly.

use ipcmark_report::{Terminal, format, row_names};
use ipcmark_results::{
    Arrivals, Load, Outcome, Pattern, PlacementPolicy, RunResult, Span, Status, Touch, Wait,
};

use crate::{
    sample::{between, case, measured, measured_as, run, trial, unmeasured},
    shown,
};

/// A row of two trials, a stream, a failed row, and one that cannot run.
fn small() -> RunResult {
    let mut pipe = case("pipe", 64, Wait::Spin, 2_000);
    let mut second = trial(Wait::Spin, 2_400);
    second.number = 2;
    pipe.outcome = measured(vec![trial(Wait::Spin, 2_000), second]);
    let mut stream = case("tcp", 4_096, Wait::Block, 500);
    stream.identity.pattern = Pattern::Throughput;
    stream.outcome = measured_as(Pattern::Throughput, vec![trial(Wait::Block, 500)]);
    let failed = unmeasured(case("fifo", 64, Wait::Spin, 1), Status::Failed, "killed by signal 9");
    let absent =
        unmeasured(case("nng-ipc", 64, Wait::Spin, 1), Status::Unavailable, "no libnng.so");
    run(vec![pipe, stream, failed, absent])
}

/// The text of a format must equal the expected file.
fn golden(name: &str, result: &RunResult, expected: &str) {
    let text = shown(result, name);
    assert_eq!(text, expected, "{name}");
}

/// The result with a placeholder for each histogram: another version of the compressor may write other bytes.
fn packed_otherwise(mut result: RunResult) -> RunResult {
    for case in &mut result.cases {
        let Outcome::Ok { measurement } = &mut case.outcome else { continue };
        for trial in measurement.trials_mut() {
            trial.times_ns.histogram = "HISTFAAAA".into();
        }
    }
    result
}

#[test]
fn a_small_result_looks_like_this() {
    let small = small();
    golden("bmf", &small, include_str!("small/bmf"));
    golden("github-action-benchmark", &small, include_str!("small/github-action-benchmark"));
    golden("google-benchmark", &small, include_str!("small/google-benchmark"));
    golden("openmetrics", &small, include_str!("small/openmetrics"));
    golden("junit", &small, include_str!("small/junit"));
    golden("hlog", &packed_otherwise(small), include_str!("small/hlog"));
    let one = run(vec![case("pipe", 64, Wait::Spin, 2_000)]);
    golden("hgrm", &one, include_str!("small/hgrm"));
}

#[test]
fn several_rows_are_no_distribution() {
    let terminal = Terminal { width: 80, color: false, ascii: false };
    let refusal = format("hgrm").unwrap().render(&small(), terminal).unwrap_err();
    assert!(refusal.contains("this result has 2") && refusal.contains("--row NAME"), "{refusal}");
    let rows = "latency/pipe/64/spin/round_trip, throughput/tcp/4096/block/message";
    assert!(refusal.ends_with(rows), "{refusal}");
    let nothing = format("hgrm").unwrap().render(&run(vec![]), terminal).unwrap_err();
    assert_eq!(nothing, "cannot write hgrm: no row was measured");
}

#[test]
fn names_contain_unusual_properties_only() {
    let usual = case("tcp", 64, Wait::Spin, 1);
    let mut random = usual.clone();
    random.identity.load = Load::Rate { per_second: 10, arrivals: Arrivals::Poisson };
    let mut several = usual.clone();
    let identity = &mut several.identity;
    (identity.subscribers, identity.silent_subscribers) = (3, 1);
    identity.touch = Touch::Head;
    identity.load = Load::Interval { pause_ns: 5 };
    identity.options = [("b".into(), "1, 2".into())].into();
    let mut beside = usual.clone();
    beside.identity.pairs = 4;
    let mut apart = usual.clone();
    apart.identity.between = Some(between(0, 1));
    let mut bare = case("null", 4_096, Wait::Spin, 1);
    bare.identity.span = Span::None;
    let mut elsewhere = usual.clone();
    elsewhere.identity.placement = PlacementPolicy::Off;
    let names = row_names(&run(vec![usual, random, several, beside, apart, bare, elsewhere]));
    let expected = [
        "latency/tcp/64/spin/round_trip",
        "latency/tcp/64/spin/rate:10/poisson/response",
        "latency/tcp/64/spin/touch:head/pause_ns:5/subscribers:3/silent:1/b:1__2/round_trip",
        "latency/tcp/64/spin/pairs:4/round_trip",
        "latency/tcp/64/spin/between:node0/0:node1/1/round_trip",
        "latency/null/4096/spin/span:none/round_trip",
        "latency/tcp/64/spin/round_trip#2",
    ];
    assert_eq!(names, expected);
}
