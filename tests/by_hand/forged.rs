//! A follower with a forged leader: a process of the same user that speaks the commands' protocol and sends orders that
//! no real leader sends.

use std::{
    fs,
    io::{Read, Write},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
};

use ipcmark_fdpass::FrameSocket;
use nix::sys::{
    memfd::{MFdFlags, memfd_create},
    socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, listen, socket},
};
use serde_json::{Value, json};

use super::run_directory::RunDirectory;
use crate::{modules::compiled::module, support::Running};

ipcmark_harness::tests![
    orders_that_no_leader_gives_are_refused,
    a_session_cannot_be_named_or_placed_by_the_leader,
    requests_that_no_leader_makes_are_refused,
    a_reference_is_opened_for_the_followers_own_command_only,
    pages_of_probes_that_can_shrink_are_refused,
    a_file_of_the_followers_host_is_named_by_its_own_user,
    a_frame_that_is_no_order_ends_the_service,
];

/// The version of both sides.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const RUN: &str = "0123abcd";

/// A forged leader.
struct Forger {
    frames: FrameSocket,
}

/// A follower's worker, with its channels.
struct Worker {
    control: UnixStream,
    _stderr: OwnedFd,
    peer: FrameSocket,
}

impl Forger {
    /// Starts a follower and accepts it as its leader.
    fn of(place: &RunDirectory, words: &str) -> (Self, Running) {
        let listener = listen_at(&place.path("socket"));
        let follower = Running::start(&mut place.here(words));
        let fd = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC).unwrap();
        // SAFETY: the kernel has just made it.
        let frames = FrameSocket::from(unsafe { OwnedFd::from_raw_fd(fd) });
        frames.receive().unwrap();
        let forger = Self { frames };
        forger.order(&json!({ "ipcmark": VERSION }), &[]);
        (forger, follower)
    }

    fn order(&self, order: &Value, fds: &[&OwnedFd]) {
        let fds: Vec<_> = fds.iter().map(|fd| fd.as_fd()).collect();
        // A follower that refused an order is gone.
        let _ = self.frames.send(&serde_json::to_vec(order).unwrap(), &fds);
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&self.frames.receive().unwrap().0).unwrap()
    }

    fn start(&self) {
        self.order(&start(RUN), &[]);
        assert_eq!(self.report(), "Ready");
    }

    /// Orders a worker for this transport.
    fn spawn(&self, transport: Option<&str>) -> Worker {
        let (control, their_control) = UnixStream::pair().unwrap();
        let (peer, their_peer) = FrameSocket::pair().unwrap();
        let (stderr, their_stderr) = nix::unistd::pipe().unwrap();
        let fds: [OwnedFd; 3] = [their_control.into(), their_stderr, their_peer.into()];
        self.order(&spawn(transport), &[&fds[0], &fds[1], &fds[2]]);
        assert_eq!(self.report(), "Spawned");
        Worker { control, _stderr: stderr, peer }
    }
}

impl Worker {
    /// The worker's reply to a request.
    fn ask(&mut self, request: &Value) -> Value {
        let body = serde_json::to_vec(request).unwrap();
        self.control.write_all(&(body.len() as u32).to_le_bytes()).unwrap();
        self.control.write_all(&body).unwrap();
        let mut len = [0; 4];
        self.control.read_exact(&mut len).unwrap();
        let mut reply = vec![0; u32::from_le_bytes(len) as usize];
        self.control.read_exact(&mut reply).unwrap();
        serde_json::from_slice(&reply).unwrap()
    }

    /// Sends the worker the frame of a leader's worker for a transport over two pipes.
    fn send_descriptors(&self) {
        let (one, other) = (nix::unistd::pipe().unwrap(), nix::unistd::pipe().unwrap());
        self.peer.send(b"", &[one.0.as_fd(), other.1.as_fd()]).unwrap();
    }

    /// The reason why the worker refuses a request.
    #[track_caller]
    fn refuses(&mut self, request: &Value) -> String {
        let reply = self.ask(request);
        let reason = reply["Failed"]["reason"].as_str().map(String::from);
        reason.unwrap_or_else(|| panic!("{request} is answered by {reply}"))
    }
}

