//! The control channel: frames of JSON over a stream, never part of a measurement.

use std::{
    io::{ErrorKind, Read, Write},
    marker::PhantomData,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use ipcmark_transport::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Serialize, de::DeserializeOwned};

/// The longest frame that a leader sends, in bytes: a report of every block of round trips in an hour is smaller.
pub(crate) const MAX_REPORT: usize = 256 << 20;

/// The longest frame of any other sender, in bytes: requests, and a follower's replies.
pub(crate) const MAX_FRAME: usize = 1 << 20;

/// One end of a control channel that receives messages of type `In`.
pub(crate) struct Channel<In> {
    stream: UnixStream,
    inbox: Vec<u8>,
    max_frame: usize,
    name: &'static str,
    message: PhantomData<In>,
}

impl<In: DeserializeOwned> Channel<In> {
    /// A channel over `stream` that accepts frames of at most `max_frame` bytes; `name` is the peer's name in
    /// errors.
    pub(crate) fn new(stream: UnixStream, name: &'static str, max_frame: usize) -> Self {
        Self { stream, inbox: Vec::new(), max_frame, name, message: PhantomData }
    }

    /// Sends a message.
    pub(crate) fn send<Out: Serialize>(&mut self, message: &Out) -> Result<(), Error> {
        let body = serde_json::to_vec(message).map_err(|e| self.error("write", e))?;
        let mut frame = (body.len() as u32).to_le_bytes().to_vec();
        frame.extend(body);
        self.stream.write_all(&frame).map_err(|e| self.error("write to", e))
    }

    /// Receives the next message, sleeping until it arrives; `None` when the other end is closed.
    pub(crate) fn receive(&mut self) -> Result<Option<In>, Error> {
        loop {
            if let Some(message) = self.buffered()? {
                return Ok(Some(message));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// True if [`Channel::receive`] has something to read: part of a message, or the end of the stream.
    pub(crate) fn is_ready(&self) -> bool {
        let mut wanted = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        !self.inbox.is_empty() || poll(&mut wanted, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Reads what has arrived once, and sleeps if nothing has; false when the other end is closed.
    pub(crate) fn fill(&mut self) -> Result<bool, Error> {
        let mut bytes = [0; 65536];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(false),
            Ok(n) => {
                self.inbox.extend(&bytes[..n]);
                Ok(true)
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(true),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(e) => Err(self.error("read from", e)),
        }
    }

    /// The next message among the bytes read.
    pub(crate) fn buffered(&mut self) -> Result<Option<In>, Error> {
        let Some(len) = self.inbox.first_chunk::<4>() else { return Ok(None) };
        let len = u32::from_le_bytes(*len) as usize;
        if len > self.max_frame {
            return Err(self.error("read from", format!("a frame of {len} bytes is too long")));
        }
        let Some(body) = self.inbox.get(4..4 + len) else { return Ok(None) };
        let message = serde_json::from_slice(body).map_err(|e| self.error("understand", e))?;
        self.inbox.drain(..4 + len);
        Ok(Some(message))
    }

    fn error(&self, operation: &str, cause: impl std::fmt::Display) -> Error {
        Error::new(operation, format!("the control channel of the {}", self.name), cause)
    }
}

impl<In> AsFd for Channel<In> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A pair of connected streams that are closed on exec.
pub(crate) fn pair() -> Result<(UnixStream, UnixStream), Error> {
    UnixStream::pair().map_err(|e| Error::scarce("make", "a control channel", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order_and_a_hang_up_is_detected() {
        let (a, b) = pair().unwrap();
        let (mut a, mut b) =
            (Channel::<u32>::new(a, "test", 99), Channel::<Vec<u64>>::new(b, "test", MAX_FRAME));
        let long: Vec<u64> = (0..10_000).collect();
        a.send(&vec![1_u64]).unwrap();
        let sender = std::thread::spawn(move || a.send(&long));
        assert_eq!(b.receive().unwrap(), Some(vec![1]));
        assert_eq!(b.receive().unwrap().map(|list| list.len()), Some(10_000));
        sender.join().unwrap().unwrap();
        assert_eq!(b.receive().unwrap(), None);
    }

    #[test]
    fn is_ready_detects_messages_without_sleeping() {
        let (a, b) = pair().unwrap();
        let (mut a, mut b) =
            (Channel::<u32>::new(a, "test", 99), Channel::<u32>::new(b, "test", 99));
        assert!(!b.is_ready());
        a.send(&1).unwrap();
        a.send(&2).unwrap();
        assert!(b.is_ready());
        assert_eq!(b.receive().unwrap(), Some(1));
        assert!(b.is_ready(), "the second has been read with the first");
        assert_eq!(b.receive().unwrap(), Some(2));
        assert!(!b.is_ready());
        drop(a);
        assert!(b.is_ready(), "the end is told at once");
    }

    #[test]
    fn garbage_is_an_error() {
        for garbage in [&b"\xff\xff\xff\xff..."[..], b"\x03\0\0\0{x}", b"\x01\0\0\0\xff"] {
            let (mut a, b) = pair().unwrap();
            a.write_all(garbage).unwrap();
            assert!(Channel::<u32>::new(b, "test", MAX_FRAME).receive().is_err());
        }
    }
}
