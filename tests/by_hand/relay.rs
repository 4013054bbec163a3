//! A leader with a lying follower: a real follower, and between both a process that changes the follower's replies and
//! reports.

use std::{
    io::{Read, Write},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_results::{Case, RunResult, Status};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, connect, listen, socket,
};
use serde_json::{Value, json};

use super::run_directory::RunDirectory;
use crate::support::{Running, ipcmark, processes::await_listener};

ipcmark_harness::tests![
    a_relay_that_changes_nothing_is_not_noticed,
    a_follower_cannot_report_for_the_leader,
    impossible_reports_of_a_follower_are_rejected,
    a_follower_cannot_hold_the_leader_up,
    control_characters_in_text_of_a_follower_are_escaped,
    a_follower_cannot_report_the_end_of_another,
];

/// Changes a reply of a follower's worker, or a report of its command.
type Change = dyn Fn(Value) -> Vec<Value> + Send + Sync;

/// Runs a leader with changed replies and reports of its follower.
fn run(
    words: &str,
    replies: impl Fn(Value) -> Vec<Value> + Send + Sync + 'static,
    reports: impl Fn(Value) -> Vec<Value> + Send + Sync + 'static,
) -> RunResult {
    let place = RunDirectory::new();
    let behind = place.path("behind");
    let listener = seqpacket();
    bind(listener.as_raw_fd(), &UnixAddr::new(&behind).unwrap()).unwrap();
    listen(&listener, Backlog::MAXCONN).unwrap();
    let leader = Running::start(&mut place.here(&format!("{words} --format json")));
    let mut follower = ipcmark("follower --socket");
    let _follower = Running::start(follower.arg(&behind));
    await_listener(&place.path("socket"));
    let (replies, reports): (Arc<Change>, Arc<Change>) = (Arc::new(replies), Arc::new(reports));
    relay(&listener, &place.path("socket"), replies, reports);
    leader.end().result()
}

fn seqpacket() -> OwnedFd {
    socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap()
}

/// Connects the next follower to the leader, and returns.
fn relay(listener: &OwnedFd, leader: &Path, replies: Arc<Change>, reports: Arc<Change>) {
    let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC).unwrap();
    // SAFETY: the kernel has just made it.
    let follower = FrameSocket::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let socket = seqpacket();
    connect(socket.as_raw_fd(), &UnixAddr::new(leader).unwrap()).unwrap();
    let leader = FrameSocket::from(socket);
    let (back, answers) = (leader.try_clone().unwrap(), follower.try_clone().unwrap());
    thread::spawn(move || {
        while let Ok((bytes, _)) = answers.receive() {
            for report in reports(serde_json::from_slice(&bytes).unwrap()) {
                let _ = back.send(&serde_json::to_vec(&report).unwrap(), &[]);
            }
        }
        back.close();
    });
    thread::spawn(move || {
        while let Ok((bytes, mut fds)) = leader.receive() {
            if let Some(control) = fds.first_mut() {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let outer = std::mem::replace(control, theirs.into());
                relay_control(outer.into(), ours, &replies);
            }
            let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            let _ = follower.send(&bytes, &fds);
        }
        follower.close();
    });
}

