//! The Noise protocol over TCP, pattern NNpsk0, in which both sides must know the secret before either learns anything
//! about the other (noiseprotocol.org, revision 34).
//!
//! On the wire a message is its length in two bytes, big-endian, followed by that many bytes. An empty message means
//! that the secrets differ.
//!
//! The first handshake message proves nothing: anyone who recorded it can replay it. Only the first message after the
//! handshake, encrypted with keys to which both sides contributed, proves that the peer knows the secret now.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use ipcmark_transport::Error;
use nix::sys::socket::{setsockopt, sockopt};
use snow::{Builder, HandshakeState, TransportState};

use crate::{greeting, secret::Secret};

const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// The authentication tag of a ciphertext.
const TAG_BYTES: usize = 16;

/// The minimum size of a handshake message: the ephemeral key and the tag.
const MIN_HANDSHAKE_BYTES: usize = 32 + TAG_BYTES;

/// The longest handshake message.
const MAX_HANDSHAKE_BYTES: usize = MIN_HANDSHAKE_BYTES + greeting::MAX_BYTES;

/// The longest plaintext of a message after the handshake.
pub(crate) const MAX_PLAINTEXT_BYTES: usize = 65_535 - TAG_BYTES;

/// The time limit for the peer to continue a message that it has begun to send or to receive.
const STALL_LIMIT: Duration = Duration::from_secs(5);

/// The cause that both sides report if the secrets differ.
const WRONG_SECRET: &str = "wrong secret";

/// The error of both sides if the secrets differ.
pub(crate) fn wrong_secret(peer: &str) -> Error {
    Error::new("accept", format!("the {peer}"), WRONG_SECRET)
        .remedy("see that both commands have the same secret")
}

/// One side of a handshake.
pub(crate) struct Handshake(HandshakeState);

impl Handshake {
    /// The follower's side, which sends first.
    pub(crate) fn of_follower(secret: &Secret) -> Result<Self, Error> {
        builder(secret)?.build_initiator().map(Self).map_err(failed)
    }

    /// The leader's side.
    pub(crate) fn of_leader(secret: &Secret) -> Result<Self, Error> {
        builder(secret)?.build_responder().map(Self).map_err(failed)
    }

    /// The next message of this side, containing a greeting.
    pub(crate) fn write(&mut self, greeting: &[u8]) -> Result<Vec<u8>, Error> {
        let mut message = vec![0; MAX_HANDSHAKE_BYTES];
        let len = self.0.write_message(greeting, &mut message).map_err(failed)?;
        message.truncate(len);
        Ok(message)
    }

    /// The greeting in the peer's message; `None` if it cannot be decrypted with the secret.
    pub(crate) fn read(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let mut greeting = vec![0; MAX_HANDSHAKE_BYTES];
        let len = self.0.read_message(message, &mut greeting).ok()?;
        greeting.truncate(len);
        Some(greeting)
    }

    /// The session keys that both sides now share.
    pub(crate) fn finish(self) -> Result<TransportState, Error> {
        self.0.into_transport_mode().map_err(failed)
    }
}

fn builder(secret: &Secret) -> Result<Builder<'_>, Error> {
    let parameters = PROTOCOL.parse().map_err(failed)?;
    Builder::new(parameters).psk(0, &secret.0).map_err(failed)
}

/// The first message after the handshake: an encrypted empty text.
pub(crate) fn proof(keys: &mut TransportState) -> Result<Vec<u8>, Error> {
    let mut message = vec![0; TAG_BYTES];
    keys.write_message(&[], &mut message).map_err(failed)?;
    Ok(message)
}

/// True if a message is the peer's proof.
pub(crate) fn is_proof(keys: &mut TransportState, message: &[u8]) -> bool {
    message.len() == TAG_BYTES && keys.read_message(message, &mut [0; TAG_BYTES]) == Ok(0)
}

/// True if a message is long enough to be the first of a handshake with a different secret.
pub(crate) fn may_be_handshake(message: &[u8]) -> bool {
    message.len() >= MIN_HANDSHAKE_BYTES
}

