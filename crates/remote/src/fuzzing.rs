//! The readers of messages from strangers, leaders and followers, as functions of bytes: the fuzz targets in
//! `crates/fuzz` call them.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{Read, Write},
    net::TcpStream,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use ipcmark_engine::{KeeperReport, Order, Registry};
use ipcmark_fdpass::FrameSocket;
use ipcmark_machine::placement::Pinning;
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::geteuid,
};

use crate::{
    LeaderAddress,
    connect::{LeaderOrigin, exchange_keys_now},
    follower::{Follower, admitted},
    greeting::{Greeting, MAX_BYTES},
    listener::RequiredProof,
    noise::{self, EncryptedStream, Handshake, framed},
    pending::{GreetingProgress, Pending},
    secret::Secret,
    tunnel::{Stepped, TunnelSide},
    users::AllowedUsers,
};

const SECRET: Secret = Secret([5; 32]);

/// The most messages of one input.
const MAX_MESSAGES: usize = 32;

/// Messages to a leader that has not accepted the sender. The first byte selects the channel: TCP, TCP with the secret,
/// or a Unix socket.
pub fn stranger(data: &[u8]) {
    let Some((place, data)) = data.split_first() else { return };
    match place % 3 {
        0 => raw(data),
        1 => with_secret(data),
        _ => local(data),
    }
}

/// A non-blocking socket of the leader, as `accept` makes it, and its peer.
fn connection() -> (OwnedFd, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    ours.set_nonblocking(true).expect("a socket");
    theirs.set_nonblocking(true).expect("a socket");
    (ours.into(), theirs)
}

fn pending(fd: OwnedFd) -> Option<Pending> {
    Pending::new(fd, &RequiredProof::Secret(SECRET)).ok()
}

fn raw(data: &[u8]) {
    let Some((len, data)) = data.split_first() else { return };
    let (ours, mut theirs) = connection();
    let mut stage = pending(ours);
    for chunk in data.chunks(usize::from(*len).max(1)).take(MAX_MESSAGES) {
        let _ = theirs.write_all(chunk);
        stage = stage.and_then(advance);
    }
    drop(theirs);
    stage.and_then(advance);
}

fn advance(pending: Pending) -> Option<Pending> {
    match pending.advance() {
        Ok(GreetingProgress::Waiting(pending)) => Some(pending),
        _ => None,
    }
}

/// A greeting chosen by the stranger, then the proof or other bytes in its place.
fn with_secret(data: &[u8]) {
    let Some((len, data)) = data.split_first() else { return };
    let (greeting, proof) = data.split_at(data.len().min(usize::from(*len) * 5).min(MAX_BYTES));
    let (ours, mut theirs) = connection();
    let mut handshake = Handshake::of_follower(&SECRET).expect("a handshake");
    let _ = theirs.write_all(&framed(&handshake.write(greeting).expect("it fits")));
    let Some(waiting) = pending(ours).and_then(advance) else { return };
    let answer = read_message(&mut theirs);
    assert!(handshake.read(&answer).is_some(), "a leader answers with its greeting");
    let mut keys = handshake.finish().expect("both have spoken");
    let own = noise::proof(&mut keys).expect("it is encrypted");
    let proof = if proof.is_empty() { &own[..] } else { proof };
    let _ = theirs.write_all(&framed(proof));
    advance(waiting);
}

fn read_message(stream: &mut UnixStream) -> Vec<u8> {
    let mut len = [0; 2];
    let _ = stream.read_exact(&mut len);
    let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
    let _ = stream.read_exact(&mut message);
    message
}

fn local(data: &[u8]) {
    let (ours, theirs) = FrameSocket::pair().expect("a socket pair");
    if theirs.send(&data[..data.len().min(4096)], &[]).is_err() {
        return;
    }
    let pending = Pending::new(ours.into(), &RequiredProof::Users(AllowedUsers::default()));
    if let Ok(pending) = pending {
        let _ = pending.advance();
    }
}

