//! Messages without answers, or with one-way times: `one-way` and `throughput`.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use ipcmark_results::{Case, Load, Losses, Measurement, Role, Status, Trial, Wait};
use libc::{SIGCONT, SIGINT};

use crate::{
    fan_out::{available, waits},
    support::{
        Verdict, assert_valid, only,
        processes::{Process, await_named, await_that},
        run,
        scene::{FOLLOWER, LEADER, Scene},
    },
};

ipcmark_harness::tests![
    a_message_one_way_has_its_time_and_its_parts,
    wake_ups_of_a_sleeping_receiver_are_recorded_or_the_reason_is,
    one_way_at_a_rate_has_no_answers,
    one_way_pauses_after_each_answer,
    a_stream_is_counted_by_its_receiver,
    losses_of_a_stream_are_counted_and_not_waited_for,
    a_stream_has_the_requested_number_of_messages,
    a_stream_whose_receiver_is_killed_costs_its_row,
    a_sleeping_sender_leaves_its_processor_while_the_queue_is_full,
    all_patterns_stand_in_one_run,
    a_stream_has_no_rate,
];

/// The number of messages that an endpoint published and took.
fn traffic(trial: &Trial, role: Role) -> (u64, u64) {
    let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
    let end = ends.into_iter().find(|end| end.role == role).expect("it took part");
    (end.sent, end.received)
}

/// The measured cases. On a busy machine an endpoint of `udp` can be starved until all round trips count as lost: then
/// the run is repeated.
fn measured(words: &str) -> Vec<Case> {
    let starved = |case: &Case| case.reason().is_some_and(|why| why.contains("in a row were lost"));
    for _ in 0..TRIES {
        let ended = run(&format!("{words} --trials 1 --format json"));
        if !ended.result().cases.iter().any(starved) {
            let ended = ended.exits(0);
            assert_valid(&serde_json::from_str(&ended.stdout).unwrap());
            return ended.result().cases;
        }
    }
    panic!("in each of {TRIES} runs all of a row was lost");
}

/// The number of runs in which all may be lost.
const TRIES: u32 = 5;

fn a_message_one_way_has_its_time_and_its_parts() {
    let cases =
        measured("run -p one-way -t pipe,udp,shm-slot,uds-dgram -w spin,block -s 64,64k -n 300");
    assert_eq!(cases.len(), 16);
    for case in &cases {
        let (trial, name) = (only(case), &case.identity.transport);
        assert!(matches!(case.measurement(), Some(Measurement::OneWay(_))));
        let parts = trial.one_way.as_ref().expect("it was one way");
        assert_eq!((trial.times_ns.count, parts.send_ns.count), (300, 300), "{name}");
        // The last message of a block has no next one. On a busy machine each can have a block of its own.
        let whole = parts.round_trip_ns.as_ref();
        assert_eq!(whole.map_or(0, |times| times.count), 300 - trial.blocks.len() as u64, "{name}");
        assert!(whole.is_none_or(|times| times.min >= parts.send_ns.min), "{name}: it contains it");
        if let Some(offset) = parts.clock_offset {
            let (least_ns, most_ns) = (offset.least_ns, offset.most_ns);
            assert!((least_ns..=most_ns).contains(&offset.estimate_ns), "{name} {offset:?}");
        }
        assert!(trial.blocks.clock_free.iter().all(|clock_free| !clock_free));
        // Each is answered, so that the next finds empty queues.
        let (sent, received) = traffic(trial, Role::Leader);
        assert!(sent >= 300 && received >= 300, "{name} {sent} {received}");
    }
    // Two processes that a busy machine never runs at the same time cannot compare their clocks.
    let is_compared =
        |case: &Case| only(case).one_way.as_ref().is_some_and(|parts| parts.clock_offset.is_some());
    assert!(cases.iter().any(is_compared), "both ends are here");
}

/// Where the system allows it they are there, else none and the reason. Regression: the row itself was watched, and its
/// messages took 6 to 9 % longer for that; the messages of the pass that is watched are none of the row's.
fn wake_ups_of_a_sleeping_receiver_are_recorded_or_the_reason_is() {
    for case in &measured("run -p one-way -t pipe,uds-stream -w spin,block -s 64 -n 400") {
        let (trial, wait) = (only(case), case.identity.wait);
        let parts = trial.one_way.as_ref().expect("it was one way");
        match (&parts.wake_up_ns, &parts.wake_up_unknown) {
            (None, None) => assert_eq!(wait, Wait::Spin, "{case:?}"),
            (None, Some(reason)) => assert!(wait == Wait::Block && !reason.is_empty(), "{reason}"),
            (Some(times), None) => {
                // A receiver that has not slept yet when its message comes is not woken. On a busy machine that is frequent.
                let (_, received) = traffic(trial, Role::Follower(0));
                assert!(wait == Wait::Block && times.count > 0, "{times:?}");
                assert!((400..800).contains(&received), "{received}");
            }
            both => panic!("both cannot be: {both:?}"),
        }
    }
}

