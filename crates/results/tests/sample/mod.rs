//! A small result to test with.

use ipcmark_results::*;

/// A measured case whose figures follow from `samples`.
pub fn case(transport: &str, samples: &[u64]) -> Case {
    let mut histogram = new_histogram();
    samples.iter().for_each(|sample| histogram.saturating_record(*sample));
    Case {
        transport: transport.into(),
        family: "os".into(),
        library_version: None,
        pattern: "latency".into(),
        payload_bytes: 64,
        wait: "spin".into(),
        touch: "head".into(),
        span: "process".into(),
        subscribers: 1,
        silent_subscribers: 0,
        trial: 1,
        options: [("capacity".to_string(), "8".to_string())].into(),
        status: Status::Ok,
        reason: None,
        figures: Some(figures(&histogram)),
    }
}

fn figures(histogram: &hdrhistogram::Histogram<u64>) -> Figures {
    let mean = histogram.mean();
    Figures {
        round_trips: histogram.len(),
        round_trip_ns: statistics(histogram, mean * 0.97),
        floor_round_trip_ns: 103.4,
        messages_per_second: 2e9 / mean.max(1.0),
        bytes_per_second: 128e9 / mean.max(1.0),
        lost: 0,
        lost_wait_ns: 0,
        per_subscriber: Vec::new(),
        path: Default::default(),
        cpu_ns_per_message: CpuPerMessage { leader: 0.1 + 0.2, follower: 1.0 / 3.0 },
        context_switches: Switches::default(),
        peak_memory_bytes: PeakMemory { leader: 3_000_000, follower: 2_000_000 },
        setup_ns: 12_345,
        configuration: [("pool".to_string(), "16 x 4 MiB".to_string())].into(),
        placement: Placement { leader_cpu: Some(0), follower_cpus: vec![1] },
        histogram: encode(histogram),
    }
}

/// A case that was not measured.
pub fn unmeasured(transport: &str, status: Status, reason: &str) -> Case {
    let case = case(transport, &[]);
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
            seed: u64::MAX,
        },
        environment: Environment { cpu_model: "a \"processor\"\n".into(), ..Default::default() },
        floor: Some(Floor { round_trip_ns: 123.4, lowest_ns: 100.0, highest_ns: 150.0 }),
        clock: Clock { read_ns: 21.7, step_ns: 10, source: "tsc".into() },
        notes: vec!["The governor is powersave.".into()],
        cases,
    }
}

/// One case of each status.
pub fn mixed() -> RunResult {
    run(vec![
        case("pipe", &[900, 1_000, 5_000, 1_000_000]),
        unmeasured("fifo", Status::Failed, "the leader was killed by signal 9"),
        unmeasured("udp", Status::Unavailable, "no network"),
        unmeasured("signal", Status::Unsupported, "it has no wait `spin`"),
    ])
}
