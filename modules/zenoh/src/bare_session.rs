//! The common code of zenoh's bare programs: two processes with a session each, and room for a message.

use std::{fs, net::TcpListener, path::Path, thread, time::Duration};

use bytes::{Bytes, BytesMut};
use zenoh::{Config, Session, Wait, bytes::ZBytes, handlers::FifoChannelHandler};

use crate::bare::{self, Asked, Failure};

/// One end of a program.
pub trait BareEnd: Sized {
    fn open(session: Session, leads: bool, asked: &Asked) -> Result<Self, Failure>;

    /// Sends a message with this number.
    fn send(&mut self, number: u64) -> Result<(), Failure>;

    /// Receives a message, and returns its number.
    fn receive(&mut self) -> Result<u64, Failure>;
}

/// The carrier of a session's frames.
#[allow(dead_code, reason = "each program uses one of them")]
pub enum Link {
    Unix,
    Tcp,
    /// A Unix socket, which carries a message's position in shared memory.
    Shm,
}

impl Link {
    fn endpoint(&self, directory: &Path) -> Result<String, Failure> {
        match self {
            Self::Unix | Self::Shm => {
                Ok(format!("unixsock-stream/{}", directory.join("zenoh").display()))
            }
            Self::Tcp => Ok(format!("tcp/{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?)),
        }
    }
}

/// Runs a program: its first process leads.
pub fn run<E: BareEnd>(link: Link) -> Result<(), Failure> {
    let asked = Asked::read()?;
    if let Some(endpoint) = &asked.told {
        let mut end = E::open(start(&link, endpoint, false)?, false, &asked)?;
        bare::pin(asked.follower_cpu);
        return follow(&mut end, &asked);
    }
    let directory = std::env::temp_dir().join(bare::name());
    fs::create_dir(&directory)?;
    let endpoint = link.endpoint(&directory)?;
    let session = start(&link, &endpoint, true)?;
    let mut follower = asked.start_other(&endpoint)?;
    let mut end = E::open(session, true, &asked)?;
    bare::pin(asked.leader_cpu);
    asked.lead(|n| {
        end.send(n)?;
        assert_eq!(end.receive()?, n);
        Ok(())
    })?;
    follower.wait()?;
    drop(end);
    Ok(fs::remove_dir_all(&directory)?)
}

fn start(link: &Link, endpoint: &str, leads: bool) -> Result<Session, Failure> {
    let endpoint = format!("[\"{endpoint}\"]");
    let is_shared = matches!(link, Link::Shm);
    let (listen, connect) = if leads { (&*endpoint, "[]") } else { ("[]", &*endpoint) };
    let config = Config::from_json5(&format!(
        "{{ mode: \"peer\", listen: {{ endpoints: {listen} }}, connect: {{ endpoints: {connect} }}, \
           scouting: {{ multicast: {{ enabled: false }}, gossip: {{ enabled: false }} }}, \
           transport: {{ shared_memory: {{ enabled: {is_shared} }} }} }}"
    ))?;
    zenoh::open(config).wait()
}

fn follow(end: &mut impl BareEnd, asked: &Asked) -> Result<(), Failure> {
    asked.follow(|| {
        let number = end.receive()?;
        end.send(number)
    })?;
    // The last answer is still in the library's threads.
    thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// Room for a message.
pub struct Room {
    bytes: BytesMut,
    spins: bool,
}

impl Room {
    pub fn new(asked: &Asked) -> Self {
        Self { bytes: BytesMut::from(Bytes::from(vec![1; asked.payload])), spins: asked.spins }
    }

    /// Sends a message with this number.
    pub fn send(
        &mut self,
        number: u64,
        send: impl FnOnce(ZBytes) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut room = std::mem::take(&mut self.bytes);
        bare::write(&mut room, number);
        let room = room.freeze();
        send(ZBytes::from(room.clone()))?;
        self.bytes = room.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        Ok(())
    }

    /// The number of a message.
    pub fn read(&self, message: &ZBytes) -> Result<u64, Failure> {
        bare::read(&message.to_bytes(), self.bytes.len())
    }

    /// The next item of a channel.
    pub fn next<T>(&self, channel: &FifoChannelHandler<T>) -> Result<T, Failure> {
        if !self.spins {
            return channel.recv();
        }
        loop {
            if let Some(item) = channel.try_recv()? {
                return Ok(item);
            }
            std::hint::spin_loop();
        }
    }
}
