//! Strangers that connect to a leader: they send nothing, garbage, single bytes slowly, or a recording.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use ipcmark_results::Status;
use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, send, socket},
};

use super::run_directory::{RunDirectory, assert_all, free_address};
use crate::support::{
    Running, Verdict, end,
    processes::{await_listener, await_that},
};

ipcmark_harness::tests![
    unknown_connections_to_the_socket_are_rejected,
    unknown_connections_to_the_address_are_rejected_without_a_reply,
    a_recorded_greeting_is_no_follower,
    a_follower_is_served_despite_a_thousand_silent_connections,
    a_follower_is_served_despite_a_thousand_slow_connections,
    a_follower_is_served_despite_a_thousand_connections_to_the_socket,
    a_follower_is_served_when_connections_use_up_the_descriptors,
    a_wrong_secret_is_reported_by_both_commands,
];

const WORDS: &str = "leader -t tcp -w block -s 64 -n 100 --trials 1 --format json";

/// The number of concurrent strangers.
const MANY: usize = 1000;

fn unknown_connections_to_the_socket_are_rejected() {
    let place = RunDirectory::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --trials 1 --format json";
    let leader = Running::start(&mut place.here(words));
    await_listener(&place.path("socket"));
    let strangers: Vec<_> = ["", "GET / HTTP/1.1", "\0{\"ipcmark\":\"99.0\"}", "\0{}", "\0[[[["]
        .iter()
        .flat_map(|text| (0..10).map(move |_| *text))
        .map(|text| stranger(&place.path("socket"), text.as_bytes()))
        .collect();
    leader.await_words("rejected a connection");
    let follower = Running::start(&mut place.here("follower"));
    let ended = leader.end().exits(0);
    assert!(ended.stderr.lines().count() < 12, "{}", ended.stderr);
    follower.end().exits(0);
    drop(strangers);
}

/// Connects to a Unix socket, sends the words if there are any, and keeps the connection open.
fn stranger(path: &Path, words: &[u8]) -> OwnedFd {
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
    connect(fd.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    if !words.is_empty() {
        // It may have been rejected already.
        let _ = send(fd.as_raw_fd(), words, MsgFlags::MSG_NOSIGNAL);
    }
    fd
}

/// Connects as soon as somebody listens.
fn connected(address: &str) -> TcpStream {
    await_that("the leader listens", || TcpStream::connect(address).ok())
}

fn unknown_connections_to_the_address_are_rejected_without_a_reply() {
    let (place, address) = (RunDirectory::new(), free_address());
    let leader = Running::start(&mut place.at(WORDS, &address));
    let silent: Vec<TcpStream> = (0..50).map(|_| connected(&address)).collect();
    // Not the beginning of a greeting, too long for one, and too short.
    let garbage: [&[u8]; 3] = [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 4000], &[0; 70]];
    for bytes in garbage {
        let mut stream = connected(&address);
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"", "a stranger is told nothing");
    }
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    drop(silent);
}

/// Regression: the follower reported a closed connection, and the leader a message that could not be decrypted.
fn a_wrong_secret_is_reported_by_both_commands() {
    let (place, address) = (RunDirectory::new(), free_address());
    let leader = Running::start(&mut place.at(WORDS, &address));
    let other = RunDirectory::new();
    other.write("secret", "another secret of many characters", 0o600);
    let wrong = end(&mut other.at("follower", &address)).exits(1);
    assert!(wrong.stderr.contains("wrong secret"), "{}", wrong.stderr);
    leader.await_words("wrong secret");
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
}

/// A message in its wire format: its length, followed by that many bytes.
fn message(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 2];
    stream.read_exact(&mut bytes).unwrap();
    bytes.resize(2 + usize::from(u16::from_be_bytes([bytes[0], bytes[1]])), 0);
    stream.read_exact(&mut bytes[2..]).unwrap();
    bytes
}