fn listen_at(path: &Path) -> OwnedFd {
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
    let _ = fs::remove_file(path);
    bind(fd.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    listen(&fd, Backlog::MAXCONN).unwrap();
    fd
}

fn start(run: &str) -> Value {
    json!({ "Start": { "run": run, "isolation": null } })
}

fn worker() -> Value {
    json!({ "role": { "follower": 0 }, "cpu": null, "peers": 1, "address": null })
}

fn spawn(transport: Option<&str>) -> Value {
    json!({ "Spawn": { "worker": worker(), "transport": transport, "paths": "Requested" } })
}

/// An order with one part replaced.
fn with(mut order: Value, pointer: &str, value: Value) -> Value {
    *order.pointer_mut(pointer).unwrap() = value;
    order
}

fn opening() -> Value {
    json!({ "Open": {
        "number": 1, "wait": "spin", "payload": 64, "subscribers": 1, "options": {},
        "connect_within": { "secs": 8, "nanos": 0 }
    } })
}

fn pass() -> Value {
    json!({ "Run": {
        "pattern": "latency", "payload": 64, "touch": "head", "seed": 1, "trial": 1, "pair": 0, "silent": 0,
        "load": "closed", "is_thorough": false,
        "warm_up": { "number": 0, "time_ns": 1, "samples": 1 }
    } })
}

/// Regression: they were passed on unchanged.
fn orders_that_no_leader_gives_are_refused() {
    let nothing: [&[Value]; 7] = [
        &[start("../../..")],
        &[start("0123ABCD")],
        &[start("0123abcd0")],
        &[spawn(Some("pipe"))],
        &[start(RUN), start(RUN)],
        &[start(RUN), json!("End"), start("89abcdef")],
        &[json!({ "Start": { "run": RUN, "isolation": null }, "Spawn": {} })],
    ];
    let wrong = |pointer, value| [start(RUN), with(spawn(Some("pipe")), pointer, value)];
    let spawns = [
        wrong("/Spawn/worker/role", json!("leader")),
        wrong("/Spawn/worker/role", json!({ "follower": 1_000_000 })),
        wrong("/Spawn/worker/peers", json!(1_u64 << 60)),
        wrong("/Spawn/worker/peers", json!(0)),
        wrong("/Spawn/worker/cpu", json!(100_000)),
        wrong("/Spawn/worker", json!(null)),
        // A follower's process has one worker.
        [start(RUN), json!({ "Gather": { "worker": worker() } })],
        wrong("/Spawn/transport", json!("\u{1b}[2J")),
        // Correct, except for the missing descriptors.
        wrong("/Spawn/transport", json!("pipe")),
    ];
    for orders in nothing.into_iter().chain(spawns.iter().map(|orders| &orders[..])) {
        let place = RunDirectory::new();
        let (forger, follower) = Forger::of(&place, "follower");
        orders.iter().for_each(|order| forger.order(order, &[]));
        let ended = follower.end().exits(1);
        assert!(ended.stderr.contains("order of the leader"), "{orders:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
    }
}

/// Regression: the follower removed the directory of that name, as if it had been its own leader.
fn a_session_cannot_be_named_or_placed_by_the_leader() {
    let place = RunDirectory::new();
    let victim = place.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "precious").unwrap();
    let (forger, follower) = Forger::of(&place, "follower");
    forger.start();
    let mut worker = forger.spawn(Some("fifo"));
    let mut request = opening();
    let asked = request["Open"].as_object_mut().unwrap();
    let name = format!("../..{}", victim.display());
    for (key, value) in [
        ("role", json!("leader")),
        ("name", json!(name)),
        ("directory", json!(victim)),
        ("address", json!("0.0.0.0")),
        ("run", json!("../..")),
    ] {
        asked.insert(key.into(), value);
    }
    // It waits for FIFOs in the run's own directory, which a leader would have made.
    for _ in 0..2 {
        worker.peer.send(b"", &[]).unwrap();
    }
    let reason = worker.refuses(&request);
    assert!(reason.contains(&format!("/tmp/ipcmark-{RUN}/1/ipcmark-{RUN}-1-0")), "{reason}");
    forger.order(&json!("End"), &[]);
    assert_eq!(forger.report(), "Ended");
    drop(forger);
    follower.end().exits(0);
    assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious");
    assert!(!Path::new(&format!("/tmp/ipcmark-{RUN}")).exists(), "its own directory is gone");
}

/// Regression: the worker panicked, read beyond its memory or served an impossible request.
fn requests_that_no_leader_makes_are_refused() {
    let place = RunDirectory::new();
    let (forger, follower) = Forger::of(&place, "follower");
    forger.start();
    let mut worker = forger.spawn(Some("pipe"));
    for (pointer, value) in [
        ("/Open/payload", json!(0)),
        ("/Open/payload", json!(15)),
        ("/Open/payload", json!(1_u64 << 40)),
        ("/Open/subscribers", json!(0)),
        ("/Open/subscribers", json!(u32::MAX)),
        ("/Open/wait", json!("hybrid")),
        ("/Open/connect_within", json!({ "secs": 0, "nanos": 0 })),
        ("/Open/connect_within", json!({ "secs": 4000, "nanos": 0 })),
        ("/Open/options", json!({ "no-such-option": "1" })),
        ("/Open/options", json!({ "capacity": "-1" })),
        ("/Open/options", json!({ "capacity": "../../etc/shadow" })),
    ] {
        worker.refuses(&with(opening(), pointer, value));
    }
    worker.refuses(&pass());
    worker.refuses(&json!("Look"));
    worker.refuses(&json!("Close"));
    worker.refuses(&json!("Finish"));
    worker.refuses(&json!({ "Turn": { "number": 0, "time_ns": 1, "samples": 1 } }));
    worker.send_descriptors();
    assert!(worker.ask(&opening())["Opened"].is_object());
    for (pointer, value) in [
        ("/Run/payload", json!(65)),
        ("/Run/payload", json!(0)),
        ("/Run/payload", json!(u64::MAX)),
        ("/Run/silent", json!(1)),
        ("/Run/silent", json!(u32::MAX)),
        ("/Run/pattern", json!("fan-out")),
    ] {
        worker.refuses(&with(pass(), pointer, value));
    }
    worker.refuses(&opening());
    assert_eq!(worker.ask(&json!("Close")), "Closed", "it lives on");
    drop((worker, forger));
    follower.end().exits(0);
}

/// A reference has no transport with limits to check a request against.
fn a_reference_is_opened_for_the_followers_own_command_only() {
    let place = RunDirectory::new();
    let (forger, follower) = Forger::of(&place, "follower");
    forger.start();
    let mut worker = forger.spawn(None);
    let reason = worker.refuses(&with(opening(), "/Open/payload", json!(1_u64 << 40)));
    assert!(reason.contains("the leader is another command"), "{reason}");
    drop((worker, forger));
    follower.end().exits(0);
}

/// Regression: the follower mapped more than the file had, and died at the first access.
fn pages_of_probes_that_can_shrink_are_refused() {
    let place = RunDirectory::new();
    let (forger, follower) = Forger::of(&place, "follower");
    forger.start();
    let mut worker = forger.spawn(Some("pipe"));
    let short = memfd_create("ipcmark-probe", MFdFlags::MFD_CLOEXEC).unwrap();
    let device = fs::File::open("/dev/zero").unwrap();
    for pages in [short.as_fd(), device.as_fd()] {
        worker.peer.send(b"probe", &[pages]).unwrap();
        let reason = worker.refuses(&json!({ "Prepare": { "probes": true } }));
        assert!(reason.contains("pages of the probes"), "{reason}");
    }
    drop((worker, forger));
    follower.end().exits(0);
}

/// Regression: the leader chose the files that the follower's libraries read.
fn a_file_of_the_followers_host_is_named_by_its_own_user() {
    let place = RunDirectory::new();
    let module = module("reads_a_file", "forged");
    let words = format!("follower --module {}", module.display());
    let asked = with(opening(), "/Open/options", json!({ "profile": "/etc/shadow" }));
    let (forger, follower) = Forger::of(&place, &words);
    forger.start();
    let reason = forger.spawn(Some("test-transport")).refuses(&asked);
    assert!(reason.contains("--set test-transport.profile=PATH"), "{reason}");
    drop(forger);
    follower.end().exits(0);

    place.write("profile", "text", 0o600);
    let own = place.path("profile").canonicalize().unwrap();
    let words = format!("{words} --set test-transport.profile={}", own.display());
    let (forger, follower) = Forger::of(&place, &words);
    forger.start();
    let mut worker = forger.spawn(Some("test-transport"));
    worker.send_descriptors();
    let opened = worker.ask(&asked);
    assert_eq!(opened["Opened"]["configuration"]["profile"], json!(own));
    drop(forger);
    follower.end().exits(0);
}

fn a_frame_that_is_no_order_ends_the_service() {
    let deep = "[".repeat(4000);
    let garbage: [&[u8]; 6] = [b"", b"\xff\xfe", deep.as_bytes(), b"{}", b"\"Stop\"", b"nul\0"];
    for bytes in garbage {
        let place = RunDirectory::new();
        let (forger, follower) = Forger::of(&place, "follower");
        forger.frames.send(bytes, &[]).unwrap();
        let ended = follower.end().exits(1);
        assert!(ended.stderr.contains("order of the leader"), "{bytes:?}: {}", ended.stderr);
    }
}
