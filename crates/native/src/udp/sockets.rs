//! The sockets of one end, and the exchange of their addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use ipcmark_transport::{Error, MAX_SLEEP, Rendezvous, Wait};

/// The name of the socket in errors.
pub const OBJECT: &str = "the UDP socket";

/// The longest sleep: the kernel rounds it up to ticks of its clock, of at most 10 ms.
const SLEEP: Duration = Duration::from_millis(MAX_SLEEP.as_millis() as u64 / 2);

/// The sockets of one end.
pub struct Sockets {
    /// For messages.
    pub data: UdpSocket,
    /// For credits: separate, so that a sender waiting for one does not receive a message.
    pub credit: UdpSocket,
}

/// The other end's addresses and window.
#[derive(Debug, PartialEq)]
pub struct Peer {
    pub data: SocketAddr,
    pub credit: SocketAddr,
    /// The number of parts that its receive buffer holds.
    pub window: u32,
}

impl Sockets {
    pub fn bind(address: IpAddr) -> io::Result<Self> {
        let bind = || UdpSocket::bind((address, 0));
        Ok(Self { data: bind()?, credit: bind()? })
    }

    pub fn exchange(&self, window: u32, peers: &mut dyn Rendezvous) -> Result<Peer, Error> {
        let address = |socket: &UdpSocket| {
            socket.local_addr().map_err(|error| Error::os("find the address of", OBJECT, error))
        };
        let frame = format!("{} {} {window}", address(&self.data)?, address(&self.credit)?);
        peers.send(0, frame.as_bytes(), &[])?;
        let (frame, _) = peers.receive(0)?;
        Peer::parse(&frame)
            .ok_or_else(|| Error::new("read", "the other end's addresses", "they are none"))
    }

    /// Connects both sockets, so that they receive from the other end alone.
    pub fn connect(&self, other: &Peer, wait: Wait) -> io::Result<()> {
        for (socket, address) in [(&self.data, other.data), (&self.credit, other.credit)] {
            socket.connect(address)?;
            socket.set_nonblocking(true)?;
            // Discard datagrams that other senders sent before.
            while socket.recv(&mut []).is_ok() {}
            socket.set_nonblocking(wait == Wait::Spin)?;
            socket.set_read_timeout(Some(SLEEP))?;
            socket.set_write_timeout(Some(SLEEP))?;
        }
        Ok(())
    }
}

impl Peer {
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(frame).ok()?.split(' ');
        Some(Self {
            data: words.next()?.parse().ok()?,
            credit: words.next()?.parse().ok()?,
            window: words.next()?.parse().ok()?,
        })
    }
}