fn one_way_at_a_rate_has_no_answers() {
    let cases = measured("run -p one-way -t pipe,udp -w block -s 64 -n 40 --rate 100/s");
    for case in &cases {
        assert!(case.identity.load.is_open());
        let trial = only(case);
        let offered = trial.offered.as_ref().expect("it was an open loop");
        // A sender starved on a busy machine leaves some messages unsent at the end.
        assert!(offered.intended == 40 && (1..=40).contains(&offered.sent), "{offered:?}");
        assert_eq!(trial.times_ns.count, 40);
        assert!(trial.times_ns.max >= offered.service_ns.max, "{offered:?}");
        let parts = trial.one_way.as_ref().expect("it was one way");
        assert!(parts.round_trip_ns.is_none());
        // Regression: most of the wake-ups that were recorded were those by the harness's own messages.
        assert!(parts.wake_up_ns.is_none() && parts.wake_up_unknown.is_some(), "{parts:?}");
        let (sent, received) = traffic(trial, Role::Leader);
        assert!(
            sent >= received + offered.sent,
            "{sent} {received}: the others are not of the load"
        );
        let (_, taken) = traffic(trial, Role::Follower(0));
        let lost = trial.session.losses.lost;
        match case.identity.transport.as_str() {
            "pipe" => assert_eq!((taken, lost), (sent, 0)),
            // On a busy machine an answer can come so late that it counts as lost although its message was taken.
            _ => assert!(taken <= sent && taken + lost >= sent, "{taken} {lost} of {sent}"),
        }
    }
}

fn one_way_pauses_after_each_answer() {
    let cases = measured("run -p one-way -t pipe -w block -s 64 -n 10 --interval 2ms");
    let [case] = &cases[..] else { panic!("{} cases", cases.len()) };
    assert_eq!(case.identity.load, Load::Interval { pause_ns: 2_000_000 });
    assert_eq!(only(case).times_ns.count, 10);
    assert!(only(case).session.turns_ns >= 10 * 2_000_000);
    let parts = only(case).one_way.as_ref().expect("it was one way");
    assert!(parts.round_trip_ns.is_none(), "a pause would be in it");
}

fn a_stream_is_counted_by_its_receiver() {
    let words = "run -p throughput -t pipe,memfd,uds-dgram,tcp -w spin,block -s 64,64k -d 60ms";
    let cases = measured(words);
    assert_eq!(cases.len(), 16);
    for case in &cases {
        let (trial, name) = (only(case), &case.identity.transport);
        assert!(matches!(case.measurement(), Some(Measurement::Stream(_))));
        let Losses { sent, received, lost, .. } = trial.session.losses;
        assert!(sent > 0 && (received, lost) == (sent, 0), "{name}: {received} of {sent}");
        let parts = trial.stream.as_ref().expect("it was a stream");
        assert_eq!(parts.counted, trial.blocks.events.iter().sum::<u64>());
        assert!(parts.counted > 0 && parts.counted <= received, "{name} {parts:?}");
        assert!(parts.depth.is_some(), "{name}: both ends have one clock");
        assert_eq!(trial.session.messages, received, "costs are divided by what arrived");
        let (published, _) = traffic(trial, Role::Leader);
        let (answered, taken) = traffic(trial, Role::Follower(0));
        assert_eq!(published, taken, "{name}");
        assert!(answered < taken && taken > sent, "{name}: what is between streams is answered");
    }
}

/// Lost messages of a socket are not waited for: a stream that lost nearly all ends as soon as any other.
fn losses_of_a_stream_are_counted_and_not_waited_for() {
    let cases = measured("run -p throughput -t udp -w spin,block -s 32k -d 60ms");
    for case in &cases {
        let trial = only(case);
        let Losses { sent, received, lost, late, .. } = trial.session.losses;
        assert!(received > 0 && received + lost == sent && late == 0, "{:?}", trial.session.losses);
        assert_eq!(trial.lost_wait_ns, 0);
    }
}

fn a_stream_has_the_requested_number_of_messages() {
    for count in [1, 7, 20_000] {
        let cases = measured(&format!("run -p throughput -t pipe -w block -s 64 -n {count}"));
        let [case] = &cases[..] else { panic!("{} cases", cases.len()) };
        assert_eq!(only(case).session.losses.sent, count);
    }
}

