//! Sealed records over TCP: the Noise protocol, pattern NNpsk0, in which both sides must know the
//! secret before either learns anything of the other (noiseprotocol.org, revision 34).
//!
//! On the wire a record is its length, two bytes, big-endian, and then so many bytes of ciphertext.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use ipcmark_transport::Error;
use snow::{Builder, HandshakeState, TransportState};

use crate::{
    greeting::{self, Greeting},
    secret::Secret,
};

const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// The longest plain record: what the protocol allows less its seal.
pub(crate) const MOST_BYTES: usize = 65_535 - 16;

/// Ephemeral key and seal of a message of the handshake, and a greeting.
const MOST_GREETING: usize = 32 + 16 + greeting::MOST_BYTES;

/// How long the other side may take for a part of the handshake, or to end a record it has begun.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How long whoever has connected waits to be heard: others may be before it.
pub(crate) const IN_LINE: Duration = Duration::from_secs(60);

/// A connection of which both sides know the secret.
pub(crate) struct Records {
    pub stream: TcpStream,
    noise: TransportState,
}

impl Records {
    /// Of the side that has connected, and says this first.
    pub(crate) fn connected(stream: TcpStream, secret: &Secret, own: &[u8]) -> Result<Self, Error> {
        settle(&stream, IN_LINE)?;
        let mut noise = builder(secret)?.build_initiator().map_err(unsealed)?;
        write_greeting(&stream, &mut noise, own)?;
        let greeting = read_greeting(&stream, &mut noise)
            .map_err(|e| e.remedy("see that both commands have the same secret"))?;
        settle(&stream, PATIENCE)?;
        Greeting::check(&greeting, "leader")?;
        Self::open(stream, noise)
    }

    /// Of the side that was connected to, and what the other said first. A stranger gets no answer.
    pub(crate) fn accepted(stream: TcpStream, secret: &Secret) -> Result<(Self, Greeting), Error> {
        settle(&stream, PATIENCE)?;
        let mut noise = builder(secret)?.build_responder().map_err(unsealed)?;
        let greeting = read_greeting(&stream, &mut noise)?;
        // Another version is told ours all the same: it knows the secret.
        write_greeting(&stream, &mut noise, &Greeting::own(false))?;
        let greeting = Greeting::check(&greeting, "follower")?;
        Ok((Self::open(stream, noise)?, greeting))
    }

    fn open(stream: TcpStream, noise: HandshakeState) -> Result<Self, Error> {
        let noise = noise.into_transport_mode().map_err(unsealed)?;
        Ok(Self { stream, noise })
    }

    /// Sends a record.
    pub(crate) fn send(&mut self, record: &[u8]) -> Result<(), Error> {
        let mut sealed = vec![0; record.len() + 16];
        let len = self.noise.write_message(record, &mut sealed).map_err(unsealed)?;
        write_message(&self.stream, &sealed[..len])
    }

    /// Receives a record, of which at least the first byte should be there.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let sealed = read_message(&self.stream, usize::from(u16::MAX))?;
        let mut record = vec![0; sealed.len()];
        let len = self.noise.read_message(&sealed, &mut record).map_err(unsealed)?;
        record.truncate(len);
        Ok(record)
    }
}

fn builder(secret: &Secret) -> Result<Builder<'_>, Error> {
    let parameters = PROTOCOL.parse().map_err(unsealed)?;
    Builder::new(parameters).psk(0, &secret.0).map_err(unsealed)
}

fn settle(stream: &TcpStream, patience: Duration) -> Result<(), Error> {
    stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
        .and_then(|()| stream.set_nodelay(true))
        .map_err(|e| Error::os("settle", "a connection", e))
}

fn write_greeting(
    stream: &TcpStream,
    noise: &mut HandshakeState,
    greeting: &[u8],
) -> Result<(), Error> {
    let mut message = [0; MOST_GREETING];
    let len = noise.write_message(greeting, &mut message).map_err(unsealed)?;
    write_message(stream, &message[..len])
}

fn read_greeting(stream: &TcpStream, noise: &mut HandshakeState) -> Result<Vec<u8>, Error> {
    let message = read_message(stream, MOST_GREETING)?;
    let mut greeting = vec![0; MOST_GREETING];
    let len = noise.read_message(&message, &mut greeting).map_err(unsealed)?;
    greeting.truncate(len);
    Ok(greeting)
}

fn write_message(mut stream: &TcpStream, message: &[u8]) -> Result<(), Error> {
    let mut bytes = (message.len() as u16).to_be_bytes().to_vec();
    bytes.extend(message);
    stream.write_all(&bytes).map_err(|e| Error::os("write to", "the other command", e))
}

fn read_message(mut stream: &TcpStream, most: usize) -> Result<Vec<u8>, Error> {
    let failed = |e| Error::os("read from", "the other command", e);
    let mut len = [0; 2];
    stream.read_exact(&mut len).map_err(failed)?;
    let len = usize::from(u16::from_be_bytes(len));
    if len > most {
        return Err(Error::new("understand", "the other command", "it is no ipcmark"));
    }
    let mut message = vec![0; len];
    stream.read_exact(&mut message).map_err(failed)?;
    Ok(message)
}

fn unsealed(error: snow::Error) -> Error {
    Error::new("open", "what the other command sent", format!("it is sealed otherwise ({error})"))
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret([byte; 32])
    }

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn records_arrive_whole_and_cannot_be_read_on_the_way() {
        let (one, other) = streams();
        let spy = other.try_clone().unwrap();
        let answering = thread::spawn(move || Records::accepted(other, &secret(1)).unwrap());
        let mut one = Records::connected(one, &secret(1), &Greeting::own(true)).unwrap();
        let (mut other, greeting) = answering.join().unwrap();
        assert!(greeting.is_silent);
        for record in [&b""[..], b"short", &vec![7; MOST_BYTES]] {
            one.send(record).unwrap();
            let mut start = [0; 64];
            let seen = spy.peek(&mut start).unwrap();
            assert!(!start[..seen].windows(5).any(|bytes| bytes == b"short"));
            assert_eq!(other.receive().unwrap(), record);
        }
    }

    #[test]
    fn without_the_secret_nobody_learns_anything() {
        let (one, other) = streams();
        let answering = thread::spawn(move || Records::accepted(other, &secret(1)).is_err());
        let stranger =
            Records::connected(one, &secret(2), &Greeting::own(false)).err().unwrap().to_string();
        assert!(answering.join().unwrap());
        assert!(stranger.contains("the same secret"), "{stranger}");
    }

    #[test]
    fn a_changed_byte_is_seen() {
        let (one, other) = streams();
        let mut raw = one.try_clone().unwrap();
        let answering = thread::spawn(move || Records::accepted(other, &secret(1)).unwrap());
        let _one = Records::connected(one, &secret(1), &Greeting::own(true)).unwrap();
        let (mut other, _) = answering.join().unwrap();
        raw.write_all(&[0, 20]).unwrap();
        raw.write_all(&[9; 20]).unwrap();
        assert!(other.receive().is_err());
    }
}
