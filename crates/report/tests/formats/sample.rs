//! Results to render: one case, and a whole run similar to that of a real machine.

use ipcmark_results::*;

/// A case measured in one trial with this p50, with plausible other figures.
pub fn case(transport: &str, payload_bytes: u64, wait: Wait, p50: u64) -> Case {
    Case {
        identity: Identity {
            transport: transport.into(),
            family: "os".into(),
            library_version: None,
            pattern: Pattern::Latency,
            payload_bytes,
            wait,
            touch: Touch::All,
            load: Load::Closed,
            span: Span::Process,
            subscribers: 1,
            silent_subscribers: 0,
            pairs: 1,
            between: None,
            n_sends: false,
            options: Default::default(),
            placement: PlacementPolicy::Auto,
        },
        outcome: measured(vec![trial(wait, p50)]),
    }
}

/// The same spinning at 10,000 messages of 64 B a second, of which it sent this many.
pub fn overloaded(transport: &str, p50: u64, sent: u64) -> Case {
    let mut one = case(transport, 64, Wait::Spin, p50);
    one.identity.load = Load::Rate { per_second: 10_000, arrivals: Arrivals::Fixed };
    first(&mut one).offered = Some(Offered {
        intended: 10_000,
        sent,
        received: Some(sent),
        late: 10_000,
        elapsed_ns: 1_000_000_000,
        service_ns: times(61_000, 65_000, 70_000, 80_000),
        delay_ns: times(50, 60, 70, 80),
    });
    one
}

/// Two ranks of a job, on different hosts.
pub fn between(leader: u32, follower: u32) -> Between {
    let place = |rank| RankPlace { rank, host: format!("node{rank}") };
    Between { leader: place(leader), follower: place(follower) }
}

/// The outcome of a case with these trials.
pub fn measured(trials: Vec<Trial>) -> Outcome {
    Outcome::Ok { measurement: Measurement::RoundTrips(Trials { trials, counted: None }) }
}

/// Adds the fields that only trials of this pattern have.
pub fn with_parts_of(pattern: Pattern, trial: Trial) -> Trial {
    let parts = OneWayParts {
        send_ns: trial.times_ns.clone(),
        round_trip_ns: Some(trial.times_ns.clone()),
        wake_up_ns: None,
        wake_up_unknown: None,
        clock_offset: Some(ClockOffset { least_ns: -30, estimate_ns: 5, most_ns: 45 }),
    };
    let depth = Some(QueueDepth { p50: 128, max: 700 });
    let stream = StreamParts { counted: 10_000, depth, ..StreamParts::default() };
    Trial {
        one_way: (pattern == Pattern::OneWay).then_some(parts),
        stream: pattern.is_stream().then_some(stream),
        ..trial
    }
}

/// The outcome of a case of this pattern with these trials.
pub fn measured_as(pattern: Pattern, trials: Vec<Trial>) -> Outcome {
    let mut trials = trials.into_iter().map(|trial| with_parts_of(pattern, trial));
    let mut measurement = Measurement::of(pattern, trials.next().expect("at least one"));
    measurement.trials_mut().extend(trials);
    Outcome::Ok { measurement }
}

/// The first trial of a measured case, mutable.
pub fn first(case: &mut Case) -> &mut Trial {
    match &mut case.outcome {
        Outcome::Ok { measurement } => &mut measurement.trials_mut()[0],
        other => panic!("it was not measured: {other:?}"),
    }
}

