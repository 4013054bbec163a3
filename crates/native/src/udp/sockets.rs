//! The sockets of one end, and what the ends tell each other about theirs.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use ipcmark_transport::{Error, MAX_SLEEP, Rendezvous, Wait};

/// What it is called in errors.
pub const OBJECT: &str = "the UDP socket";

/// The kernel rounds a sleep up to ticks of its clock, of 10 ms at most.
const SLEEP: Duration = Duration::from_millis(MAX_SLEEP.as_millis() as u64 / 2);

/// The sockets of one end.
pub struct Sockets {
    /// For messages.
    pub data: UdpSocket,
    /// For credits, apart so that a sender that waits for one does not meet a message.
    pub credit: UdpSocket,
}

/// What one end tells the other about itself.
#[derive(Debug, PartialEq)]
pub struct Peer {
    pub data: SocketAddr,
    pub credit: SocketAddr,
    /// How many parts its receive buffer holds.
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

    /// From now on both sockets hear the other end alone.
    pub fn connect(&self, other: &Peer, wait: Wait) -> io::Result<()> {
        for (socket, address) in [(&self.data, other.data), (&self.credit, other.credit)] {
            socket.connect(address)?;
            socket.set_nonblocking(true)?;
            // Whatever strangers sent before.
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
