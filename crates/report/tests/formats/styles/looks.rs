//! A small result in each style, to the letter.

use ipcmark_report::Format;
use ipcmark_results::{RunResult, Status};

use super::{STYLES, styled};
use crate::sample::{case, run, unmeasured};

/// A queue at two payloads, one that lost messages, and one that failed.
fn small() -> RunResult {
    let mut lossy = case("udp", 1_024, "spin", 12_600);
    let figures = lossy.figures.as_mut().unwrap();
    (figures.round_trips, figures.lost, figures.lost_wait_ns) = (9_997, 3, 150_000_000);
    let failed = unmeasured(case("pipe", 64, "block", 1), Status::Failed, "killed by signal 9");
    let mut queue = case("posix-mq", 4_096, "block", 320_000);
    queue.figures.as_mut().unwrap().messages_per_second = 5_952.4;
    let mut result = run(vec![lossy, queue, case("posix-mq", 1_024, "block", 6_300), failed]);
    result.notes.push("The governor is `powersave`.".into());
    result
}

#[test]
fn iceperf_s_looks_like_this() {
    let expected = "\
******   MESSAGE QUEUE    ********
posix-mq, wait block, touch head
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
pipe, wait block, touch head

64 [B]: failed: killed by signal 9

Finished!

******        UDP         ********
udp, wait spin, touch head
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
    assert_eq!(styled(&small(), Format::Iceperf), expected);
}

