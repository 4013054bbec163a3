//! Orders, words and descriptors between commands on different hosts. A descriptor cannot travel, but
//! what is said on it can: each that is handed over becomes a *channel*, and at the other end a
//! descriptor of the same kind takes its place.
//!
//! A record is one byte of kind, and then
//! - a frame: how many channels, their numbers and kinds (4 + 1 bytes each), the bytes of the frame;
//! - data: the number of a channel, what was read from it at once;
//! - an end: the number of the channel that has ended.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{ErrorKind, Read, Write},
    os::fd::{AsFd, OwnedFd},
    thread,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    fcntl::OFlag,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socketpair, sockopt},
    unistd::pipe2,
};

use crate::records::{self, Records};

/// More channels than the workers of the largest session have.
const MOST_CHANNELS: usize = 256;

/// What is read from a channel at once: a whole packet, for none is longer.
const MOST_READ: usize = records::MOST_BYTES - 5;

/// Lets a frame socket end at the other host: whoever has its other half speaks to a command there.
/// A thread of its own carries everything to and fro until one side ends.
pub(crate) fn start(records: Records) -> Result<FrameSocket, Error> {
    let (ours, theirs) = FrameSocket::pair()?;
    let mut tunnel = Tunnel { local: theirs, remote: records, channels: BTreeMap::new(), next: 0 };
    thread::spawn(move || {
        // Whatever ends it, both sides see the end: sockets and channels are closed with it.
        let _ = tunnel.carry();
        tunnel.local.close();
    });
    Ok(ours)
}

struct Tunnel {
    local: FrameSocket,
    remote: Records,
    channels: BTreeMap<u32, Channel>,
    /// The number of the next channel that is handed over here.
    next: u32,
}

struct Channel {
    file: File,
    /// Nothing ever comes out of the writing end of a pipe.
    is_read: bool,
}

/// What a channel is at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Stream = 0,
    Packets = 1,
    /// The writing end of a pipe.
    Pipe = 2,
}

/// What is said between the two ends of a tunnel.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    Frame(Vec<(u32, Kind)>, Vec<u8>),
    Data(u32, Vec<u8>),
    End(u32),
}

impl Tunnel {
    fn carry(&mut self) -> Result<(), Error> {
        loop {
            let mut wanted = vec![
                PollFd::new(self.local.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.remote.stream.as_fd(), PollFlags::POLLIN),
            ];
            let numbers: Vec<u32> = self.channels.keys().copied().collect();
            for channel in self.channels.values() {
                let events = if channel.is_read { PollFlags::POLLIN } else { PollFlags::empty() };
                wanted.push(PollFd::new(channel.file.as_fd(), events));
            }
            match poll(&mut wanted, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other.map_err(|e| Error::os("wait for", "the other command", e))?,
            };
            let ready: Vec<bool> = wanted.iter().map(|fd| fd.any().unwrap_or(false)).collect();
            if ready[0] {
                self.send_frame()?;
            }
            for (number, _) in numbers.iter().zip(&ready[2..]).filter(|(_, ready)| **ready) {
                self.send_data(*number)?;
            }
            if ready[1] {
                self.deliver()?;
            }
        }
    }

    fn send_frame(&mut self) -> Result<(), Error> {
        let (bytes, fds) = self.local.receive()?;
        let mut channels = Vec::new();
        for fd in fds {
            let kind = Kind::of(&fd);
            channels.push((self.next, kind));
            self.add(self.next, fd, kind != Kind::Pipe)?;
            self.next += 1;
        }
        self.remote.send(&Record::Frame(channels, bytes).encode())
    }

    fn add(&mut self, number: u32, fd: OwnedFd, is_read: bool) -> Result<(), Error> {
        if self.channels.len() >= MOST_CHANNELS {
            return Err(Error::new("open", "a channel", "there are too many"));
        }
        self.channels.insert(number, Channel { file: fd.into(), is_read });
        Ok(())
    }

