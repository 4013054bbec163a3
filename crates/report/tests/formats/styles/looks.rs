//! A small result in each style, compared exactly.

use ipcmark_results::{Carrier, Pattern, RunResult, Span, Status, Wait};

use super::STYLES;
use crate::{
    sample::{case, first, lose, measured, run, trial, unmeasured},
    shown,
};

/// A queue at two payloads, a row that lost messages, and a failed one.
fn small() -> RunResult {
    let mut lossy = case("udp", 1_024, Wait::Spin, 12_600);
    lose(first(&mut lossy), 3, 150_000_000);
    let failed = unmeasured(case("pipe", 64, Wait::Block, 1), Status::Failed, "killed by signal 9");
    let queue = case("posix-mq", 4_096, Wait::Block, 320_000);
    let mut result = run(vec![lossy, queue, case("posix-mq", 1_024, Wait::Block, 6_300), failed]);
    result.notes.push("The governor is `powersave`.".into());
    result
}

#[test]
fn the_iceperf_style_looks_like_this() {
    let expected = "\
******   MESSAGE QUEUE    ********
posix-mq, wait block, touch all
Waiting for: subscription, subscriber [ success ]
Measurement for: 1 kB, 4 kB
Waiting for: unsubscribe  [ finished ]

#### Measurement Result ####
10000 round trips for each payload.

| Payload Size [kB] | Average Latency [µs] |
|------------------:|---------------------:|
|                 1 |                  3.1 |
|                 4 |              1.6e+02 |

Finished!

******        PIPE        ********
pipe, wait block, touch all

64 [B]: failed: killed by signal 9

Finished!

******        UDP         ********
udp, wait spin, touch all
Waiting for: subscription, subscriber [ success ]
Measurement for: 1 kB
Waiting for: unsubscribe  [ finished ]

#### Measurement Result ####
9997 round trips for each payload.

| Payload Size [kB] | Average Latency [µs] |
|------------------:|---------------------:|
|                 1 |                  6.2 |

1 [kB]: 3 of 10,000 round trips lost, 150 ms spent waiting for them

Finished!

Note: The governor is `powersave`.
";
    assert_eq!(shown(&small(), "iceperf"), expected);
}

#[test]
fn payloads_below_a_kilobyte_carry_their_units() {
    let cases = [(16, 420), (1_024, 730), (1 << 20, 90_000)];
    let mut cases = cases.map(|(bytes, p50)| case("iceoryx-cpp", bytes, Wait::Spin, p50)).to_vec();
    cases[1] = unmeasured(cases[1].clone(), Status::Failed, "killed by signal 9");
    let text = shown(&run(cases), "iceperf");
    assert!(text.contains("Measurement for: 16 [B], 1 [kB], 1 [MB]\n"), "{text}");
    let table = "\
| Payload Size | Average Latency [µs] |
|-------------:|---------------------:|
|      16 [B]  |                 0.21 |
|       1 [kB] |               failed |
|       1 [MB] |                   44 |

1 [kB]: failed: killed by signal 9
";
    assert!(text.contains(table), "{text}");
}

#[test]
fn the_ipc_bench_style_looks_like_this() {
    let mut pipe = case("pipe", 4_096, Wait::Block, 1_418);
    let trial = first(&mut pipe);
    (trial.elapsed_ns, trial.session.losses.sent) = (1_945_002, 1_000);
    lose(trial, 0, 0);
    let trip = &mut trial.times_ns;
    (trip.mean, trip.stdev, trip.min, trip.max) = (1_418.0, 1_282.0, 900, 25_000);
    let failed = unmeasured(case("signal", 100, Wait::Block, 1), Status::Failed, "it hung");
    let expected = "\
pipe, wait block, touch all
============ RESULTS ================
Message size:       4096
Message count:      1000
Total duration:     1.945      \tms
Average duration:   1.418      \tus
Minimum duration:   0.900      \tus
Maximum duration:   25.000     \tus
Standard deviation: 1.282      \tus
Message rate:       514138     \tmsg/s
=====================================

signal, wait block, touch all
============ RESULTS ================
Message size:       100
failed: it hung
=====================================
";
    assert_eq!(shown(&run(vec![pipe, failed]), "ipc-bench"), expected);
    let text = shown(&small(), "ipc-bench");
    assert!(text.contains("=\n3 of 10,000 round trips lost, 150 ms spent"), "{text}");
    assert!(text.ends_with("\nNote: The governor is `powersave`.\n"), "{text}");
}