/// Plausible percentiles and costs for round trips with this p50, all measured at one distance.
pub fn trial(wait: Wait, p50: u64) -> Trial {
    let time = p50.max(1) as f64;
    let times_ns = times(p50, p50 * 13 / 10, p50 * 4, p50 * 12 + 31_415);
    Trial {
        number: 1,
        one_way: None,
        stream: None,
        clock_free_mean_ns: time * 0.98,
        elapsed_ns: (time * 1.05) as u64 * 10_000,
        lost_wait_ns: 0,
        offered: None,
        answers: Vec::new(),
        first_answer_ns: None,
        round: 0,
        reference_multiple: (wait == Wait::Block).then_some(1.25),
        blocks: Blocks {
            turn: vec![0],
            start_ns: vec![0],
            clock_free: vec![true],
            events: vec![10_000],
            elapsed_ns: vec![p50 * 9_800],
            lost: vec![0],
            sleeps: Vec::new(),
            probe_before_ns: vec![206.0],
            probe_after_ns: vec![206.0],
            shared_core: Vec::new(),
        },
        by_distance: vec![AtDistance {
            distance: 0,
            blocks: 1,
            location_ns: Some(time * 0.98),
            floor_multiple: Some(time * 0.98 / 206.0),
            reference_multiple: None,
            settled: None,
            times_ns: times_ns.clone(),
        }],
        times_ns,
        session: session(wait, time),
    }
}

/// Ten thousand times with these percentiles.
pub fn times(p50: u64, p99: u64, p99_9: u64, max: u64) -> Times {
    let mut histogram = new_histogram();
    for (time, count) in [(p50, 9_800), (p99, 185), (p99_9, 14), (max, 1)] {
        histogram.saturating_record_n(time, count);
    }
    let time = p50.max(1) as f64;
    Times {
        count: 10_000,
        mean: time * 1.05,
        stdev: time * 0.4,
        min: p50 * 9 / 10,
        p50,
        p90: p50 * 11 / 10,
        p99,
        p99_9,
        p99_99: p50 * 9,
        max,
        histogram: encode(&histogram),
    }
}

/// Sets the times and the clock-free mean of a trial, at its distance and overall.
pub fn set(trial: &mut Trial, times: Times, mean_ns: f64) {
    trial.by_distance[0].location_ns = Some(mean_ns);
    trial.by_distance[0].floor_multiple = Some(mean_ns / 206.0);
    trial.by_distance[0].times_ns = times.clone();
    (trial.times_ns, trial.clock_free_mean_ns) = (times, mean_ns);
}

fn session(wait: Wait, time: f64) -> SessionRecord {
    SessionRecord {
        setup_ns: 250_000,
        first_round_trip_ns: Some(50_000),
        turns_ns: 1_000_000,
        configuration: Default::default(),
        messages: 20_000,
        losses: Losses { sent: 10_000, received: 10_000, ..Losses::default() },
        carrier: CarrierEvidence {
            found: Carrier::Kernel,
            declared: Some(Carrier::Kernel),
            loopback_bytes_per_message: 0.0,
            shared_bytes: 0,
            objects: Vec::new(),
        },
        processes: vec![
            process(Role::Leader, 0, wait, time * 0.51, 3),
            process(Role::Follower(0), 1, wait, time * 0.49, 1),
        ],
        parts_per_message: Some(1.0),
        working_set: None,
        idle_share: 0.0,
        other_pairs: Vec::new(),
    }
}

/// A process with one end that has 20,000 messages of this cost.
fn process(role: Role, cpu: u32, wait: Wait, cost_ns: f64, involuntary: u64) -> ProcessRecord {
    let voluntary = if wait == Wait::Spin { 0 } else { 10_000 };
    let share = |part: f64| (cost_ns * 20_000.0 * part) as u64;
    let thread = ThreadRecord { cpu_ns: share(0.9), sleeps: voluntary, ..ThreadRecord::default() };
    ProcessRecord {
        threads: None,
        channels: Vec::new(),
        name: "ipcmark".into(),
        ends: vec![EndRecord { role, cpu: Some(cpu), sent: 10_000, received: 10_000, thread }],
        cpu_ns: share(1.0),
        other_threads_ns: None,
        user_ns: share(0.75),
        system_ns: share(0.25),
        context_switches: ContextSwitches { voluntary, involuntary },
        page_faults: PageFaults { minor: 7, major: 0 },
        peak_memory_bytes: 3_000_000 - u64::from(cpu) * 1_000_000,
        calls: None,
        processor: None,
    }
}

