//! A small result for tests.

use hdrhistogram::Histogram;
use ipcmark_results::*;

/// The identity of a case of this transport.
pub fn identity(transport: &str) -> Identity {
    Identity {
        transport: transport.into(),
        family: "os".into(),
        library_version: None,
        pattern: Pattern::Latency,
        payload_bytes: 64,
        wait: Wait::Spin,
        touch: Touch::Head,
        load: Load::Closed,
        span: Span::Process,
        subscribers: 1,
        silent_subscribers: 0,
        pairs: 1,
        between: None,
        n_sends: false,
        options: [("capacity".to_string(), "8".to_string())].into(),
        placement: PlacementPolicy::Auto,
    }
}

/// A case measured in one trial, whose figures follow from `samples`.
pub fn case(transport: &str, samples: &[u64]) -> Case {
    Case { identity: identity(transport), outcome: measured(vec![trial(1, samples)]) }
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

/// A trial of these samples.
pub fn trial(number: u32, samples: &[u64]) -> Trial {
    let mut histogram = new_histogram();
    samples.iter().for_each(|sample| histogram.saturating_record(*sample));
    Trial {
        number,
        times_ns: Times::of(&histogram),
        one_way: None,
        stream: None,
        clock_free_mean_ns: histogram.mean() * 0.97,
        elapsed_ns: samples.iter().sum(),
        lost_wait_ns: 0,
        offered: None,
        answers: Vec::new(),
        first_answer_ns: None,
        round: number - 1,
        reference_multiple: None,
        blocks: blocks(&histogram),
        by_distance: Vec::new(),
        session: session(&histogram),
    }
}

/// One sampled and one clock-free block of these samples, between probes of 100 ns.
fn blocks(histogram: &Histogram<u64>) -> Blocks {
    let elapsed_ns = (histogram.mean() * histogram.len() as f64) as u64;
    Blocks {
        turn: vec![0, 0],
        start_ns: vec![0, elapsed_ns],
        clock_free: vec![false, true],
        events: vec![histogram.len(); 2],
        elapsed_ns: vec![elapsed_ns; 2],
        lost: vec![0, 0],
        sleeps: Vec::new(),
        probe_before_ns: vec![100.0, 100.25],
        probe_after_ns: vec![100.25, 100.5],
        shared_core: Vec::new(),
    }
}

/// The trial placed at two distances of a run; the first is the reference.
pub fn placed(mut trial: Trial, near_ns: f64, far_ns: f64) -> Trial {
    let at = |distance, location_ns| AtDistance {
        distance,
        blocks: 1,
        location_ns: Some(location_ns),
        floor_multiple: Some(location_ns / 100.0),
        reference_multiple: Some(location_ns / 200.0),
        settled: Some(true),
        times_ns: trial.times_ns.clone(),
    };
    trial.by_distance = vec![at(0, near_ns), at(1, far_ns)];
    trial.reference_multiple = Some(1.5);
    trial
}

/// Two distances; rows are compared at the nearer one.
pub fn distances() -> RunDistances {
    let at = |floor_round_trip_ns, share| RunDistance { floor_round_trip_ns, apart: false, share };
    RunDistances { all: vec![at(70.0, 0.6), at(260.0, 0.3)], reference: Some(0), mixed_share: 0.1 }
}

fn session(histogram: &Histogram<u64>) -> SessionRecord {
    let count = histogram.len();
    SessionRecord {
        setup_ns: 12_345,
        first_round_trip_ns: Some(2_345),
        turns_ns: 1_000_000,
        configuration: [("pool".to_string(), "16 x 4 MiB".to_string())].into(),
        messages: 2 * count,
        losses: Losses { sent: count, received: count, ..Losses::default() },
        carrier: CarrierEvidence {
            found: Carrier::Kernel,
            declared: Some(Carrier::Kernel),
            loopback_bytes_per_message: 1.0 / 3.0,
            shared_bytes: 0,
            objects: Vec::new(),
        },
        processes: vec![process(Role::Leader, count), process(Role::Follower(0), count)],
        parts_per_message: Some(1.0),
        working_set: Some(WorkingSet {
            written_buffers: 1,
            read_buffers: 1,
            bytes: 128,
            is_complete: true,
        }),
        idle_share: 0.0,
        other_pairs: Vec::new(),
    }
}

fn process(role: Role, messages: u64) -> ProcessRecord {
    ProcessRecord {
        name: "ipcmark".into(),
        ends: vec![EndRecord {
            role,
            cpu: Some(1),
            sent: messages,
            received: messages,
            thread: ThreadRecord::default(),
        }],
        cpu_ns: 1_000 * messages,
        user_ns: 400 * messages,
        system_ns: 600 * messages,
        peak_memory_bytes: 3_000_000,
        ..ProcessRecord::default()
    }
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
        time: None,
        environment: Environment { cpu_model: "a \"processor\"\n".into(), ..Default::default() },
        clock: Clock { read_ns: 21.7, step_ns: 10, source: "tsc".into() },
        distances: Some(distances()),
        rounds: vec![RoundRecord {
            number: 0,
            trial: 1,
            is_final: false,
            reference: Some(ReferenceKind::Wake),
            blocks: Blocks::default(),
            reference_woken_share: Some(0.95),
            conditions: Conditions { elapsed_ns: 5_000_000, ..Conditions::default() },
            hiccups: vec![Hiccups { cpu: 0, watched_ns: 2_000_000, gaps: vec![], longest_ns: 0 }],
        }],
        notes: vec!["The governor is powersave.".into()],
        cases,
    }
}

/// One case of each status; the first has two trials.
pub fn mixed() -> RunResult {
    let reason = String::from;
    let unmeasured = |transport, outcome| Case { identity: identity(transport), outcome };
    let mut first = case("pipe", &[]);
    first.outcome =
        measured(vec![trial(1, &[900, 1_000, 5_000, 1_000_000]), trial(2, &[800, 1_100])]);
    run(vec![
        first,
        unmeasured("fifo", Outcome::Failed { reason: reason("it was killed by signal 9") }),
        unmeasured("udp", Outcome::Unavailable { reason: reason("no network") }),
        unmeasured("signal", Outcome::Unsupported { reason: reason("it has no wait `spin`") }),
    ])
}

/// The result of a row with three trials, placed with the samples that each of them has.
pub fn placed_row(
    identity: Identity,
    trial: impl Fn(u32) -> Trial,
    samples: &[PlacedSamples],
) -> RunResult {
    let case = Case { identity, outcome: measured((1..=3).map(trial).collect()) };
    let mut result = RunResult { rounds: Vec::new(), distances: None, ..run(vec![case]) };
    let samples = (1..=3).map(|number| ((0, number, 0), samples.to_vec())).collect();
    place(&mut result, &samples).unwrap();
    result
}
