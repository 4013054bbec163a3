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

use std::{borrow::Cow, net::SocketAddr, os::fd::AsFd};

use ipcmark_transport::{
    BUFFERS, Capabilities, Carrier, DeclaredCarrier, Definition, Error, OptionSpec, Rendezvous,
    Settings, Transport,
};
use nix::sys::socket::{SockaddrStorage, setsockopt, sockopt::TcpNoDelay};

use crate::{
    connection::{self, Address},
    descriptors::set_wait,
    frame::Framed,
    socket::{RECEIVE_BUFFER, SEND_BUFFER, Socket, set_buffers},
};

const OBJECT: &str = "the TCP connection";

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
            let own = SocketAddr::new(settings.own_address(), 0);
            connection::lead(SockaddrStorage::from(own), peers, OBJECT)?
        } else {
            connection::follow::<SockaddrStorage>(settings.deadline(), peers, OBJECT)?
        };
        set_buffers(&stream, settings);
        let no_delay = !settings.is_set_to("no-delay", "off");
        setsockopt(&stream, TcpNoDelay, &no_delay)
            .map_err(|errno| Error::os("set no delay on", OBJECT, errno))?;
        set_wait(stream.as_fd(), settings.wait, OBJECT)?;
        let link = Socket { fd: stream, part: usize::MAX, sends_close_packet: false };
        Framed::new(link, OBJECT, settings)
    }
}

impl Address for SockaddrStorage {
    fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse::<SocketAddr>().ok().map(Into::into)
    }
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
    use std::{
        io::Write,
        net::{Ipv4Addr, TcpStream},
        os::fd::AsRawFd,
    };

    use ipcmark_transport::Rendezvous;
    use nix::sys::socket::getpeername;

    use super::*;
    use crate::connection::{accept, knows, lead, listener, read};

    crate::testing::queue::reliable_queue!(super::TRANSPORT);

    fn own() -> SockaddrStorage {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()
    }

    fn connect(address: &SockaddrStorage) -> TcpStream {
        TcpStream::connect(address.text()).unwrap()
    }

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        for address in ["127.0.0.1:80", "[2001:db8::1]:65535"] {
            assert_eq!(SockaddrStorage::parse(address).unwrap().text(), address);
        }
        for frame in ["", "127.0.0.1:80", "127.0.0.1 7", "127.0.0.1:80 x", "localhost:80 7"] {
            assert!(read::<SockaddrStorage>(frame.as_bytes()).is_none(), "{frame}");
        }
    }

    #[test]
    fn a_connection_without_the_token_is_rejected() {
        let (listener, address) = listener(&own()).unwrap();
        let mut unknown = connect(&address);
        unknown.write_all(&7_u64.to_le_bytes()).unwrap();
        assert!(!knows(&accept(&listener).unwrap(), 8));

        let mut follower = connect(&address);
        follower.write_all(&8_u64.to_le_bytes()).unwrap();
        assert!(knows(&accept(&listener).unwrap(), 8));
    }

    #[test]
    fn an_unknown_connection_that_comes_first_is_dropped() {
        let (mut leader, mut follower) = crate::testing::rendezvous();
        std::thread::scope(|scope| {
            let leading = scope.spawn(move || lead(own(), &mut leader, OBJECT).unwrap());
            let (frame, _) = follower.receive(0).unwrap();
            let (address, token) = read::<SockaddrStorage>(&frame).unwrap();
            let _silent = connect(&address);
            let mut ours = connect(&address);
            ours.write_all(&token.to_le_bytes()).unwrap();
            follower.send(0, b"connected", &[]).unwrap();
            let peer: SockaddrStorage = getpeername(leading.join().unwrap().as_raw_fd()).unwrap();
            assert_eq!(peer.text(), ours.local_addr().unwrap().to_string());
        });
    }
}
