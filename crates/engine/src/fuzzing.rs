//! A leader's requests to a follower's worker, and a worker's replies, as functions of bytes, called by the fuzz
//! targets in `crates/fuzz`.

use std::{collections::BTreeMap, io::Write, path::PathBuf, time::Duration};

use ipcmark_machine::placement::Placement;
use ipcmark_results::{Arrivals, ChannelKind, ChannelRecord, ClockOffset, Load, Touch};
use ipcmark_transport::{Carrier, Pattern, Role, RunId, Settings, Span, Wait};
use serde_json::{Value, json};

use crate::{
    command::{Reports, RowReports, TrialFacts},
    registry::AnyTransport,
    wire::{
        AnswerReport, Block, BlockKind, Channel, ClockReport, Costs, FollowerReport, HelperCosts,
        Holdings, LeaderReport, MAX_FRAME, Mapping, OfferedReport, OneWayReport, Opened, Opening,
        Pass, PathOptions, ProbeBin, Reply, Request, SampleGroup, StreamReport, ThreadCosts,
        Traffic, TurnLimit, WorkingSetReport, pair,
    },
    worker,
};

/// The time that a session is given: the maximum that a report may cover.
const GIVEN: Duration = Duration::from_secs(1);

/// The messages received from a channel, given as one JSON list or as the bytes of frames.
fn received<In: serde::de::DeserializeOwned>(bytes: &[u8]) -> Vec<In> {
    let frames = match serde_json::from_slice(bytes) {
        Ok(Value::Array(messages)) => messages.iter().flat_map(frame).collect(),
        _ => bytes.to_vec(),
    };
    let (mut sender, receiver) = pair().expect("a socket pair");
    std::thread::scope(|scope| {
        scope.spawn(move || drop(sender.write_all(&frames)));
        let mut channel = Channel::<In>::new(receiver, "other process", MAX_FRAME);
        let mut messages = Vec::new();
        while let Ok(Some(message)) = channel.receive() {
            messages.push(message);
        }
        messages
    })
}

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    [&(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat()
}

/// Processes requests to a follower's worker of this transport, up to the endpoint that would be opened and the
/// pass over it.
pub fn requests(bytes: &[u8], transport: &dyn AnyTransport) {
    let mut open: Option<Settings> = None;
    for request in received::<Request>(bytes) {
        match request {
            Request::Open(opening) => open = settings(transport, opening),
            Request::Run(pass) => {
                let Some(settings) = &open else { continue };
                let checked = worker::check_pass(transport.definition(), settings, &pass);
                assert!(checked.is_err() || pass.payload <= settings.payload, "{pass:?}");
            }
            other => drop(serde_json::to_vec(&other).expect("what was read can be written")),
        }
    }
}

/// The settings of the endpoint that would be opened; no path in them is the leader's.
fn settings(transport: &dyn AnyTransport, opening: Opening) -> Option<Settings> {
    let (definition, role) = (transport.definition(), Role::Follower(0));
    worker::check_opening(definition, role, &opening).ok()?;
    let local = PathOptions::Local(BTreeMap::new());
    let requested = opening.options;
    let options = worker::options(&definition.name, &definition.options, requested, &local).ok()?;
    assert!(options.values().all(|value| !value.starts_with('/')), "{options:?}");
    Some(Settings {
        role,
        wait: opening.wait,
        payload: opening.payload,
        subscribers: opening.subscribers,
        name: RunId::new(0).session(opening.number),
        directory: PathBuf::from("/nowhere"),
        address: None,
        connect_within: opening.connect_within,
        options,
    })
}

/// Processes replies of a session's workers, up to the row of the result.
pub fn replies(bytes: &[u8]) {
    let mut row = RowReports {
        opened: Vec::new(),
        measured: Vec::new(),
        seen: Vec::new(),
        wake_ups: None,
        others: Vec::new(),
    };
    for reply in received::<Reply>(bytes) {
        let role = match reply {
            Reply::Led(_)
            | Reply::Ready { .. }
            | Reply::BackgroundRuns
            | Reply::Prepared(Some(_)) => Role::Leader,
            _ => Role::Follower(0),
        };
        let owed = asked().into_iter().any(|request| request.is_answered_by(role, &reply));
        if !owed || !reply.is_possible(GIVEN) {
            continue;
        }
        match reply {
            Reply::Opened(_) => row.opened.push(reply),
            Reply::Led(_) | Reply::Followed(_) => row.measured.push(reply),
            Reply::Seen { .. } => row.seen.push(reply),
            _ => {}
        }
    }
    // As in a session: one from each worker, the leader's first.
    row.measured.sort_by_key(|reply| !matches!(reply, Reply::Led(_)));
    let Ok(reports) = Reports::of(row) else { return };
    let (_, _, share) = (reports.placed_samples(), reports.blocks(), reports.idle_share());
    assert!(share.is_finite(), "{share}");
    let placement =
        Placement { leader: Some(0), followers: vec![None], words: String::new(), warning: None };
    let circumstances = TrialFacts {
        number: 0,
        round: 0,
        pattern: Pattern::Latency,
        n_sends: false,
        messages_per_publication: 2,
        placements: std::slice::from_ref(&placement),
        declared: Some(Carrier::SharedMemory),
        span: Span::Process,
        sandboxed: true,
        apart: false,
        payload: 64,
        load: Load::Closed,
    };
    let Ok(measurement) = reports.measurement(&circumstances) else { return };
    // A measurement with a non-finite figure becomes a failed row.
    drop(measurement.check());
    assert!(serde_json::to_string(&measurement).is_ok(), "what was measured can be written");
}

/// A request of each kind that is answered.
fn asked() -> Vec<Request> {
    let session = requests_of_a_session();
    serde_json::from_value(session).expect("they are requests")
}

/// A leader's requests to a worker.
pub fn requests_of_a_session() -> Value {
    let opening = Opening {
        number: 1,
        wait: Wait::Spin,
        payload: 64,
        subscribers: 1,
        n_sends: false,
        options: BTreeMap::from([("depth".into(), "16".into())]),
        connect_within: Duration::from_secs(8),
    };
    let limit = TurnLimit { number: 0, time_ns: 1_000_000, samples: 100 };
    let pass = Pass {
        pattern: Pattern::Latency,
        payload: 64,
        touch: Touch::All,
        warm_up: limit,
        seed: 1,
        trial: 1,
        pair: 0,
        silent: 0,
        load: Load::Rate { per_second: 1000, arrivals: Arrivals::Poisson },
        is_thorough: true,
        trace: None,
    };
    json!([
        Request::Prepare { probes: true },
        Request::Open(opening),
        Request::Run(pass),
        Request::Turn(limit),
        Request::Background(1),
        Request::EndBackground,
        Request::Finish,
        Request::Look,
        Request::Close,
    ])
}

/// The replies of a leader and a follower.
pub fn replies_of_a_session() -> Value {
    let opened = || Opened {
        setup_ns: 1000,
        configuration: [("key".into(), "value".into())].into(),
        process: "ipcmark-leader".into(),
    };
    let mapping = Mapping { id: "00:01 7".into(), bytes: 4096, name: "/dev/shm/x".into() };
    let thread =
        ThreadCosts { cpu_ns: 2000, run_delay_ns: 10, sleeps: 1, pauses: 1, idles: Some(1) };
    let traffic = Traffic { sent: 40, received: 40 };
    let costs = Costs { cpu_ns: 3000, user_ns: 2000, system_ns: 1000, ..Costs::default() };
    let follower = FollowerReport { traffic, costs: Some(costs), thread };
    json!([
        Reply::Prepared(Some(ClockReport { read_ns: 20.0, step_ns: 1 })),
        Reply::Opened(opened()),
        Reply::Opened(opened()),
        Reply::Phase("verifying".into()),
        Reply::Ready { round_trip_ns: 500.0 },
        Reply::BackgroundRuns,
        Reply::Led(Box::new(led(traffic, thread))),
        Reply::Followed(Some(follower)),
        Reply::Seen { shared: vec![mapping.clone()], network: false, holdings: held() },
        Reply::Seen { shared: vec![mapping], network: false, holdings: Holdings::default() },
        Reply::Closed,
    ])
}

fn led(traffic: Traffic, thread: ThreadCosts) -> LeaderReport {
    let mut histogram = ipcmark_results::new_histogram();
    histogram.record_n(500, 10).expect("it is within its bounds");
    let histogram = ipcmark_results::encode(&histogram);
    let block = |turn, start_ns, kind| Block {
        turn,
        start_ns,
        kind,
        events: 10,
        samples: 10,
        elapsed_ns: 5000,
        lost: 0,
        sleeps: None,
        probes_ns: Some([72.0, 73.0]),
        shared: true,
    };
    LeaderReport {
        blocks: vec![
            block(0, 1000, BlockKind::Sampled),
            block(0, 7000, BlockKind::ClockFree),
            block(1, 13_000, BlockKind::ClockFree),
        ],
        samples: vec![SampleGroup {
            bins: Some([72.5, 81.0].map(ProbeBin::of)),
            awake: false,
            shared: false,
            histogram: histogram.clone(),
        }],
        traffic,
        costs: Costs { cpu_ns: 3000, idle_ns: 100, idle_cpu_ns: 10, ..Costs::default() },
        thread,
        parts_per_message: Some(1.0),
        first_round_trip_ns: Some(2000),
        working_set: Some(WorkingSetReport { written: 4, read: 1, is_complete: true }),
        helpers: vec![HelperCosts { name: "iox-roudi".into(), cpu_ns: 5, idle_cpu_ns: 1 }],
        lost: 0,
        late: 0,
        lost_wait_ns: 0,
        answers: vec![AnswerReport { histogram: histogram.clone(), lost: 0 }],
        first_answers: Some(histogram.clone()),
        one_way: Some(OneWayReport {
            send: histogram.clone(),
            round_trips: Some(histogram.clone()),
            clock_offset: Some(ClockOffset { least_ns: -30, estimate_ns: 4, most_ns: 40 }),
        }),
        stream: Some(StreamReport {
            sent: 20,
            received: 19,
            published: vec![9, 10],
            depth: Some(histogram.clone()),
        }),
        offered: Some(OfferedReport {
            sent: 10,
            lost: 1,
            unsent: 10,
            late: 12,
            elapsed_ns: 20_000,
            service: histogram.clone(),
            delay: histogram.clone(),
            waited: histogram,
        }),
    }
}

fn held() -> Holdings {
    let channel = ChannelRecord {
        kind: ChannelKind::Tcp,
        count: 2,
        send_bytes: 4 << 20,
        receive_bytes: 128 << 10,
        no_delay: Some(true),
    };
    Holdings { threads: 3, channels: vec![channel] }
}