#[test]
fn the_fastdds_style_looks_like_this() {
    let expected = "\
# pipe, wait block, touch all
# 64 bytes: failed: killed by signal 9

# posix-mq, wait block, touch all (half of each round trip, in us)
   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max
--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,
    1024,   10000,   1.260,   3.308,   2.835,   3.150,   3.465,   4.095,  28.350,  53.508
    4096,   10000,  64.000, 168.000, 144.000, 160.000, 176.000, 208.000,1440.000,1935.707

# udp, wait spin, touch all (half of each round trip, in us)
   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max
--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,
    1024,    9997,   2.520,   6.615,   5.670,   6.300,   6.930,   8.190,  56.700,  91.308
# 1024 bytes: 3 of 10,000 round trips lost, 150 ms spent waiting for them

# The governor is `powersave`.
";
    assert_eq!(shown(&small(), "fastdds"), expected);
}

#[test]
fn the_ipc_performance_style_looks_like_this() {
    let mut cases =
        vec![case("zeromq-ipc", 32, Wait::Block, 250_300), case("shm-ring", 32, Wait::Spin, 550)];
    cases.push(case("boost-mq", 32, Wait::Spin, 970));
    cases.push(unmeasured(
        case("nng-ipc", 32, Wait::Spin, 1),
        Status::Unavailable,
        "no libnng.so|1",
    ));
    let expected = "\
### Latency (microseconds)

32 B, touch all

| Implementation        | Average | P50    | P90    | P99     | Min    | Max     | 2 / Average (msg/s) |
|-----------------------|---------|--------|--------|---------|---------|---------|---------------------|
| Shared Memory · spin  | 0.58    | 0.55   | 0.60   | 0.71    | 0.49    | 38.02   | 3,463,203           |
| Boost MQ · spin       | 1.02    | 0.97   | 1.07   | 1.26    | 0.87    | 43.05   | 1,963,672           |
| ZeroMQ (IPC) · block  | 262.81  | 250.30 | 275.33 | 325.39  | 225.27  | 3035.01 | 7,610               |
| NNG (IPC) · spin      | unavailable | –      | –      | –       | –       | –       | –                   |

NNG (IPC) · spin: unavailable: no libnng.so\\|1
";
    assert_eq!(shown(&run(cases), "ipc-performance"), expected);
}

#[test]
fn the_ipc_bench_table_looks_like_this() {
    let row = |name, bytes, wait, seconds: u64| {
        let mut case = case(name, bytes, wait, 1_000);
        let trial = first(&mut case);
        (trial.times_ns.count, trial.elapsed_ns) = (10_000, seconds * 1_000_000_000);
        case
    };
    let missing =
        unmeasured(case("zeromq-tcp", 100, Wait::Block, 1), Status::Unavailable, "no libzmq.so");
    let cases = vec![
        row("sysv-shm", 1_000, Wait::Spin, 2),
        row("shm-futex", 100, Wait::Block, 4),
        missing,
        row("pipe", 1_000, Wait::Block, 3),
        row("pipe", 100, Wait::Block, 1),
    ];
    let expected = "\
### Ping-pong: 1 / average round trip (msg/s)

touch all

| Method                         |         100 Byte Messages |      1 Kilo Byte Messages |
| ------------------------------ | -------------------------:| -------------------------:|
| ZeroMQ (TCP) · block           |               unavailable |                         – |
| Pipes · block                  |              10,000 msg/s |               3,333 msg/s |
| Shared Memory · spin           |                         – |               5,000 msg/s |
| shm-futex · block              |               2,500 msg/s |                         – |

ZeroMQ (TCP) · block 100 B: unavailable: no libzmq.so
";
    assert_eq!(shown(&run(cases), "ipc-bench-table"), expected);
}

