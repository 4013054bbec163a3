//! Shared by the unit tests of the transports: two ends in two threads of one process.

pub mod queue;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_transport::{
    Availability, Endpoint, Error, MIN_PAYLOAD, Role, SessionName, Settings, Step, Transport, Wait,
};

/// True if this system lacks a requirement of a test, and prints it: the default seccomp profiles of containers
/// block io_uring.
pub fn lacks(availability: Availability) -> bool {
    let Availability::Unavailable { reason, .. } = availability else { return false };
    eprintln!("not tested: {reason}");
    true
}

/// The rendezvous of two ends.
pub fn rendezvous() -> (SocketRendezvous, SocketRendezvous) {
    SocketRendezvous::pair().expect("two sockets")
}

/// The settings of the leader, with a name that no other test has.
pub fn settings(wait: Wait, payload: usize) -> Settings {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("ipcmark-test-{}-{number}", std::process::id());
    let directory: PathBuf = std::env::temp_dir().join(&name);
    let name = SessionName::new(name).expect("it is one");
    let (role, subscribers, options) = (Role::Leader, 1, BTreeMap::new());
    Settings {
        role,
        wait,
        payload,
        subscribers,
        name,
        directory,
        address: None,
        connect_within: Duration::from_secs(60),
        options,
    }
}

/// Opens each end in its own thread and runs `leader` and `follower` on them there.
pub fn with_ends<T: Transport>(
    transport: &T,
    settings: &Settings,
    leader: impl FnOnce(T::Endpoint) + Send,
    follower: impl FnOnce(T::Endpoint) + Send,
) {
    std::fs::create_dir_all(&settings.directory).expect("a directory for the test");
    let _left = RemovedOnDrop(settings.directory.clone());
    let (mut one, mut other) = rendezvous();
    let others = Settings { role: Role::Follower(0), ..settings.clone() };
    let failed = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let guard = EndsTogether(Arc::clone(&failed));
        scope.spawn(move || {
            let _guard = guard.of_this_thread();
            follower(transport.open(&others, &mut other).expect("the follower opens"));
        });
        let _guard = EndsTogether(failed).of_this_thread();
        let opened = transport.open(settings, &mut one);
        // Tells a follower that still waits if the leader has failed.
        drop(one);
        leader(opened.expect("the leader opens"));
    });
}

thread_local! {
    /// True if the other end of this thread's pair has failed.
    static FAILED: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// Tells the other end of a pair when this one fails: otherwise it would wait forever.
struct EndsTogether(Arc<AtomicBool>);

impl EndsTogether {
    fn of_this_thread(self) -> Self {
        FAILED.set(Arc::clone(&self.0));
        self
    }
}

impl Drop for EndsTogether {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), Ordering::Relaxed);
        FAILED.take();
    }
}

/// A file or a directory of a test, removed however the test ends.
pub struct RemovedOnDrop(pub PathBuf);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0).or_else(|_| std::fs::remove_file(&self.0));
    }
}

/// Repeats an attempt until it is done.
pub fn complete(mut attempt: impl FnMut() -> Result<Step, Error>) {
    let failed = FAILED.with_borrow(Arc::clone);
    while attempt().expect("no error") == Step::WouldBlock {
        assert!(!failed.load(Ordering::Relaxed), "the other end failed");
        // Tests run on few processors: a polling thread must let the other one run.
        thread::yield_now();
    }
}

/// Sends `len` bytes that depend on `seed`.
pub fn send(end: &mut impl Endpoint, len: usize, seed: usize) {
    complete(|| end.loan(len));
    assert_eq!(end.room().len(), len);
    end.room().copy_from_slice(&pattern(len, seed));
    complete(|| end.publish());
}

/// Receives `len` bytes and compares each of them with the bytes that [`send`] wrote.
pub fn receive(end: &mut impl Endpoint, len: usize, seed: usize) {
    complete(|| end.take());
    assert_eq!(end.message().len(), len);
    assert!(end.message() == pattern(len, seed), "message {seed} of {len} bytes is corrupt");
    end.release().expect("the room is given back");
}

/// The bytes of the message with this seed.
pub fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 251 + at + seed * 7) as u8).collect()
}

/// Sends messages of these lengths back and forth, and checks every byte.
pub fn ping_pong<T: Transport>(transport: &T, wait: Wait, payload: usize, lengths: &[usize]) {
    with_ends(
        transport,
        &settings(wait, payload),
        |mut end| {
            for (seed, &len) in lengths.iter().enumerate() {
                send(&mut end, len, seed);
                receive(&mut end, len, seed + 1000);
            }
        },
        |mut end| {
            for (seed, &len) in lengths.iter().enumerate() {
                receive(&mut end, len, seed);
                send(&mut end, len, seed + 1000);
            }
        },
    );
}

/// Sends messages of these lengths from the leader to the follower as fast as possible.
pub fn one_way<T: Transport>(transport: &T, wait: Wait, payload: usize, lengths: &[usize]) {
    with_ends(
        transport,
        &settings(wait, payload),
        |mut end| {
            for (seed, &len) in lengths.iter().enumerate() {
                send(&mut end, len, seed);
            }
            // Stays open until the last message has arrived.
            receive(&mut end, MIN_PAYLOAD, 0);
        },
        |mut end| {
            for (seed, &len) in lengths.iter().enumerate() {
                receive(&mut end, len, seed);
            }
            send(&mut end, MIN_PAYLOAD, 0);
        },
    );
}