/// Regression: the leader accepted its sender as the follower.
fn a_recorded_greeting_is_no_follower() {
    let place = RunDirectory::new();
    let eavesdropper = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = eavesdropper.local_addr().unwrap().to_string();
    let recorded_from = Running::start(&mut place.at("follower", &there));
    let recorded = message(&eavesdropper.accept().unwrap().0);
    drop(recorded_from);

    let address = free_address();
    let leader = Running::start(&mut place.at(WORDS, &address));
    let replays: Vec<TcpStream> = (0..50)
        .map(|_| {
            let stream = connected(&address);
            (&stream).write_all(&recorded).unwrap();
            assert!(message(&stream).len() > 2, "it is answered like a genuine one");
            stream
        })
        .collect();
    let forged = [&[0, 16][..], &[7; 16]].concat();
    (&replays[0]).write_all(&forged).unwrap();
    leader.await_words("the recorded greeting of another");
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    drop(replays);
}

/// Sets the descriptor limit for this process and its children; returns the reason if it cannot.
fn allow_descriptors(count: u64) -> Result<(), Verdict> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, count.min(most), most).unwrap();
    match most >= count {
        true => Ok(()),
        false => Err(Verdict::Skipped(format!("a process may have {most} descriptors only"))),
    }
}

/// Regression: it was served only after each stranger, 32 at a time, had been silent for five seconds.
fn a_follower_is_served_despite_a_thousand_silent_connections() -> Verdict {
    if let Err(verdict) = allow_descriptors(3 * MANY as u64) {
        return verdict;
    }
    let (place, address) = (RunDirectory::new(), free_address());
    let leader = Running::start(&mut place.at(WORDS, &address));
    let strangers: Vec<TcpStream> = (0..MANY).map(|_| connected(&address)).collect();
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    assert_eq!(strangers.len(), MANY, "they stayed until the end");
    Verdict::Holds
}

/// Regression: each byte gave a stranger five more seconds. These strangers reconnect when they are dropped.
fn a_follower_is_served_despite_a_thousand_slow_connections() -> Verdict {
    if let Err(verdict) = allow_descriptors(3 * MANY as u64) {
        return verdict;
    }
    let (place, address) = (RunDirectory::new(), free_address());
    let leader = Running::start(&mut place.at(WORDS, &address));
    let mut strangers: Vec<TcpStream> = (0..MANY).map(|_| connected(&address)).collect();
    let served = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // The length of a greeting, and then its bytes.
            let bytes = [&[0_u8, 200][..], &[1; 190]].concat();
            for byte in bytes.iter().cycle() {
                for stranger in &mut strangers {
                    if served.load(Ordering::Relaxed) {
                        return;
                    }
                    if stranger.write_all(&[*byte]).is_err()
                        && let Ok(again) = TcpStream::connect(&address)
                    {
                        *stranger = again;
                    }
                }
                thread::sleep(Duration::from_millis(10));
            }
        });
        let follower = Running::start(&mut place.at("follower", &address));
        let ended = leader.end();
        served.store(true, Ordering::Relaxed);
        assert_all(&ended.exits(0).result(), Status::Ok);
        follower.end().exits(0);
    });
    Verdict::Holds
}

fn a_follower_is_served_despite_a_thousand_connections_to_the_socket() -> Verdict {
    if let Err(verdict) = allow_descriptors(3 * MANY as u64) {
        return verdict;
    }
    let place = RunDirectory::new();
    let words = "leader -t pipe -w spin -s 64 -n 100 --trials 1 --format json";
    let leader = Running::start(&mut place.here(words));
    await_listener(&place.path("socket"));
    let strangers: Vec<_> = (0..MANY).map(|_| stranger(&place.path("socket"), b"")).collect();
    let follower = Running::start(&mut place.here("follower"));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    drop(strangers);
    Verdict::Holds
}

/// Regression: without a descriptor left, the listener slept and retried, and served nobody.
fn a_follower_is_served_when_connections_use_up_the_descriptors() {
    let (place, address) = (RunDirectory::new(), free_address());
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 40, most).unwrap();
    let leader = Running::start(&mut place.at(WORDS, &address));
    setrlimit(Resource::RLIMIT_NOFILE, 1024.min(most), most).unwrap();
    let strangers: Vec<TcpStream> = (0..200).map(|_| connected(&address)).collect();
    let follower = Running::start(&mut place.at("follower", &address));
    assert_all(&leader.end().exits(0).result(), Status::Ok);
    follower.end().exits(0);
    drop(strangers);
}