    fn send_data(&mut self, number: u32) -> Result<(), Error> {
        let Some(channel) = self.channels.get_mut(&number) else { return Ok(()) };
        let mut bytes = vec![0; MOST_READ];
        let read = if channel.is_read { channel.file.read(&mut bytes) } else { Ok(0) };
        match read {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Ok(0) | Err(_) => {
                self.channels.remove(&number);
                self.remote.send(&Record::End(number).encode())
            }
            Ok(read) => {
                bytes.truncate(read);
                self.remote.send(&Record::Data(number, bytes).encode())
            }
        }
    }

    /// Does what a record of the other side says.
    fn deliver(&mut self) -> Result<(), Error> {
        let record = self.remote.receive()?;
        let record = Record::decode(&record).ok_or_else(|| {
            Error::new("understand", "the other command", "a record makes no sense")
        })?;
        match record {
            Record::Frame(channels, bytes) => self.hand_over(&channels, &bytes),
            Record::End(number) => {
                self.channels.remove(&number);
                Ok(())
            }
            Record::Data(number, bytes) => {
                // A channel that has ended here is told to the other side by its end.
                let written = self.channels.get_mut(&number).map(|c| c.file.write_all(&bytes));
                if matches!(written, Some(Err(_))) {
                    self.channels.remove(&number);
                    return self.remote.send(&Record::End(number).encode());
                }
                Ok(())
            }
        }
    }

    fn hand_over(&mut self, channels: &[(u32, Kind)], bytes: &[u8]) -> Result<(), Error> {
        let mut theirs = Vec::new();
        for (number, kind) in channels {
            let (ours, given) = kind.pair()?;
            self.add(*number, ours, true)?;
            theirs.push(given);
        }
        let fds: Vec<_> = theirs.iter().map(AsFd::as_fd).collect();
        self.local.send(bytes, &fds)
    }
}

impl Kind {
    fn of(fd: &OwnedFd) -> Self {
        match getsockopt(fd, sockopt::SockType) {
            Ok(SockType::SeqPacket) => Kind::Packets,
            Ok(_) => Kind::Stream,
            Err(_) => Kind::Pipe,
        }
    }

