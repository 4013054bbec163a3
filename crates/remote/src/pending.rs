//! Connections whose greeting is in progress. There may be many, from anybody: the thread waits for none of them.

use std::{
    net::{IpAddr, TcpStream},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use snow::TransportState;

use crate::{
    greeting::Greeting,
    listener::{RequiredProof, peer_of},
    noise::{self, EncryptedStream, Handshake, PartialMessage, framed},
    secret::Secret,
    users::AllowedUsers,
};

/// The time limit for a follower's whole greeting.
const GREETING_LIMIT: Duration = Duration::from_secs(30);

/// The time limit for sending a frame to a follower's command.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// A connection whose greeting is in progress.
pub(crate) struct Pending {
    stage: Stage,
    /// The time at which it is dropped.
    pub deadline: Instant,
    /// Its origin as shown to users.
    pub peer: String,
}

/// The message expected next.
enum Stage {
    /// The greeting of a command on this machine.
    LocalGreeting(FrameSocket),
    /// The first handshake message.
    Handshake(TcpStream, PartialMessage, Box<Handshake>),
    /// The proof that the first message was not a replay.
    Proof {
        stream: TcpStream,
        partial: PartialMessage,
        keys: Box<TransportState>,
        greeting: Box<Greeting>,
    },
}

/// A follower whose greeting is complete.
pub(crate) struct Accepted {
    pub connection: Connection,
    /// The follower's greeting.
    pub greeting: Greeting,
}

/// The connection to a follower's command.
pub(crate) enum Connection {
    Local(FrameSocket),
    /// With the address at which the follower reached the leader.
    Remote(Box<EncryptedStream>, IpAddr),
}

/// The result of advancing a connection.
pub(crate) enum GreetingProgress {
    Waiting(Pending),
    Accepted(Accepted),
}

impl Pending {
    /// A connection that was just accepted.
    ///
    /// # Errors
    /// Its user is not allowed.
    pub(crate) fn new(fd: OwnedFd, required_proof: &RequiredProof) -> Result<Self, Error> {
        let (stage, peer) = match required_proof {
            RequiredProof::Users(users) => {
                (Stage::LocalGreeting(admitted(fd, users)?), "this machine".into())
            }
            RequiredProof::Secret(secret) => {
                let stream = TcpStream::from(fd);
                let peer = peer_of(&stream);
                (first_stage(stream, secret)?, peer)
            }
        };
        Ok(Self { stage, deadline: Instant::now() + GREETING_LIMIT, peer })
    }

    /// True if it has sent a message that needs the secret or a recording of a peer that knows it.
    pub(crate) fn is_probable(&self) -> bool {
        matches!(self.stage, Stage::Proof { .. })
    }

    /// Processes the bytes that have arrived.
    ///
    /// # Errors
    /// The peer is not a follower.
    pub(crate) fn advance(self) -> Result<GreetingProgress, Error> {
        let Self { stage, deadline, peer } = self;
        let waiting = |stage| Ok(GreetingProgress::Waiting(Self { stage, deadline, peer }));
        match stage {
            Stage::LocalGreeting(frames) => greet_local(frames).map(GreetingProgress::Accepted),
            Stage::Handshake(stream, mut partial, handshake) => match partial.read(&stream)? {
                None => waiting(Stage::Handshake(stream, partial, handshake)),
                Some(message) => waiting(answer_handshake(stream, *handshake, &message)?),
            },
            Stage::Proof { stream, mut partial, mut keys, greeting } => {
                match partial.read(&stream)? {
                    None => waiting(Stage::Proof { stream, partial, keys, greeting }),
                    Some(message) if noise::is_proof(&mut keys, &message) => {
                        accept_remote(stream, *keys, *greeting).map(GreetingProgress::Accepted)
                    }
                    Some(_) => Err(replayed()),
                }
            }
        }
    }
}

impl AsFd for Pending {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stage {
            Stage::LocalGreeting(frames) => frames.as_fd(),
            Stage::Handshake(stream, ..) | Stage::Proof { stream, .. } => stream.as_fd(),
        }
    }
}

/// Accepts a connection of an allowed user; sends the reason to any other.
fn admitted(fd: OwnedFd, users: &AllowedUsers) -> Result<FrameSocket, Error> {
    // Blocking is safe: its only record is there before it is read, and an answer always fits.
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::empty()))
        .map_err(|e| Error::os("set up", "a connection", e))?;
    let refused = users.check(&fd).err();
    let frames = FrameSocket::from(fd);
    frames.set_timeout(SEND_LIMIT)?;
    match refused {
        None => Ok(frames),
        Some(reason) => {
            let _ = frames.send(&Greeting::of_refusal(&reason), &[]);
            Err(reason)
        }
    }
}

fn greet_local(frames: FrameSocket) -> Result<Accepted, Error> {
    let (greeting, _) = frames.receive()?;
    // The leader also sends its version to a follower of another version.
    frames.send(&Greeting::of_leader(), &[])?;
    let greeting = Greeting::read(&greeting, "follower")?;
    Ok(Accepted { connection: Connection::Local(frames), greeting })
}

fn first_stage(stream: TcpStream, secret: &Secret) -> Result<Stage, Error> {
    let handshake = Box::new(Handshake::of_leader(secret)?);
    Ok(Stage::Handshake(stream, PartialMessage::default(), handshake))
}

fn answer_handshake(
    stream: TcpStream,
    mut handshake: Handshake,
    message: &[u8],
) -> Result<Stage, Error> {
    let Some(greeting) = handshake.read(message) else {
        return Err(refuse(&stream, message));
    };
    // The leader also sends its version to a follower of another version, which knows the secret.
    send_now(&stream, &framed(&handshake.write(&Greeting::of_leader())?))?;
    let greeting = Box::new(Greeting::read(&greeting, "follower")?);
    let keys = Box::new(handshake.finish()?);
    let partial = PartialMessage::default();
    Ok(Stage::Proof { stream, partial, keys, greeting })
}

/// Reports a wrong secret, and nothing else, to a peer that may have a different secret.
fn refuse(stream: &TcpStream, message: &[u8]) -> Error {
    if !noise::may_be_handshake(message) {
        return Error::new("understand", "the other command", "it is no ipcmark");
    }
    let _ = send_now(stream, &framed(&[]));
    noise::wrong_secret("follower")
}

fn replayed() -> Error {
    Error::new("accept", "the follower", "it repeats the recorded greeting of another")
}

fn accept_remote(
    stream: TcpStream,
    keys: TransportState,
    greeting: Greeting,
) -> Result<Accepted, Error> {
    let leader = stream
        .local_addr()
        .map_err(|e| Error::os("find out", "the address of a connection", e))?
        .ip()
        .to_canonical();
    let stream = Box::new(EncryptedStream::new(stream, keys)?);
    Ok(Accepted { connection: Connection::Remote(stream, leader), greeting })
}

/// Sends a message that always fits into the empty buffer of a new connection.
fn send_now(mut stream: &TcpStream, bytes: &[u8]) -> Result<(), Error> {
    use std::io::Write;
    stream.write_all(bytes).map_err(|e| Error::os("answer", "a greeting", e))
}