#[test]
fn entries_show_the_properties_that_distinguish_them() {
    let mut cases = vec![case("pipe", 64, Wait::Spin, 1_000); 4];
    let second = ipcmark_results::Trial { number: 2, ..trial(Wait::Spin, 2_000) };
    cases[0].outcome = measured(vec![trial(Wait::Spin, 1_000), second]);
    cases[1].identity.options.insert("capacity".into(), "1048576".into());
    (cases[2].identity.pattern, cases[2].identity.subscribers) = (Pattern::FanOut, 3);
    cases[3].identity.span = Span::Thread;
    for style in STYLES {
        let text = shown(&run(cases.clone()), style);
        for words in ["trial 1", "trial 2", "capacity=1048576", "3 subscribers", "one process"] {
            assert!(text.contains(words), "no {words} in {style}: {text}");
        }
    }
}

#[test]
fn of_several_subscribers_every_message_counts_in_the_inverse() {
    let mut three = case("shm-ring", 64, Wait::Spin, 1_000);
    (three.identity.pattern, three.identity.subscribers) = (Pattern::FanOut, 3);
    first(&mut three).times_ns.mean = 1_000.0;
    let mut silent = three.clone();
    silent.identity.silent_subscribers = 1;
    let text = shown(&run(vec![three]), "ipc-performance");
    assert!(text.contains("6 / Average (msg/s)") && text.contains("| 6,000,000 "), "{text}");
    let text = shown(&run(vec![silent]), "ipc-performance");
    assert!(text.contains("5 / Average (msg/s)") && text.contains("| 5,000,000 "), "{text}");
    assert!(text.contains("3 subscribers, 1 of them silent"), "{text}");
}

#[test]
fn round_trips_of_a_pattern_that_has_none_are_not_shown() {
    let mut one_way = case("pipe", 64, Wait::Spin, 1_000);
    one_way.identity.pattern = Pattern::OneWay;
    for style in STYLES {
        let text = shown(&run(vec![one_way.clone()]), style);
        assert!(text.contains("its measurement is not one of the pattern one-way"), "{text}");
        assert!(!text.contains("0.50") && !text.contains("1.05"), "{text}");
    }
}

#[test]
fn a_fallback_of_a_library_is_reported() {
    let mut fallen = case("fastdds-shm", 64, Wait::Spin, 1_000);
    let carrier = &mut first(&mut fallen).session.carrier;
    (carrier.declared, carrier.found) = (Some(Carrier::SharedMemory), Carrier::Network);
    for style in STYLES {
        let text = shown(&run(vec![fallen.clone()]), style);
        assert!(text.contains("it fell back: network carried the messages"), "{style}: {text}");
    }
}

#[test]
fn a_reason_of_several_cases_is_shown_once() {
    let missing = |name, bytes| {
        unmeasured(case(name, bytes, Wait::Spin, 1), Status::Unavailable, "no libnng.so")
    };
    let result = run(vec![missing("nng-ipc", 64), missing("nng-tcp", 64), missing("nng-ipc", 128)]);
    for (style, line) in [
        ("iceperf", "\n64 [B], 128 [B]: unavailable: no libnng.so\n"),
        ("fastdds", "\n# 64 bytes, 128 bytes: unavailable: no libnng.so\n"),
        ("ipc-performance", "\nNNG (IPC) · spin, NNG (TCP) · spin: unavailable: no libnng.so\n"),
    ] {
        let text = shown(&result, style);
        assert!(text.contains(line), "{style}: {text}");
    }
}