fn a_stream_whose_receiver_is_killed_costs_its_row() {
    let scene =
        Scene::start("run -p throughput -t pipe,uds-stream -w block -s 64 -d 2s --trials 1");
    scene.await_case();
    scene.send(FOLLOWER, libc::SIGKILL);
    let (ended, result) = scene.end();
    ended.exits(1);
    let failed: Vec<&Case> =
        result.cases.iter().filter(|case| case.status() == Status::Failed).collect();
    let [failed] = failed[..] else { panic!("{} rows failed", failed.len()) };
    assert!(failed.reason().unwrap().contains("signal 9"), "{:?}", failed.reason());
}

/// Rows of libraries whose full queue ipcmark's module detects itself.
const BOUNDED: [&str; 8] = [
    "alephzero-pubsub",
    "cpp-ipc-channel",
    "cyclonedds-iceoryx",
    "dbus-daemon",
    "iceoryx-waitset",
    "nats",
    "redis-pubsub",
    "ucx-shm",
];

/// The follower is stopped this often, and as long each time. Some of these pauses fall between two streams.
const PAUSES: u32 = 5;
/// See [`PAUSES`].
const PAUSE: Duration = Duration::from_millis(150);

/// More CPU time than an endpoint needs to open.
const OPENED: Duration = Duration::from_millis(300);

/// Regression: with `block` these senders polled for room, and took a processor from the receivers.
fn a_sleeping_sender_leaves_its_processor_while_the_queue_is_full() -> Verdict {
    let rows = match available(&BOUNDED) {
        Ok(rows) => rows,
        Err(skipped) => return skipped,
    };
    for row in rows {
        let words = format!("run -p throughput -t {row} {} -s 64 -d 1h", waits(&[row]));
        let scene = Scene::start(&words);
        let (used, paused) = used_in_pauses(&scene);
        scene.send_command(SIGINT);
        scene.end().0.exits(130);
        // It fills the queue, and wakes for a moment from time to time. On a busy machine it has less time to poll.
        assert!(used < paused / 6, "{row}: {used:?} of {paused:?}");
    }
    Verdict::Holds
}

/// The CPU time of the leader while its follower is stopped, and the time for which that is.
fn used_in_pauses(scene: &Scene) -> (Duration, Duration) {
    scene.await_case();
    let the = |name| await_named(scene.running.id(), name).remove(0);
    await_that("streams have begun", || (cpu_time(&the(FOLLOWER))? > OPENED).then_some(()));
    let (leader, follower) = (the(LEADER), the(FOLLOWER));
    let (mut used, mut paused) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..PAUSES {
        assert!(follower.stop(), "it is gone");
        let (start, before) = (Instant::now(), cpu_time(&leader).expect("it lives"));
        thread::sleep(PAUSE);
        used += cpu_time(&leader).expect("it lives").saturating_sub(before);
        paused += start.elapsed();
        follower.send(SIGCONT);
        thread::sleep(PAUSE / 3);
    }
    (used, paused)
}

/// The CPU time of all threads of a process.
fn cpu_time(process: &Process) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id)).ok()?;
    let fields: Vec<u64> = stat
        .rsplit_once(") ")?
        .1
        .split(' ')
        .map(|field| field.trim().parse().unwrap_or(0))
        .collect();
    // SAFETY: only returns a number.
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Some(Duration::from_secs_f64((fields.get(11)? + fields.get(12)?) as f64 / ticks_a_second))
}

fn all_patterns_stand_in_one_run() {
    let words =
        "run -p latency,one-way,throughput -t pipe,shm-ring -w spin -s 64 -d 20ms --trials 1";
    let table = run(words).exits(0).stdout;
    for title in ["latency · 64 B", "one-way · 64 B", "throughput · 64 B"] {
        assert!(table.lines().any(|line| line.starts_with(title)), "no {title} in: {table}");
    }
    let heads = table.lines().filter(|line| line.trim_start().starts_with("transport"));
    let of_streams = heads.filter(|line| line.contains("msg/s")).count();
    // The legend is wrapped. On a busy machine the two processors may never run at the same time.
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = |about_clocks| words.contains(about_clocks);
    assert!(says("their offset, known within") || says("could not be compared"), "{table}");
    assert_eq!(of_streams, 1, "a pattern has columns of its own: {table}");
}

fn a_stream_has_no_rate() {
    for load in ["--rate 1k/s", "--interval 1ms"] {
        let ended = run(&format!("run -p throughput -t pipe {load}")).exits(2);
        assert!(ended.stderr.contains("as fast as it goes"), "{}", ended.stderr);
    }
}
