//! Connects a follower's command to its leader.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, TcpStream},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::{Duration, Instant},
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, socket, sockopt,
    },
    unistd::Uid,
};
use snow::TransportState;

use crate::{
    LeaderAddress,
    greeting::Greeting,
    noise::{self, EncryptedStream, Handshake, PartialMessage, framed},
    secret::Secret,
    socket_file::connect_now,
    tunnel::{self, TunnelSide},
    users::AllowedUsers,
};

/// The time limit for the leader to accept a connection and to answer the greeting.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The time limit for sending a frame to the leader.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// The connection to a leader that has accepted this follower.
pub(crate) struct LeaderConnection {
    pub frames: FrameSocket,
    pub origin: LeaderOrigin,
}

/// The origin of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderOrigin {
    /// A process of this user on this machine.
    Local(Uid),
    /// A peer that knows the secret, on a host that reaches this one at this address.
    Remote(IpAddr),
}

/// The result of one attempt to connect.
pub(crate) enum Attempt {
    Connected(LeaderConnection),
    /// Nobody listens there, or the user interrupted.
    Absent,
    /// A listener closed the connection without an answer.
    Dropped,
}

/// Connects once.
///
/// # Errors
/// The listener is not a leader that this follower can serve.
pub(crate) fn connect_to(
    leader: &LeaderAddress,
    is_silent: bool,
    terms: &BTreeMap<String, String>,
    interrupt: &UnixStream,
) -> Result<Attempt, Error> {
    let wait = InterruptibleWait { interrupt, deadline: Instant::now() + ANSWER_LIMIT };
    let greeting = Greeting::of_follower(is_silent, terms);
    match leader {
        LeaderAddress::Socket(path, users) => connect_local(path, users, &greeting, &wait),
        LeaderAddress::Tcp(address, secret) => connect_remote(*address, secret, &greeting, &wait),
    }
}

/// Waits for a descriptor until the user interrupts or the deadline passes.
struct InterruptibleWait<'a> {
    interrupt: &'a UnixStream,
    deadline: Instant,
}

impl InterruptibleWait<'_> {
    /// True once the descriptor is ready; false if the user interrupts.
    fn until(&self, fd: BorrowedFd<'_>, events: PollFlags) -> Result<bool, Error> {
        loop {
            let mut wanted =
                [PollFd::new(fd, events), PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
            let left = self.deadline.saturating_duration_since(Instant::now());
            let most = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            match poll(&mut wanted, most) {
                Err(Errno::EINTR) => continue,
                other => other.map_err(|e| Error::os("wait for", "the leader", e))?,
            };
            match wanted.map(|fd| fd.any().unwrap_or(true)) {
                [_, true] => return Ok(false),
                [true, _] => return Ok(true),
                _ if left.is_zero() => return Err(no_answer()),
                _ => {}
            }
        }
    }
}

fn no_answer() -> Error {
    let cause = format!("it did not answer within {} s", ANSWER_LIMIT.as_secs());
    Error::new("join", "the leader", cause)
}

fn connect_local(
    path: &Path,
    users: &AllowedUsers,
    greeting: &[u8],
    wait: &InterruptibleWait<'_>,
) -> Result<Attempt, Error> {
    let fd = match connect_now(path) {
        Ok(fd) => fd,
        Err(Errno::ENOENT | Errno::ECONNREFUSED | Errno::EAGAIN) => return Ok(Attempt::Absent),
        Err(errno) => {
            return Err(Error::os(
                "connect to",
                format!("the leader at {}", path.display()),
                errno,
            ));
        }
    };
    // Any process may have bound the path: it learns nothing before its user is known.
    let user = users.check(&fd)?;
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::empty()))
        .map_err(|e| Error::os("set up", "a connection", e))?;
    let frames = FrameSocket::from(fd);
    frames.set_timeout(SEND_LIMIT)?;
    let greeted = frames.send(greeting, &[]);
    if !wait.until(frames.as_fd(), PollFlags::POLLIN)? {
        return Ok(Attempt::Absent);
    }
    match frames.receive() {
        Ok((answer, _)) => Greeting::read(&answer, "leader")?,
        // The leader had too many connections and dropped this one, or was just ending.
        Err(error) if error.is_peer_gone() => return Ok(Attempt::Dropped),
        Err(error) => return Err(error),
    };
    greeted?;
    Ok(Attempt::Connected(LeaderConnection { frames, origin: LeaderOrigin::Local(user) }))
}

