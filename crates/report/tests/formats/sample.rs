//! Results to render: of one case, and of a whole run as a real machine gives it.

use ipcmark_results::*;

/// A measured case of this p50, with figures as they go with it.
pub fn case(transport: &str, payload_bytes: u64, wait: &str, p50: u64) -> Case {
    Case {
        transport: transport.into(),
        family: "os".into(),
        library_version: None,
        pattern: "latency".into(),
        payload_bytes,
        wait: wait.into(),
        touch: "head".into(),
        span: "process".into(),
        subscribers: 1,
        silent_subscribers: 0,
        trial: 1,
        options: Default::default(),
        status: Status::Ok,
        reason: None,
        figures: Some(figures(payload_bytes, wait, p50)),
    }
}

/// Percentiles, costs and rates that a round trip of this p50 may well have.
pub fn figures(payload_bytes: u64, wait: &str, p50: u64) -> Figures {
    let time = p50.max(1) as f64;
    let sleeps = if wait == "spin" { 0 } else { 10_000 };
    Figures {
        round_trips: 10_000,
        round_trip_ns: RoundTrip {
            mean: time * 1.05,
            stdev: time * 0.4,
            min: p50 * 9 / 10,
            p50,
            p90: p50 * 11 / 10,
            p99: p50 * 13 / 10,
            p99_9: p50 * 4,
            p99_99: p50 * 9,
            max: p50 * 12 + 31_415,
            bulk_mean: time * 0.98,
        },
        floor_round_trip_ns: 206.0,
        messages_per_second: 2e9 / (time * 1.05),
        bytes_per_second: 2e9 * payload_bytes as f64 / (time * 1.05),
        lost: 0,
        lost_wait_ns: 0,
        per_subscriber: Vec::new(),
        path: Path { carrier: "kernel".into(), declared: Some("kernel".into()), ..Path::default() },
        cpu_ns_per_message: CpuPerMessage { leader: time * 0.51, follower: time * 0.49 },
        context_switches: Switches {
            leader: SwitchCount { voluntary: sleeps, involuntary: 3 },
            follower: SwitchCount { voluntary: sleeps, involuntary: 1 },
        },
        peak_memory_bytes: PeakMemory { leader: 3_000_000, follower: 2_000_000 },
        setup_ns: 250_000,
        configuration: Default::default(),
        placement: Placement { leader_cpu: Some(0), follower_cpus: vec![1] },
        histogram: String::new(),
    }
}

/// The case, not measured.
pub fn unmeasured(case: Case, status: Status, reason: &str) -> Case {
    Case { status, reason: Some(reason.into()), figures: None, ..case }
}

/// A run of these cases.
pub fn run(cases: Vec<Case>) -> RunResult {
    RunResult {
        schema: SCHEMA.into(),
        complete: true,
        planned_cases: cases.len() as u64,
        run: Run {
            id: "r1".into(),
            started_at: "2026-01-02T03:04:05Z".into(),
            command: vec!["ipcmark".into(), "run".into()],
            version: "0.1.0".into(),
            seed: 1,
        },
        environment: Environment {
            cpu_model: "AMD EPYC 7B13".into(),
            cpus_usable: 2,
            cores_usable: 2,
            kernel: "Linux 6.1.0-18-cloud-amd64".into(),
            os: "Debian GNU/Linux 12 (bookworm)".into(),
            hypervisor: "KVM".into(),
            governor: None,
            memory_bytes: 8 << 30,
            sandbox: "namespaces".into(),
            placement: "leader on cpu 0, follower on cpu 1, two cores of one package".into(),
        },
        floor: Some(Floor { round_trip_ns: 206.0, lowest_ns: 180.0, highest_ns: 250.0 }),
        clock: Clock { read_ns: 21.7, step_ns: 10, source: "tsc".into() },
        notes: vec![],
        cases,
    }
}