/// A message in its wire format.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = (message.len() as u16).to_be_bytes().to_vec();
    bytes.extend(message);
    bytes
}

/// A handshake message that arrives a few bytes at a time. Never reads beyond its end.
#[derive(Default)]
pub(crate) struct PartialMessage(Vec<u8>);

impl PartialMessage {
    /// Reads the available bytes, without sleeping on a non-blocking socket; returns the message once it is complete.
    ///
    /// # Errors
    /// The peer is gone, or its message is longer than any handshake message.
    pub(crate) fn read(&mut self, mut stream: &TcpStream) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let missing = self.missing()?;
            if missing == 0 {
                return Ok(Some(self.0.split_off(2)));
            }
            let begun = self.0.len();
            self.0.resize(begun + missing, 0);
            let read = stream.read(&mut self.0[begun..]);
            self.0.truncate(begun + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Err(Error::peer_gone("read", "a greeting")),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(Error::os("read", "a greeting", e)),
            }
        }
    }

    /// The number of bytes still missing, as far as it is known.
    fn missing(&self) -> Result<usize, Error> {
        let Some(len) = self.0.first_chunk::<2>() else { return Ok(2 - self.0.len()) };
        match usize::from(u16::from_be_bytes(*len)) {
            len @ ..=MAX_HANDSHAKE_BYTES => Ok(2 + len - self.0.len()),
            _ => Err(Error::new("understand", "the other command", "it is no ipcmark")),
        }
    }
}

/// An encrypted connection between two commands, each of which has proved that it knows the secret.
pub(crate) struct EncryptedStream {
    pub stream: TcpStream,
    keys: TransportState,
}

/// The idle time after which the system asks the peer's system whether it is there, the time between two such
/// questions, in seconds, and their number.
const ASKED_AFTER: u32 = 10;
const ASKED_EVERY: u32 = 5;
const ASKED_TIMES: u32 = 3;

/// Makes the connection fail within half a minute if the peer's host or the network is gone: no end waits for it forever.
fn notice_silence(stream: &TcpStream) -> io::Result<()> {
    let unanswered_ms = 1000 * (ASKED_AFTER + ASKED_EVERY * ASKED_TIMES);
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &ASKED_AFTER)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &ASKED_EVERY)?;
    setsockopt(stream, sockopt::TcpKeepCount, &ASKED_TIMES)?;
    setsockopt(stream, sockopt::TcpUserTimeout, &unanswered_ms)?;
    Ok(())
}

impl EncryptedStream {
    /// The connection after a handshake.
    pub(crate) fn new(stream: TcpStream, keys: TransportState) -> Result<Self, Error> {
        stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(STALL_LIMIT)))
            .and_then(|()| stream.set_write_timeout(Some(STALL_LIMIT)))
            .and_then(|()| stream.set_nodelay(true))
            .and_then(|()| notice_silence(&stream))
            .map_err(|e| Error::os("set up", "a connection", e))?;
        Ok(Self::over(stream, keys))
    }

    /// The same over a stream whose options are already set.
    pub(crate) fn over(stream: TcpStream, keys: TransportState) -> Self {
        Self { stream, keys }
    }

    /// Sends a message of at most [`MAX_PLAINTEXT_BYTES`].
    pub(crate) fn send(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        let mut message = vec![0; plaintext.len() + TAG_BYTES];
        let len = self.keys.write_message(plaintext, &mut message).map_err(failed)?;
        (&self.stream)
            .write_all(&framed(&message[..len]))
            .map_err(|e| Error::os("write to", "the other command", e))
    }

    /// Receives a message; at least its first byte should be available.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let message =
            self.read_message().map_err(|e| Error::os("read from", "the other command", e))?;
        let mut plaintext = vec![0; message.len()];
        let len = self.keys.read_message(&message, &mut plaintext).map_err(failed)?;
        plaintext.truncate(len);
        Ok(plaintext)
    }

    fn read_message(&mut self) -> std::io::Result<Vec<u8>> {
        let mut len = [0; 2];
        (&self.stream).read_exact(&mut len)?;
        let mut message = vec![0; usize::from(u16::from_be_bytes(len))];
        (&self.stream).read_exact(&mut message)?;
        Ok(message)
    }
}