    /// Two ends: the tunnel's own, and one to hand over.
    fn pair(self) -> Result<(OwnedFd, OwnedFd), Error> {
        let kind = match self {
            Kind::Stream => SockType::Stream,
            Kind::Packets => SockType::SeqPacket,
            Kind::Pipe => {
                return pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::scarce("make", "a channel", e));
            }
        };
        socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)
            .map_err(|e| Error::scarce("make", "a channel", e))
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Kind::Stream, Kind::Packets, Kind::Pipe].into_iter().find(|kind| *kind as u8 == byte)
    }
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Record::Frame(channels, frame) => {
                bytes.extend([0, channels.len() as u8]);
                for (number, kind) in channels {
                    bytes.extend(number.to_be_bytes());
                    bytes.push(*kind as u8);
                }
                bytes.extend(frame);
            }
            Record::Data(number, data) => {
                bytes.push(1);
                bytes.extend(number.to_be_bytes());
                bytes.extend(data);
            }
            Record::End(number) => {
                bytes.push(2);
                bytes.extend(number.to_be_bytes());
            }
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, mut rest) = bytes.split_first()?;
        if *kind == 0 {
            let (count, after) = rest.split_first()?;
            rest = after;
            let mut channels = Vec::new();
            for _ in 0..*count {
                let number = take_number(&mut rest)?;
                let (kind, after) = rest.split_first()?;
                channels.push((number, Kind::from_byte(*kind)?));
                rest = after;
            }
            return Some(Record::Frame(channels, rest.to_vec()));
        }
        let number = take_number(&mut rest)?;
        match kind {
            1 => Some(Record::Data(number, rest.to_vec())),
            2 if rest.is_empty() => Some(Record::End(number)),
            _ => None,
        }
    }
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::unix::net::UnixStream,
    };

    use proptest::prelude::*;

    use super::*;
    use crate::{greeting::Greeting, secret::Secret};

    fn any_record() -> impl Strategy<Value = Record> {
        let kinds = [Kind::Stream, Kind::Packets, Kind::Pipe];
        let channel = (any::<u32>(), prop::sample::select(kinds.to_vec()));
        let bytes = || prop::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            (prop::collection::vec(channel, 0..20), bytes()).prop_map(|(c, b)| Record::Frame(c, b)),
            (any::<u32>(), bytes()).prop_map(|(number, data)| Record::Data(number, data)),
            any::<u32>().prop_map(Record::End),
        ]
    }

    proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written(record in any_record()) {
            prop_assert_eq!(Record::decode(&record.encode()), Some(record));
        }

        #[test]
        fn garbage_is_no_record_or_reads_back_as_itself(
            bytes in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            if let Some(record) = Record::decode(&bytes) {
                prop_assert_eq!(record.encode(), bytes);
            }
        }

        #[test]
        fn a_record_cut_short_or_changed_harms_nobody(
            record in any_record(), cut in any::<prop::sample::Index>(), byte in any::<u8>()
        ) {
            let mut bytes = record.encode();
            let at = cut.index(bytes.len());
            bytes[at] = byte;
            let _ = Record::decode(&bytes);
            let _ = Record::decode(&bytes[..at]);
        }
    }

    /// A frame socket here, and the one that its frames come out of over there.
    fn tunnel() -> (FrameSocket, FrameSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        let secret = Secret([5; 32]);
        let key = secret.clone();
        let answering = thread::spawn(move || Records::accepted(other, &key).unwrap());
        let one = Records::connected(one, &secret, &Greeting::own(false)).unwrap();
        (start(answering.join().unwrap().0).unwrap(), start(one).unwrap())
    }

    #[test]
    fn what_is_said_on_a_descriptor_is_heard_at_the_other_end() {
        let (here, there) = tunnel();
        let (mut near, far) = UnixStream::pair().unwrap();
        let (packets, far_packets) = FrameSocket::pair().unwrap();
        let (reader, writer) = Kind::Pipe.pair().unwrap();
        here.send(b"order", &[far.as_fd(), far_packets.as_fd(), writer.as_fd()]).unwrap();
        drop((far, far_packets, writer));
        let (bytes, fds) = there.receive().unwrap();
        assert_eq!((bytes.as_slice(), fds.len()), (&b"order"[..], 3));
        let mut fds = fds.into_iter();
        let mut stream = File::from(fds.next().unwrap());
        let their_packets = FrameSocket::from(fds.next().unwrap());
        let mut pipe = File::from(fds.next().unwrap());

        near.write_all(&[1; 100_000]).unwrap();
        let mut heard = vec![0; 100_000];
        stream.read_exact(&mut heard).unwrap();
        assert!(heard.iter().all(|byte| *byte == 1));
        stream.write_all(b"answer").unwrap();
        let mut answer = [0; 6];
        near.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"answer");

        for text in [&b""[..], b"one", b"two"] {
            packets.send(text, &[]).unwrap();
        }
        for text in [&b""[..], b"one", b"two"] {
            assert_eq!(their_packets.receive().unwrap().0, text);
        }

        pipe.write_all(b"last words").unwrap();
        drop((pipe, stream, their_packets));
        let mut words = String::new();
        File::from(reader).read_to_string(&mut words).unwrap();
        assert_eq!(words, "last words");
        assert_eq!(near.read(&mut answer).unwrap(), 0, "its end is heard too");
        assert!(packets.receive().is_err());
    }

    #[test]
    fn the_end_of_one_side_is_the_end_of_the_other() {
        let (here, there) = tunnel();
        drop(here);
        assert!(there.receive().is_err());
    }
}
