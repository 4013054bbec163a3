//! Orders, reports and descriptors between commands on different hosts. A descriptor cannot be sent to another host,
//! but its data can: each descriptor handed over becomes a *channel*, and the other end replaces it by a descriptor of
//! the same kind. The leader hands descriptors over; a follower does not.

mod channel;
mod message;

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
    thread,
    time::Duration,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use crate::noise::{EncryptedStream, MAX_PLAINTEXT_BYTES};
use channel::{DescriptorKind, Input, TunnelChannel};
use message::{DATA_HEAD, TunnelMessage};

/// More channels than a follower's worker has.
const MAX_CHANNELS: usize = 16;

/// The size of one read from a channel: a whole packet, because none is longer.
const MAX_READ: usize = MAX_PLAINTEXT_BYTES - DATA_HEAD;

/// The time limit for the thread to accept a frame.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// The side of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TunnelSide {
    Leader,
    Follower,
}

/// Connects a frame socket to the other host: a command there receives the frames sent to its peer. A separate thread,
/// one per accepted follower, forwards everything until one side ends.
pub(crate) fn start(remote: EncryptedStream, side: TunnelSide) -> Result<FrameSocket, Error> {
    let (ours, local) = FrameSocket::pair()?;
    ours.set_timeout(SEND_LIMIT)?;
    let mut tunnel = Tunnel { side, local, remote, channels: BTreeMap::new(), next: 0 };
    let carry = move || {
        // In every case both sides see the end, because the sockets and channels are closed.
        let _ = tunnel.carry();
        tunnel.local.close();
    };
    thread::Builder::new()
        .name("ipcmark-tunnel".into())
        .spawn(carry)
        .map_err(|e| Error::scarce("start", "a thread that carries a connection", e))?;
    Ok(ours)
}

struct Tunnel {
    side: TunnelSide,
    local: FrameSocket,
    remote: EncryptedStream,
    channels: BTreeMap<u32, TunnelChannel>,
    /// The number for the next channel that this side hands over.
    next: u32,
}

/// The descriptors that have become ready.
struct ReadyDescriptors {
    local: bool,
    remote: bool,
    /// The ready events of each channel.
    channels: Vec<(u32, PollFlags)>,
}

impl Tunnel {
    fn carry(&mut self) -> Result<(), Error> {
        loop {
            let Some(ready) = self.wait()? else { continue };
            if ready.local {
                self.send_frame()?;
            }
            for (number, events) in ready.channels {
                self.serve(number, events)?;
            }
            if ready.remote {
                self.deliver()?;
            }
        }
    }

    /// Waits for any descriptor; `None` if a signal interrupted.
    fn wait(&self) -> Result<Option<ReadyDescriptors>, Error> {
        let mut wanted = vec![
            PollFd::new(self.local.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.remote.stream.as_fd(), PollFlags::POLLIN),
        ];
        let channels = self.channels.values();
        wanted.extend(channels.map(|channel| PollFd::new(channel.as_fd(), channel.events())));
        match poll(&mut wanted, PollTimeout::NONE) {
            Err(Errno::EINTR) => return Ok(None),
            other => other.map_err(|e| Error::os("wait for", "the other command", e))?,
        };
        let mut events = wanted.iter().map(|fd| fd.revents().unwrap_or(PollFlags::all()));
        let mut is_ready = || events.next().is_some_and(|events| !events.is_empty());
        let (local, remote) = (is_ready(), is_ready());
        let channels = self.channels.keys().copied().zip(events);
        let channels = channels.filter(|(_, events)| !events.is_empty()).collect();
        Ok(Some(ReadyDescriptors { local, remote, channels }))
    }

    fn send_frame(&mut self) -> Result<(), Error> {
        let (bytes, fds) = self.local.receive()?;
        let mut channels = Vec::new();
        for fd in fds {
            let kind = DescriptorKind::of(&fd);
            channels.push((self.next, kind));
            self.add(self.next, fd, kind != DescriptorKind::Pipe)?;
            self.next = self.next.wrapping_add(1);
        }
        self.remote.send(&TunnelMessage::Frame(channels, bytes).encode())
    }