/// Makes a trial lose round trips.
pub fn lose(trial: &mut Trial, lost: u64, wait_ns: u64) {
    let sent = trial.session.losses.sent;
    trial.session.losses = Losses { sent, received: sent - lost, lost, ..Losses::default() };
    (trial.times_ns.count, trial.lost_wait_ns) = (sent - lost, wait_ns);
}

/// The case, not measured.
pub fn unmeasured(case: Case, status: Status, reason: &str) -> Case {
    let reason = reason.into();
    let outcome = match status {
        Status::Ok => panic!("it needs a measurement"),
        Status::Failed => Outcome::Failed { reason },
        Status::Unavailable => Outcome::Unavailable { reason },
        Status::Unsupported => Outcome::Unsupported { reason },
    };
    Case { outcome, ..case }
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
        time: None,
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
            facts: vec![MachineFact {
                name: "mitigations".into(),
                value: "on".into(),
                effect: Some(FactEffect {
                    weight: "note".into(),
                    rows: vec!["sleeping rows".into()],
                    sentence: "every system call pays for them".into(),
                    remedy: None,
                }),
            }],
        },
        clock: Clock { read_ns: 21.7, step_ns: 1, source: "tsc".into() },
        distances: Some(RunDistances {
            all: vec![distance(206.0, 0.94), distance(412.0, 0.05)],
            reference: Some(0),
            mixed_share: 0.01,
        }),
        rounds: vec![],
        notes: vec![],
        cases,
    }
}

fn distance(floor_round_trip_ns: f64, share: f64) -> RunDistance {
    RunDistance { floor_round_trip_ns, apart: false, share }
}

/// A whole run: every wait of 19 transports at the payloads of a default run, with rows that lost
/// messages, failed, or could not be measured.
pub fn whole_run() -> RunResult {
    let (head, all) = (Touch::Head, Touch::All);
    let sizes = [(64, all), (4_096, all), (1 << 20, head), (1 << 20, all)];
    let mut cases = Vec::new();
    for (transport, spin, block, per_byte) in TRANSPORTS {
        for (bytes, touch) in sizes {
            let copies = if bytes > 4_096 && touch == all { per_byte + 0.16 } else { *per_byte };
            let at = |ns: f64| (2.0 * (ns + copies * bytes as f64)) as u64;
            cases.extend(spin.map(|ns| touched(case(transport, bytes, Wait::Spin, at(ns)), touch)));
            cases.extend(
                block.map(|ns| touched(case(transport, bytes, Wait::Block, at(ns)), touch)),
            );
        }
    }
    with_accidents(run(cases))
}

fn touched(mut case: Case, touch: Touch) -> Case {
    let is_null = case.identity.transport == "null";
    (case.identity.touch, case.identity.span) =
        (touch, if is_null { Span::None } else { Span::Process });
    case
}

fn with_accidents(mut result: RunResult) -> RunResult {
    for case in &mut result.cases {
        let identity = &case.identity;
        if identity.transport == "udp" && identity.payload_bytes > 4_096 {
            lose(first(case), 3, 150_000_000);
        } else if identity.transport == "fifo" && identity.wait == Wait::Block {
            let reason = "the leader was killed by signal 9 (SIGKILL) while it was measuring";
            *case = unmeasured(case.clone(), Status::Failed, reason);
        }
    }
    for transport in ["sysv-mq", "posix-mq", "pipe"] {
        let reason = "it has no wait `hybrid`; it has `spin` and `block`";
        let case = case(transport, 64, Wait::Hybrid, 1);
        result.cases.push(unmeasured(case, Status::Unsupported, reason));
    }
    let reason = "cannot find the library libiceoryx_posh.so: no such file; install it with `apt-get install libiceoryx-posh-dev`";
    let case = case("iceoryx-cpp", 64, Wait::Spin, 1);
    result.cases.push(unmeasured(case, Status::Unavailable, reason));
    result.notes.push("The processor's frequency governor is `powersave`: figures vary with the load before; set `performance`.".into());
    result.planned_cases = result.cases.len() as u64;
    result
}

/// Half a round trip in ns with spin and with block, and ns per byte.
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