/// A whole run: every wait of 19 transports at the payloads of a default run, with rows that lost
/// messages, failed, or could not be measured.
pub fn whole_run() -> RunResult {
    let sizes = [(64, "head"), (4_096, "head"), (1 << 20, "head"), (1 << 20, "all")];
    let mut cases = Vec::new();
    for (transport, spin, block, per_byte) in TRANSPORTS {
        for (bytes, touch) in sizes {
            let copies = if touch == "all" { per_byte + 0.16 } else { *per_byte };
            let at = |ns: f64| (2.0 * (ns + copies * bytes as f64)) as u64;
            cases.extend(spin.map(|ns| touched(case(transport, bytes, "spin", at(ns)), touch)));
            cases.extend(block.map(|ns| touched(case(transport, bytes, "block", at(ns)), touch)));
        }
    }
    with_accidents(run(cases))
}

fn touched(case: Case, touch: &str) -> Case {
    let span = if case.transport == "null" { "none" } else { "process" };
    Case { touch: touch.into(), span: span.into(), ..case }
}

fn with_accidents(mut result: RunResult) -> RunResult {
    for case in &mut result.cases {
        let is_lossy = case.transport == "udp" && case.payload_bytes > 4_096;
        if let Some(figures) = case.figures.as_mut().filter(|_| is_lossy) {
            (figures.lost, figures.lost_wait_ns) = (3, 150_000_000);
        }
        if case.transport == "fifo" && case.wait == "block" {
            let reason = "the leader was killed by signal 9 (SIGKILL) while it was measuring";
            *case = unmeasured(case.clone(), Status::Failed, reason);
        }
    }
    for transport in ["sysv-mq", "posix-mq", "pipe"] {
        let reason = "it has no wait `hybrid`; it has `spin` and `block`";
        let case = case(transport, 64, "hybrid", 1);
        result.cases.push(unmeasured(case, Status::Unsupported, reason));
    }
    let reason = "cannot find the library libiceoryx_posh.so: no such file; install it with `apt-get install libiceoryx-posh-dev`";
    let case = case("iceoryx-cpp", 64, "spin", 1);
    result.cases.push(unmeasured(case, Status::Unavailable, reason));
    result.notes.push("The processor's frequency governor is `powersave`: figures vary with the load before; set `performance`.".into());
    result.planned_cases = result.cases.len() as u64;
    result
}

/// Half a round trip in ns when spinning and when blocking, and ns a byte.
const TRANSPORTS: &[(&str, Option<f64>, Option<f64>, f64)] = &[
    ("null", Some(4.2), None, 0.0),
    ("shm-slot", Some(112.0), None, 0.0),
    ("shm-ring", Some(151.0), None, 0.0),
    ("shm-futex", Some(163.0), Some(38_200.0), 0.0),
    ("shm-semaphore", Some(310.0), Some(39_900.0), 0.0),
    ("sysv-shm", Some(148.0), None, 0.0),
    ("mmap-file", Some(149.0), None, 0.0),
    ("memfd", Some(147.0), None, 0.0),
    ("eventfd", Some(801.0), Some(41_000.0), 0.0),
    ("signal", Some(1_210.0), Some(42_700.0), 0.0),
    ("pipe", Some(1_080.0), Some(40_600.0), 0.21),
    ("fifo", Some(1_085.0), Some(40_700.0), 0.21),
    ("posix-mq", Some(1_310.0), Some(41_800.0), 0.33),
    ("sysv-mq", Some(1_220.0), Some(41_900.0), 0.35),
    ("uds-stream", Some(1_790.0), Some(44_100.0), 0.26),
    ("uds-seqpacket", Some(1_750.0), Some(44_200.0), 0.29),
    ("uds-dgram", Some(1_820.0), Some(44_900.0), 0.29),
    ("tcp", Some(7_400.0), Some(51_000.0), 0.38),
    ("udp", Some(6_300.0), Some(49_000.0), 0.71),
];