    fn add(&mut self, number: u32, fd: OwnedFd, is_read: bool) -> Result<(), Error> {
        let cause = match self.channels.contains_key(&number) {
            true => "there is one of its number",
            false if self.channels.len() >= MAX_CHANNELS => "there are too many",
            false => {
                self.channels.insert(number, TunnelChannel::new(fd, is_read)?);
                return Ok(());
            }
        };
        Err(Error::new("open", "a channel", cause))
    }

    /// Writes a channel's backlog, and sends its input to the other side.
    fn serve(&mut self, number: u32, events: PollFlags) -> Result<(), Error> {
        let Some(channel) = self.channels.get_mut(&number) else { return Ok(()) };
        if !channel.flush() {
            return self.close(number);
        }
        if channel.is_done() {
            self.channels.remove(&number);
            return Ok(());
        }
        if events == PollFlags::POLLOUT {
            return Ok(());
        }
        match channel.read(MAX_READ) {
            Input::Nothing => Ok(()),
            Input::Data(bytes) => self.remote.send(&TunnelMessage::Data(number, bytes).encode()),
            Input::End => self.close(number),
        }
    }

    /// Closes a channel, and notifies the other side.
    fn close(&mut self, number: u32) -> Result<(), Error> {
        self.channels.remove(&number);
        self.remote.send(&TunnelMessage::Closed(number).encode())
    }

    /// Processes a message of the other side.
    fn deliver(&mut self) -> Result<(), Error> {
        let message = self.remote.receive()?;
        let message = TunnelMessage::decode(&message)
            .ok_or_else(|| Error::new("understand", "the other command", "it is no message"))?;
        match message {
            TunnelMessage::Frame(channels, bytes) => self.hand_over(&channels, &bytes),
            TunnelMessage::Closed(number) => {
                if self.channels.get_mut(&number).is_some_and(TunnelChannel::close) {
                    self.channels.remove(&number);
                }
                Ok(())
            }
            TunnelMessage::Data(number, bytes) => {
                // Data for a channel that was already closed here is discarded.
                let Some(channel) = self.channels.get_mut(&number) else { return Ok(()) };
                if channel.write(bytes)? { Ok(()) } else { self.close(number) }
            }
        }
    }