fn connect_remote(
    address: SocketAddr,
    secret: &Secret,
    greeting: &[u8],
    wait: &InterruptibleWait<'_>,
) -> Result<Attempt, Error> {
    let Some(stream) = reach(address, wait)? else { return Ok(Attempt::Absent) };
    let local = stream.local_addr().map_err(|e| Error::os("find out", "the own address", e))?;
    let Some(keys) = exchange_keys(&stream, secret, greeting, wait)? else {
        return Ok(Attempt::Dropped);
    };
    let frames = tunnel::start(EncryptedStream::new(stream, keys)?, TunnelSide::Follower)?;
    let origin = LeaderOrigin::Remote(local.ip().to_canonical());
    Ok(Attempt::Connected(LeaderConnection { frames, origin }))
}

/// A non-blocking connection; `None` if nobody listens there.
fn reach(address: SocketAddr, wait: &InterruptibleWait<'_>) -> Result<Option<TcpStream>, Error> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket: OwnedFd = socket(family, SockType::Stream, flags, None)
        .map_err(|e| Error::scarce("make", "a socket", e))?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) => {}
        Err(Errno::EINPROGRESS) => {
            // An attempt without any answer is repeated.
            let limit = InterruptibleWait { deadline: Instant::now() + SEND_LIMIT, ..*wait };
            if !matches!(limit.until(socket.as_fd(), PollFlags::POLLOUT), Ok(true)) {
                return Ok(None);
            }
        }
        Err(_) => return Ok(None),
    }
    let is_connected = getsockopt(&socket, sockopt::SocketError).is_ok_and(|error| error == 0);
    Ok(is_connected.then(|| socket.into()))
}

/// The session keys agreed with the leader; `None` if the leader drops the connection or the user interrupts.
fn exchange_keys(
    stream: &TcpStream,
    secret: &Secret,
    greeting: &[u8],
    wait: &InterruptibleWait<'_>,
) -> Result<Option<TransportState>, Error> {
    let mut handshake = Handshake::of_follower(secret)?;
    if !send(stream, &handshake.write(greeting)?) {
        return Ok(None);
    }
    let Some(message) = receive(stream, wait)? else { return Ok(None) };
    let answer = handshake.read(&message).ok_or_else(|| match message.is_empty() {
        true => noise::wrong_secret("leader"),
        false => Error::new("understand", "the leader", "it is no ipcmark, or has another secret"),
    })?;
    Greeting::read(&answer, "leader")?;
    let mut keys = handshake.finish()?;
    let proof = noise::proof(&mut keys)?;
    Ok(send(stream, &proof).then_some(keys))
}

/// The same, for a leader whose answer has already arrived.
pub(crate) fn exchange_keys_now(
    stream: &TcpStream,
    secret: &Secret,
    greeting: &[u8],
    interrupt: &UnixStream,
) -> Result<Option<TransportState>, Error> {
    let wait = InterruptibleWait { interrupt, deadline: Instant::now() + ANSWER_LIMIT };
    exchange_keys(stream, secret, greeting, &wait)
}

/// Sends a message that always fits into the empty buffer of a new connection; false if the peer is gone.
fn send(mut stream: &TcpStream, message: &[u8]) -> bool {
    use std::io::Write;
    stream.write_all(&framed(message)).is_ok()
}

/// Receives a handshake message; `None` if the peer is gone or the user interrupts.
fn receive(stream: &TcpStream, wait: &InterruptibleWait<'_>) -> Result<Option<Vec<u8>>, Error> {
    let mut partial = PartialMessage::default();
    while wait.until(stream.as_fd(), PollFlags::POLLIN)? {
        match partial.read(stream) {
            Ok(None) => {}
            Err(error) if error.is_peer_gone() || error.os_error().is_some() => return Ok(None),
            message => return message,
        }
    }
    Ok(None)
}