/// Messages to a follower from a peer that is not yet its leader. The first byte selects if the peer knows the secret.
pub fn leader(data: &[u8]) {
    let Some((place, data)) = data.split_first() else { return };
    if place % 2 == 1 {
        let _ = Greeting::read(data, "leader");
        return;
    }
    let (ours, mut theirs) = UnixStream::pair().expect("a socket pair");
    let (interrupt, _kept) = UnixStream::pair().expect("a socket pair");
    let _ = theirs.write_all(&data[..data.len().min(4096)]);
    let _ = theirs.shutdown(std::net::Shutdown::Write);
    let _ = ours.set_nonblocking(true);
    let stream = TcpStream::from(OwnedFd::from(ours));
    let _ = exchange_keys_now(
        &stream,
        &SECRET,
        &Greeting::of_follower(false, &BTreeMap::new()),
        &interrupt,
    );
}

/// Splits the data into parts; each follows its length in two bytes.
fn parts(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = data.split_first_chunk::<2>()?;
        let (part, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
        data = rest;
        Some(part)
    })
    .take(MAX_MESSAGES)
}

fn encrypted_pair() -> (EncryptedStream, EncryptedStream) {
    let (one, other) = UnixStream::pair().expect("a socket pair");
    let mut follower = Handshake::of_follower(&SECRET).expect("a handshake");
    let mut leader = Handshake::of_leader(&SECRET).expect("a handshake");
    leader.read(&follower.write(b"").expect("it fits")).expect("the same secret");
    follower.read(&leader.write(b"").expect("it fits")).expect("the same secret");
    let stream = |socket: UnixStream, handshake: Handshake| {
        EncryptedStream::over(OwnedFd::from(socket).into(), handshake.finish().expect("the end"))
    };
    (stream(one, leader), stream(other, follower))
}

/// Messages through the tunnel to the side that the first byte selects.
pub fn tunnel(data: &[u8]) {
    let Some((side, data)) = data.split_first() else { return };
    let side = if side % 2 == 0 { TunnelSide::Leader } else { TunnelSide::Follower };
    let (near, mut far) = encrypted_pair();
    let (ours, local) = FrameSocket::pair().expect("a socket pair");
    let mut tunnel = Stepped::new(side, local, near);
    // Received descriptors stay open, as they would with a worker.
    let mut taken: VecDeque<OwnedFd> = VecDeque::new();
    for message in parts(data) {
        if far.send(message).is_err() || tunnel.step().is_err() {
            return;
        }
        while is_readable(&ours) {
            let Ok((_, fds)) = ours.receive() else { break };
            taken.extend(fds);
        }
        while is_readable(&far.stream) && far.receive().is_ok() {}
        if message.len() % 3 == 0 {
            taken.pop_front();
        }
    }
}

fn is_readable(fd: &impl AsFd) -> bool {
    let mut wanted = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// One order to a follower's command, with the descriptors that a worker needs; also reads the same bytes as a report.
pub fn order(bytes: &[u8], registry: &Registry) {
    if let Ok(report) = serde_json::from_slice::<KeeperReport>(bytes) {
        assert!(serde_json::to_vec(&report).is_ok(), "what was read can be written");
    }
    let (interrupt, _kept) = UnixStream::pair().expect("a socket pair");
    let follower = Follower {
        leader: LeaderAddress::Socket("/".into(), AllowedUsers::default()),
        registry,
        paths: BTreeMap::new(),
        pinning: Pinning::Off,
        is_silent: false,
        terms: BTreeMap::new(),
        served: &|_| {},
        interrupt: &interrupt,
    };
    for origin in [LeaderOrigin::Local(geteuid()), LeaderOrigin::Remote([127, 0, 0, 1].into())] {
        let order = admitted(&follower, origin, bytes);
        if let Ok(Order::Spawn { worker, .. }) = &order {
            assert!(!worker.role.is_leader(), "{order:?}");
        }
    }
}
