//! `tcp`: a TCP connection over the loopback interface, without Nagle's delay.
//!
//! - Mechanism: `send` and `recv` on one connection.
//! - Kernel objects: a connection. The leader listens on a free port until the follower has connected.
//! - Copies per message: two, into the kernel's buffers and out of them.
//! - Spin: the descriptor does not block; an empty or full queue returns EAGAIN. Block: `recv` and
//!   `send` sleep.
//! - Limits: none per message; a message larger than the buffers passes in several parts. Their sizes
//!   are left to the kernel, which enlarges them with the traffic: setting a size turns that off, and
//!   without privileges it cannot be set as high as the kernel goes by itself.

use std::{
    borrow::Cow,
    io::{Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    time::Duration,
};

use ipcmark_transport::{
    BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec, Rendezvous,
    Settings, Transport,
};

use crate::{
    descriptors::set_wait,
    frame::Framed,
    random,
    socket::{RECEIVE_BUFFER, SEND_BUFFER, Socket, set_buffers},
};

const OBJECT: &str = "the TCP connection";

/// The longest time that a foreign connection without data can delay the leader, and that the
/// follower tries to connect.
const PATIENCE: Duration = Duration::from_secs(1);

/// The options.
static OPTIONS: [OptionSpec; 4] = [
    SEND_BUFFER,
    RECEIVE_BUFFER,
    OptionSpec::new("no-delay", "on|off", "on", "without Nagle's delay (TCP_NODELAY)"),
    BUFFERS,
];

/// The transport.
pub struct Tcp;

impl Transport for Tcp {
    const CYCLES: bool = true;
    type Endpoint = Framed<Socket>;

    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error> {
        let stream = if settings.role.is_leader() {
            lead(settings.own_address(), peers)?
        } else {
            follow(peers)?
        };
        let no_delay = !settings.is_set_to("no-delay", "off");
        set_buffers(&stream, settings);
        stream
            .set_nodelay(no_delay)
            .map_err(|error| Error::os("set no delay on", OBJECT, error))?;
        set_wait(stream.as_fd(), settings.wait, OBJECT)?;
        let link = Socket { fd: stream.into(), part: usize::MAX, farewell: false };
        Framed::new(link, OBJECT, settings)
    }
}

fn lead(address: IpAddr, peers: &mut dyn Rendezvous) -> Result<TcpStream, Error> {
    let failed = |error| Error::os("listen for", OBJECT, error);
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let token = random::number()?;
    peers.send(0, format!("{address} {token}").as_bytes(), &[])?;
    // The follower reports that it is connected, so accepting it does not wait.
    peers.receive(0)?;
    listener.set_nonblocking(true).map_err(failed)?;
    loop {
        let (stream, _) = listener.accept().map_err(|error| Error::os("accept", OBJECT, error))?;
        if knows(&stream, token) {
            return Ok(stream);
        }
    }
}

/// True if the other side of a connection is the follower: only the follower knows the token.
fn knows(mut stream: &TcpStream, token: u64) -> bool {
    let mut answer = [0; 8];
    let mut hear = || -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.read_exact(&mut answer)?;
        stream.set_read_timeout(None)
    };
    hear().is_ok() && answer == token.to_le_bytes()
}

fn follow(peers: &mut dyn Rendezvous) -> Result<TcpStream, Error> {
    let (frame, _) = peers.receive(0)?;
    let (address, token) = parse(&frame)
        .ok_or_else(|| Error::new("read", "the leader's address", "it is not an address"))?;
    let failed = |error| Error::os("connect to", address.to_string(), error);
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    stream.write_all(&token.to_le_bytes()).map_err(failed)?;
    peers.send(0, b"connected", &[])?;
    Ok(stream)
}

/// Parses the leader's address and token.
fn parse(frame: &[u8]) -> Option<(SocketAddr, u64)> {
    let (address, token) = std::str::from_utf8(frame).ok()?.split_once(' ')?;
    Some((address.parse().ok()?, token.parse().ok()?))
}

static DEFINITION: Definition = Definition {
    name: Cow::Borrowed("tcp"),
    family: Cow::Borrowed("os"),
    summary: Cow::Borrowed("a TCP connection, no delay; two copies a message"),
    carrier: DeclaredCarrier::Always(Carrier::Network),
    options: Cow::Borrowed(&OPTIONS),
    capabilities: {
        let mut capabilities = Capabilities::usual();
        capabilities.crosses_hosts = true;
        capabilities
    },
};

/// The entry of `tcp` in the list of transports.
pub const TRANSPORT: Tcp = Tcp;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    crate::testing::queue::reliable_queue!(super::TRANSPORT);

    #[test]
    fn a_stranger_is_not_taken_for_the_follower() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stranger.write_all(&7_u64.to_le_bytes()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(!knows(&accepted, 8));

        let mut follower = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        follower.write_all(&8_u64.to_le_bytes()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(knows(&accepted, 8));
    }

    #[test]
    fn a_stranger_who_connects_first_does_no_harm() {
        let (mut leader, mut follower) = crate::testing::rendezvous();
        std::thread::scope(|scope| {
            let own = Ipv4Addr::LOCALHOST.into();
            let leading =
                scope.spawn(move || lead(own, &mut leader).map(|s| s.peer_addr().unwrap()));
            let (frame, _) = follower.receive(0).unwrap();
            let (address, token) = parse(&frame).unwrap();
            let _silent = TcpStream::connect(address).unwrap();
            let mut ours = TcpStream::connect(address).unwrap();
            ours.write_all(&token.to_le_bytes()).unwrap();
            follower.send(0, b"connected", &[]).unwrap();
            assert_eq!(leading.join().unwrap().unwrap(), ours.local_addr().unwrap());
        });
    }
}