/// Forwards requests unchanged, and replies changed.
fn relay_control(leader: UnixStream, worker: UnixStream, replies: &Arc<Change>) {
    let (mut from, mut to) = (leader.try_clone().unwrap(), worker.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to, replies) = (worker, leader, Arc::clone(replies));
    thread::spawn(move || {
        while let Some(reply) = frame(&mut from) {
            for reply in replies(reply) {
                let body = serde_json::to_vec(&reply).unwrap();
                let _ = to.write_all(&[&(body.len() as u32).to_le_bytes()[..], &body].concat());
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

fn frame(from: &mut UnixStream) -> Option<Value> {
    let mut len = [0; 4];
    from.read_exact(&mut len).ok()?;
    let mut body = vec![0; u32::from_le_bytes(len) as usize];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn as_it_is(value: Value) -> Vec<Value> {
    vec![value]
}

const WORDS: &str = "leader -t pipe -w spin -s 64 -n 100 --trials 1";

fn only(result: &RunResult) -> &Case {
    let [case] = &result.cases[..] else { panic!("{} cases", result.cases.len()) };
    case
}

#[track_caller]
fn fails(replies: impl Fn(Value) -> Vec<Value> + Send + Sync + 'static) -> String {
    let result = run(WORDS, replies, as_it_is);
    let case = only(&result);
    assert_eq!(case.status(), Status::Failed);
    case.reason().unwrap().to_owned()
}

fn a_relay_that_changes_nothing_is_not_noticed() {
    let result = run(WORDS, as_it_is, as_it_is);
    assert_eq!(only(&result).status(), Status::Ok, "{:?}", only(&result).reason());
}

/// Regression: the last report that claimed to be the leader's won.
fn a_follower_cannot_report_for_the_leader() {
    let led = || {
        json!({ "Led": {
            "blocks": [], "samples": [], "traffic": { "sent": 0, "received": 0 },
            "costs": {
                "cpu_ns": 0, "other_threads_ns": 0, "user_ns": 0, "system_ns": 0,
                "peak_memory_bytes": 0, "loopback_bytes": 0, "turns_ns": 0, "idle_ns": 0, "idle_cpu_ns": 0,
                "switches": { "voluntary": 0, "involuntary": 0 }, "faults": { "minor": 0, "major": 0 }
            },
            "thread": { "cpu_ns": 0, "run_delay_ns": 0, "sleeps": 0, "pauses": 0 }, "parts_per_message": null,
            "working_set": null, "helpers": [],
            "lost": 0, "late": 0, "lost_wait_ns": 0, "answers": [], "offered": null
        } })
    };
    let ready = || json!({ "Ready": { "round_trip_ns": 1.0 } });
    for report in [led(), ready()] {
        let reason = fails(move |reply| match reply.get("Followed") {
            Some(_) => vec![report.clone()],
            None => vec![reply],
        });
        assert!(reason.contains("not what was asked for"), "{reason}");
    }
    let phase = || json!({ "Phase": "warming up" });
    let reason = fails(move |reply| match reply.get("Followed") {
        Some(_) => vec![phase(), reply],
        None => vec![reply],
    });
    assert!(reason.contains("not what was asked for"), "{reason}");
}

fn impossible_reports_of_a_follower_are_rejected() {
    for (pointer, value) in [
        ("/Followed/costs/cpu_ns", json!(u64::MAX)),
        ("/Followed/costs/cpu_ns", json!(-1)),
        ("/Followed/costs/switches/voluntary", json!(u64::MAX)),
        ("/Followed/costs/faults/major", json!(u64::MAX)),
        ("/Followed/costs/peak_memory_bytes", json!(u64::MAX)),
        ("/Followed/thread/sleeps", json!(u64::MAX)),
        ("/Followed/traffic/received", json!(u64::MAX)),
        ("/Opened/setup_ns", json!(u64::MAX)),
        ("/Seen/shared", json!(vec![json!({ "id": "", "bytes": 0, "name": "" }); 12_000])),
        ("/Seen/holdings/threads", json!(u32::MAX)),
        ("/Seen/network", json!("x".repeat(2 << 20))),
    ] {
        let reason = fails(move |mut reply| {
            if let Some(part) = reply.pointer_mut(pointer) {
                *part = value.clone();
            }
            vec![reply]
        });
        assert!(reason.contains("of the follower"), "{pointer}: {reason}");
    }
}

/// Regression: a follower that never stopped filled the memory.
fn a_follower_cannot_hold_the_leader_up() {
    let reason = fails(|reply| match reply.get("Followed") {
        Some(_) => vec![json!({ "Failed": { "reason": "so", "peer_gone": true } }); 100_000],
        None => vec![reply],
    });
    assert!(reason.contains("follower"), "{reason}");
}

fn control_characters_in_text_of_a_follower_are_escaped() {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\r\n\u{202e}evil";
    let reason = fails(move |reply| match reply.get("Followed") {
        Some(_) => vec![json!({ "Failed": { "reason": evil, "peer_gone": false } })],
        None => vec![reply],
    });
    assert!(reason.contains("evil") && !reason.chars().any(char::is_control), "{reason:?}");
    let result = run(
        WORDS,
        move |mut reply| {
            if let Some(configuration) = reply.pointer_mut("/Opened/configuration") {
                *configuration = json!({ evil: evil });
            }
            vec![reply]
        },
        as_it_is,
    );
    let [trial] = only(&result).trials() else { panic!("{:?}", only(&result).reason()) };
    let configuration = &trial.session.configuration;
    let (key, value) = configuration.iter().find(|(key, _)| key.contains("evil")).unwrap();
    assert!(!format!("{key}{value}").chars().any(|c| c.is_control() || c == '\u{202e}'));
}

fn a_follower_cannot_report_the_end_of_another() {
    let lie = json!({ "Exited": { "role": "leader", "how": "was killed by signal 9 (SIGKILL)" } });
    let spawned = AtomicU32::new(0);
    let reports = move |report: Value| {
        // The first session compares the clocks; the second is that of the case.
        if report == "Spawned" && spawned.fetch_add(1, Ordering::Relaxed) == 1 {
            return vec![report, lie.clone()];
        }
        vec![report]
    };
    let result = run(WORDS, as_it_is, reports);
    let reason = only(&result).reason().unwrap_or_default();
    assert!(reason.contains("out of turn"), "{reason}");
}