#[test]
fn payloads_below_a_kilobyte_carry_their_units() {
    let cases = [(16, 420), (1_024, 730), (1 << 20, 90_000)];
    let mut cases = cases.map(|(bytes, p50)| case("iceoryx-cpp", bytes, "spin", p50)).to_vec();
    cases[1] = unmeasured(cases[1].clone(), Status::Failed, "killed by signal 9");
    let text = styled(&run(cases), Format::Iceperf);
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
fn ipc_bench_s_looks_like_this() {
    let mut pipe = case("pipe", 4_096, "block", 1_418);
    let figures = pipe.figures.as_mut().unwrap();
    figures.round_trips = 1_000;
    figures.messages_per_second = 1_028_276.0;
    (figures.round_trip_ns.mean, figures.round_trip_ns.stdev) = (1_418.0, 1_282.0);
    (figures.round_trip_ns.min, figures.round_trip_ns.max) = (900, 25_000);
    let failed = unmeasured(case("signal", 100, "block", 1), Status::Failed, "it hung");
    let expected = "\
pipe, wait block, touch head
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

signal, wait block, touch head
============ RESULTS ================
Message size:       100
failed: it hung
=====================================
";
    assert_eq!(styled(&run(vec![pipe, failed]), Format::IpcBench), expected);
    let text = styled(&small(), Format::IpcBench);
    assert!(text.contains("=\n3 of 10,000 round trips lost, 150 ms spent"), "{text}");
    assert!(text.ends_with("\nNote: The governor is `powersave`.\n"), "{text}");
}

#[test]
fn fastdds_s_looks_like_this() {
    let expected = "\
# pipe, wait block, touch head
# 64 bytes: failed: killed by signal 9

# posix-mq, wait block, touch head (half of each round trip, in us)
   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max
--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,
    1024,   10000,   1.260,   3.308,   2.835,   3.150,   3.465,   4.095,  28.350,  53.508
    4096,   10000,  64.000, 168.000, 144.000, 160.000, 176.000, 208.000,1440.000,1935.707

# udp, wait spin, touch head (half of each round trip, in us)
   Bytes, Samples,   stdev,    mean,     min,     50%,     90%,     99%,  99.99%,     max
--------,--------,--------,--------,--------,--------,--------,--------,--------,--------,
    1024,    9997,   2.520,   6.615,   5.670,   6.300,   6.930,   8.190,  56.700,  91.308
# 1024 bytes: 3 of 10,000 round trips lost, 150 ms spent waiting for them

# The governor is `powersave`.
";
    assert_eq!(styled(&small(), Format::FastDds), expected);
}

#[test]
fn ipc_performance_s_looks_like_this() {
    let mut cases =
        vec![case("zeromq-ipc", 32, "block", 250_300), case("shm-ring", 32, "spin", 550)];
    cases.push(case("boost-mq", 32, "spin", 970));
    cases.push(unmeasured(case("nng-ipc", 32, "spin", 1), Status::Unavailable, "no libnng.so|1"));
    let expected = "\
### Latency (microseconds)

32 B, wait block, touch head

| Implementation | Average | P50    | P90    | P99     | Min    | Max     | Throughput (msg/s) |
|---------------|---------|--------|--------|---------|---------|---------|-------------------|
| ZeroMQ (IPC)  | 262.81  | 250.30 | 275.33 | 325.39  | 225.27  | 3035.01 | 7,610             |

### Latency (microseconds)

32 B, wait spin, touch head

| Implementation | Average | P50    | P90    | P99     | Min    | Max     | Throughput (msg/s) |
|---------------|---------|--------|--------|---------|---------|---------|-------------------|
| Shared Memory | 0.58    | 0.55   | 0.60   | 0.71    | 0.49    | 38.02   | 3,463,203         |
| Boost MQ      | 1.02    | 0.97   | 1.07   | 1.26    | 0.87    | 43.05   | 1,963,672         |
| NNG (IPC)     | unavailable | –      | –      | –       | –       | –       | –                 |

NNG (IPC): unavailable: no libnng.so\\|1
";
    assert_eq!(styled(&run(cases), Format::IpcPerformance), expected);
}

#[test]
fn what_sets_cases_apart_is_said() {
    let mut cases = vec![case("pipe", 64, "spin", 1_000); 5];
    cases[1].trial = 2;
    cases[2].options.insert("capacity".into(), "1048576".into());
    (cases[3].pattern, cases[3].subscribers) = ("fan-out".into(), 3);
    cases[4].span = "thread".into();
    for style in STYLES {
        let text = styled(&run(cases.clone()), style);
        for words in ["trial 2", "capacity=1048576", "3 subscribers", "one process"] {
            assert!(text.contains(words), "no {words} in {style}: {text}");
        }
    }
}

#[test]
fn of_several_subscribers_ipc_bench_counts_round_trips() {
    let mut three = case("shm-ring", 64, "spin", 1_000);
    (three.pattern, three.subscribers) = ("fan-out".into(), 3);
    three.figures.as_mut().unwrap().messages_per_second = 6e6;
    let mut silent = three.clone();
    silent.silent_subscribers = 1;
    let text = styled(&run(vec![three]), Format::IpcBench);
    assert!(text.contains("Message rate:       1000000    \tmsg/s\n"), "{text}");
    let text = styled(&run(vec![silent]), Format::IpcBench);
    assert!(text.contains("Message rate:       1200000    \tmsg/s\n"), "{text}");
    assert!(text.contains("3 subscribers, 1 of them silent"), "{text}");
}

#[test]
fn a_pattern_without_round_trips_is_said_not_to_be_shown() {
    let mut one_way = case("pipe", 64, "spin", 1_000);
    one_way.pattern = "one-way".into();
    for style in STYLES {
        let text = styled(&run(vec![one_way.clone()]), style);
        assert!(text.contains("not shown: the pattern one-way measures no round trips"), "{text}");
        assert!(!text.contains("0.50") && !text.contains("1.05"), "{text}");
    }
}

#[test]
fn a_library_that_fell_back_is_said_to_have() {
    let mut fallen = case("fastdds-shm", 64, "spin", 1_000);
    let path = &mut fallen.figures.as_mut().unwrap().path;
    (path.declared, path.carrier) = (Some("shared-memory".into()), "loopback".into());
    for style in STYLES {
        let text = styled(&run(vec![fallen.clone()]), style);
        assert!(text.contains("it fell back: loopback carried the messages"), "{style}: {text}");
    }
}

#[test]
fn a_reason_that_several_cases_share_is_said_once() {
    let missing =
        |name, bytes| unmeasured(case(name, bytes, "spin", 1), Status::Unavailable, "no libnng.so");
    let result = run(vec![missing("nng-ipc", 64), missing("nng-tcp", 64), missing("nng-ipc", 128)]);
    for (style, line) in [
        (Format::Iceperf, "\n64 [B], 128 [B]: unavailable: no libnng.so\n"),
        (Format::FastDds, "\n# 64 bytes, 128 bytes: unavailable: no libnng.so\n"),
        (Format::IpcPerformance, "\nNNG (IPC), NNG (TCP): unavailable: no libnng.so\n"),
    ] {
        let text = styled(&result, style);
        assert!(text.contains(line), "{style}: {text}");
    }
}
