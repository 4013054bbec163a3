//! A connection of stream sockets that the follower makes to the leader: what `tcp` and `vsock` share. The leader
//! listens until the follower is there; a random token tells it from strangers, who can connect as well.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    time::Duration,
};

use ipcmark_transport::{Deadline, Error, Rendezvous, Wait};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        socket::{
            Backlog, MsgFlags, SockFlag, SockType, SockaddrLike, accept4, bind, connect,
            getsockname, getsockopt, listen, send, setsockopt, socket, sockopt,
        },
        time::TimeVal,
    },
};

use crate::{descriptors::set_wait, random};

/// The time that a stranger who connects and says nothing can hold up the leader.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(1);

/// The address at which the leader listens.
pub trait Address: SockaddrLike + Sized {
    /// As the leader tells it.
    fn text(&self) -> String;

    /// As the follower reads it.
    fn parse(text: &str) -> Option<Self>;
}

/// The leader's end. It listens at an address with no port yet.
pub fn lead<A: Address>(
    own: A,
    peers: &mut dyn Rendezvous,
    object: &str,
) -> Result<OwnedFd, Error> {
    let failed = |errno| Error::os("listen for", object, errno);
    let (listener, address) = listener(&own).map_err(failed)?;
    let token = random::number()?;
    peers.send(0, format!("{} {token}", address.text()).as_bytes(), &[])?;
    // Once the follower says that it is connected, accepting it does not wait.
    peers.receive(0)?;
    set_wait(listener.as_fd(), Wait::Spin, object)?;
    loop {
        let stream = accept(&listener).map_err(|errno| Error::os("accept", object, errno))?;
        if knows(&stream, token) {
            return Ok(stream);
        }
    }
}

/// A socket that listens, and where.
pub fn listener<A: Address>(own: &A) -> nix::Result<(OwnedFd, A)> {
    let listener = stream(own)?;
    bind(listener.as_raw_fd(), own)?;
    listen(&listener, Backlog::MAXCONN)?;
    let address = getsockname(listener.as_raw_fd())?;
    Ok((listener, address))
}

/// The next connection.
pub fn accept(listener: &OwnedFd) -> nix::Result<OwnedFd> {
    let stream = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
    // SAFETY: a new descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(stream) })
}

fn stream(address: &impl Address) -> nix::Result<OwnedFd> {
    let family = address.family().ok_or(Errno::EAFNOSUPPORT)?;
    socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
}

/// True if the other side of a connection is the follower: only the follower knows the token.
pub fn knows(stream: &OwnedFd, token: u64) -> bool {
    let wait_at_most = |limit: Duration| {
        let limit = TimeVal::new(limit.as_secs() as i64, 0);
        setsockopt(stream, sockopt::ReceiveTimeout, &limit)
    };
    let mut answer = [0; 8];
    let mut hear = || -> std::io::Result<()> {
        wait_at_most(TOKEN_TIMEOUT)?;
        File::from(stream.try_clone()?).read_exact(&mut answer)?;
        Ok(wait_at_most(Duration::ZERO)?)
    };
    hear().is_ok() && answer == token.to_le_bytes()
}

/// The follower's end.
pub fn follow<A: Address>(
    deadline: Deadline,
    peers: &mut dyn Rendezvous,
    object: &str,
) -> Result<OwnedFd, Error> {
    let (frame, _) = peers.receive(0)?;
    let (address, token) = read::<A>(&frame)
        .ok_or_else(|| Error::new("read", "the leader's address", "it is not an address"))?;
    let failed = |errno| Error::os("connect to", address.text(), errno);
    let stream = stream(&address).map_err(failed)?;
    set_wait(stream.as_fd(), Wait::Spin, object)?;
    connect_in_time(&stream, &address, deadline).map_err(failed)?;
    // A new connection has room for eight bytes.
    send(stream.as_raw_fd(), &token.to_le_bytes(), MsgFlags::MSG_NOSIGNAL).map_err(failed)?;
    peers.send(0, b"connected", &[])?;
    Ok(stream)
}

/// Connects a socket that does not block.
fn connect_in_time(
    stream: &OwnedFd,
    address: &impl Address,
    deadline: Deadline,
) -> nix::Result<()> {
    match connect(stream.as_raw_fd(), address) {
        Err(Errno::EINPROGRESS) => {}
        done => return done,
    }
    let timeout = PollTimeout::try_from(deadline.left()).unwrap_or(PollTimeout::MAX);
    let mut wanted = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut wanted, timeout)? == 0 {
        return Err(Errno::ETIMEDOUT);
    }
    match getsockopt(stream, sockopt::SocketError)? {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// Reads the address and the token that the leader wrote.
pub fn read<A: Address>(frame: &[u8]) -> Option<(A, u64)> {
    let (address, token) = std::str::from_utf8(frame).ok()?.split_once(' ')?;
    Some((A::parse(address)?, token.parse().ok()?))
}
