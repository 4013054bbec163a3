//! What the unit tests of the transports share: two ends in two threads of one process.

pub mod queue;

use std::{
    collections::BTreeMap,
    io::{IoSlice, IoSliceMut, Write},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use ipcmark_transport::{
    Endpoint, Error, MIN_PAYLOAD, Rendezvous, Role, Settings, Step, Transport, Wait,
};
use nix::{
    cmsg_space,
    sys::socket::{
        AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
        sendmsg, socketpair,
    },
};

/// One end of a pair of connected sockets.
pub struct TestRendezvous(OwnedFd);

/// The rendezvous of two ends.
pub fn rendezvous() -> (TestRendezvous, TestRendezvous) {
    let flags = SockFlag::SOCK_CLOEXEC;
    let (one, other) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags).expect("two sockets");
    (TestRendezvous(one), TestRendezvous(other))
}

impl Rendezvous for TestRendezvous {
    fn peers(&self) -> usize {
        1
    }

    fn send(&mut self, _: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let fds: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&fds)];
        let rights = if fds.is_empty() { &rights[..0] } else { &rights[..] };
        // The first byte tells an empty frame from the end of the connection.
        let parts = [IoSlice::new(b"f"), IoSlice::new(bytes)];
        sendmsg::<()>(self.0.as_raw_fd(), &parts, rights, MsgFlags::MSG_NOSIGNAL, None)
            .map(drop)
            .map_err(|errno| Error::os("send a frame to", "the other thread", errno))
    }

    fn receive(&mut self, _: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        let mut frame = vec![0; 4097];
        let mut space = cmsg_space!([RawFd; 16]);
        let mut fds = Vec::new();
        let mut parts = [IoSliceMut::new(&mut frame)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.0.as_raw_fd(), &mut parts, Some(&mut space), flags)
            .map_err(|errno| Error::os("receive a frame of", "the other thread", errno))?;
        for control in message.cmsgs().expect("whole control messages") {
            if let ControlMessageOwned::ScmRights(raw) = control {
                // SAFETY: the kernel has just made these descriptors for this process.
                fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        let len = message.bytes;
        frame.truncate(len);
        if frame.is_empty() {
            return Err(Error::peer_gone("receive a frame of", "the other thread"));
        }
        Ok((frame.split_off(1), fds))
    }
}

/// The settings of the leader, with a name that no other test has.
pub fn settings(wait: Wait, payload: usize) -> Settings {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("ipcmark-test-{}-{number}", std::process::id());
    let directory: PathBuf = std::env::temp_dir().join(&name);
    let (role, subscribers, options) = (Role::Leader, 1, BTreeMap::new());
    Settings { role, wait, payload, subscribers, name, directory, address: None, options }
}

/// Opens both ends in a thread each and runs `leader` and `follower` on them there.
pub fn with_ends<T: Transport>(
    transport: &T,
    settings: &Settings,
    leader: impl FnOnce(T::Endpoint) + Send,
    follower: impl FnOnce(T::Endpoint) + Send,
) {
    std::fs::create_dir_all(&settings.directory).expect("a directory for the test");
    let (mut one, mut other) = rendezvous();
    let others = Settings { role: Role::Follower(0), ..settings.clone() };
    thread::scope(|scope| {
        scope.spawn(move || {
            let _guard = EndsTogether;
            follower(transport.open(&others, &mut other).expect("the follower opens"));
        });
        let _guard = EndsTogether;
        let opened = transport.open(settings, &mut one);
        // A follower that still waits for a leader that failed learns of it.
        drop(one);
        leader(opened.expect("the leader opens"));
    });
    std::fs::remove_dir_all(&settings.directory).expect("the directory is there");
}

/// Ends the tests when one end of a pair fails: the other one would wait for it for ever.
struct EndsTogether;

impl Drop for EndsTogether {
    fn drop(&mut self) {
        if thread::panicking() {
            // Not `eprintln!`, which the harness keeps until the test has ended.
            let name = thread::current().name().unwrap_or("the other thread").to_owned();
            let _ = writeln!(std::io::stderr(), "{name}: an end failed; --nocapture shows why");
            std::process::exit(1);
        }
    }
}

/// Repeats an attempt until it is done.
pub fn complete(mut attempt: impl FnMut() -> Result<Step, Error>) {
    while attempt().expect("no error") == Step::WouldBlock {
        // Tests run on few processors: who polls must let the other thread run.
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

/// Receives `len` bytes and compares each of them with what [`send`] wrote.
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

/// Sends messages of these lengths to and fro, every byte checked.
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

/// Sends messages of these lengths from the leader to the follower as fast as they go.
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