    fn hand_over(&mut self, channels: &[(u32, DescriptorKind)], bytes: &[u8]) -> Result<(), Error> {
        if self.side == TunnelSide::Leader && !channels.is_empty() {
            return Err(Error::new("take", "a descriptor", "a follower hands none over"));
        }
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

/// A side of a tunnel without a thread: its owner calls each step.
pub(crate) struct Stepped(Tunnel);

impl Stepped {
    pub(crate) fn new(side: TunnelSide, local: FrameSocket, remote: EncryptedStream) -> Self {
        Self(Tunnel { side, local, remote, channels: BTreeMap::new(), next: 0 })
    }

    /// Processes one message of the other side, which must have arrived, and serves every channel.
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        self.0.deliver()?;
        let numbers: Vec<u32> = self.0.channels.keys().copied().collect();
        numbers.into_iter().try_for_each(|number| self.0.serve(number, PollFlags::POLLIN))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        os::unix::net::UnixStream,
    };

    use super::*;
    use crate::{
        noise::{self, Handshake},
        secret::Secret,
    };

    fn streams() -> (EncryptedStream, EncryptedStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        let secret = Secret([5; 32]);
        let mut follower = Handshake::of_follower(&secret).unwrap();
        let mut leader = Handshake::of_leader(&secret).unwrap();
        leader.read(&follower.write(b"").unwrap()).unwrap();
        follower.read(&leader.write(b"").unwrap()).unwrap();
        let (mut keys, mut others) = (follower.finish().unwrap(), leader.finish().unwrap());
        assert!(noise::is_proof(&mut others, &noise::proof(&mut keys).unwrap()));
        let leader = EncryptedStream::new(other, others).unwrap();
        (leader, EncryptedStream::new(one, keys).unwrap())
    }

    /// A frame socket of the leader, and the socket at the follower that receives its frames.
    fn tunnel() -> (FrameSocket, FrameSocket) {
        let (leader, follower) = streams();
        (start(leader, TunnelSide::Leader).unwrap(), start(follower, TunnelSide::Follower).unwrap())
    }

    #[test]
    fn bytes_sent_on_a_descriptor_arrive_at_the_other_end() {
        let (here, there) = tunnel();
        let (mut near, far) = UnixStream::pair().unwrap();
        let (packets, far_packets) = FrameSocket::pair().unwrap();
        let (reader, writer) = DescriptorKind::Pipe.pair().unwrap();
        here.send(b"order", &[far.as_fd(), far_packets.as_fd(), writer.as_fd()]).unwrap();
        drop((far, far_packets, writer));
        let (bytes, fds) = there.receive().unwrap();
        assert_eq!((bytes.as_slice(), fds.len()), (&b"order"[..], 3));
        let mut fds = fds.into_iter();
        let mut stream = File::from(fds.next().unwrap());
        let their_packets = FrameSocket::from(fds.next().unwrap());
        let mut pipe = File::from(fds.next().unwrap());

        near.write_all(&[1; 100_000]).unwrap();
        let mut received = vec![0; 100_000];
        stream.read_exact(&mut received).unwrap();
        assert!(received.iter().all(|byte| *byte == 1));
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

        pipe.write_all(b"the end").unwrap();
        drop((pipe, stream, their_packets));
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(text, "the end");
        assert_eq!(near.read(&mut answer).unwrap(), 0, "its end arrives too");
        assert!(packets.receive().is_err());
    }

    #[test]
    fn the_end_of_one_side_is_the_end_of_the_other() {
        let (here, there) = tunnel();
        drop(here);
        assert!(there.receive().is_err());
    }

    /// All data written before a channel is closed arrives, even with a slow reader.
    #[test]
    fn unread_data_of_a_slow_reader_outlives_the_channel() {
        let (here, there) = tunnel();
        let (mut near, far) = UnixStream::pair().unwrap();
        here.send(b"order", &[far.as_fd()]).unwrap();
        drop(far);
        let mut stream = File::from(there.receive().unwrap().1.remove(0));
        let writer = thread::spawn(move || {
            near.write_all(&[7; 900_000]).unwrap();
        });
        writer.join().unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), 900_000);
    }

    /// Regression: the thread slept in a write, and noticed nothing else any more.
    #[test]
    fn a_reader_that_never_reads_ends_the_tunnel() {
        let (mut leader, follower) = streams();
        let there = start(follower, TunnelSide::Follower).unwrap();
        leader
            .send(
                &TunnelMessage::Frame(vec![(0, DescriptorKind::Stream)], b"order".into()).encode(),
            )
            .unwrap();
        let (_, unread) = there.receive().unwrap();
        while leader.send(&TunnelMessage::Data(0, vec![1; MAX_READ]).encode()).is_ok() {}
        assert!(there.receive().unwrap_err().is_peer_gone());
        drop(unread);
    }

    #[test]
    fn a_follower_hands_no_descriptor_over_and_a_number_is_used_once() {
        let (leader, mut follower) = streams();
        let here = start(leader, TunnelSide::Leader).unwrap();
        follower
            .send(&TunnelMessage::Frame(vec![(0, DescriptorKind::Pipe)], Vec::new()).encode())
            .unwrap();
        assert!(here.receive().unwrap_err().is_peer_gone());

        let (mut leader, follower) = streams();
        let there = start(follower, TunnelSide::Follower).unwrap();
        let twice = vec![(7, DescriptorKind::Pipe), (7, DescriptorKind::Stream)];
        leader.send(&TunnelMessage::Frame(twice, Vec::new()).encode()).unwrap();
        assert!(there.receive().unwrap_err().is_peer_gone());
    }
}