fn failed(error: snow::Error) -> Error {
    Error::new("decrypt", "a message of the other command", error)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use nix::sys::socket::getsockopt;

    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret([byte; 32])
    }

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    /// The keys of both sides, and the first message.
    fn keys() -> (TransportState, TransportState, Vec<u8>) {
        let mut follower = Handshake::of_follower(&secret(1)).unwrap();
        let mut leader = Handshake::of_leader(&secret(1)).unwrap();
        let first = follower.write(b"hello").unwrap();
        assert_eq!(leader.read(&first).unwrap(), b"hello");
        let second = leader.write(b"welcome").unwrap();
        assert_eq!(follower.read(&second).unwrap(), b"welcome");
        (follower.finish().unwrap(), leader.finish().unwrap(), first)
    }

    #[test]
    fn messages_arrive_whole_and_cannot_be_read_on_the_way() {
        let (one, other) = streams();
        let observer = other.try_clone().unwrap();
        let (follower, leader, _) = keys();
        let mut one = EncryptedStream::new(one, follower).unwrap();
        let mut other = EncryptedStream::new(other, leader).unwrap();
        for text in [&b""[..], b"short", &vec![7; MAX_PLAINTEXT_BYTES]] {
            one.send(text).unwrap();
            let mut start = [0; 64];
            let seen = observer.peek(&mut start).unwrap();
            assert!(!start[..seen].windows(5).any(|bytes| bytes == b"short"));
            assert_eq!(other.receive().unwrap(), text);
        }
    }

    /// Regression: a follower waited forever for a leader whose host was gone.
    #[test]
    fn a_connection_fails_if_the_other_host_is_gone() {
        let (one, _other) = streams();
        let one = EncryptedStream::new(one, keys().0).unwrap();
        assert!(getsockopt(&one.stream, sockopt::KeepAlive).unwrap());
        assert_eq!(getsockopt(&one.stream, sockopt::TcpKeepIdle), Ok(10));
        assert_eq!(getsockopt(&one.stream, sockopt::TcpUserTimeout), Ok(25_000));
    }

    #[test]
    fn without_the_secret_a_message_does_not_open() {
        let first = Handshake::of_follower(&secret(2)).unwrap().write(b"hello").unwrap();
        assert!(may_be_handshake(&first));
        assert!(Handshake::of_leader(&secret(1)).unwrap().read(&first).is_none());
    }

    #[test]
    fn a_proof_needs_the_keys_of_the_handshake() {
        let (mut follower, mut leader, first) = keys();
        let (mut other, ..) = keys();
        let own = proof(&mut follower).unwrap();
        for wrong in [&proof(&mut other).unwrap()[..], &first, b"", &[0; TAG_BYTES]] {
            assert!(!is_proof(&mut leader, wrong));
        }
        assert!(is_proof(&mut leader, &own));
        assert!(!is_proof(&mut leader, &own), "it is good once");
    }

    #[test]
    fn a_changed_byte_is_an_error() {
        let (one, other) = streams();
        let mut other = EncryptedStream::new(other, keys().1).unwrap();
        (&one).write_all(&framed(&[9; 20])).unwrap();
        assert!(other.receive().is_err());
    }

    #[test]
    fn a_greeting_is_read_however_it_is_cut_and_no_further() {
        let (one, other) = streams();
        other.set_nonblocking(true).unwrap();
        let mut partial = PartialMessage::default();
        for byte in framed(b"hello") {
            assert_eq!(partial.read(&other).unwrap(), None);
            (&one).write_all(&[byte]).unwrap();
            while other.peek(&mut [0]).is_err() {}
        }
        (&one).write_all(b"more").unwrap();
        assert_eq!(partial.read(&other).unwrap().unwrap(), b"hello");
        let mut rest = [0; 4];
        other.set_nonblocking(false).unwrap();
        (&other).read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"more");
        (&one).write_all(&[0xff; 2]).unwrap();
        while other.peek(&mut [0; 2]).unwrap() < 2 {}
        assert!(PartialMessage::default().read(&other).is_err(), "no handshake is so long");
    }
}
