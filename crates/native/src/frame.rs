//! Framing, shared by all transports over a kernel queue: splits a message into parts that one
//! system call carries, and reassembles it.
//!
//! A message travels as a *frame*: its length in eight bytes, then the payload, contiguous in the
//! buffer, so that a frame that fits is sent with one call and received with one. A larger frame
//! continues where the last call stopped: a byte stream takes as many bytes as it has room for, a
//! queue of packets takes one packet. The parts need no headers, because the queue keeps their
//! order and loses none. The receiver appends each part to the one before it.

use std::collections::BTreeMap;

use ipcmark_transport::{Endpoint, Error, Settings, Step};
use nix::errno::Errno;

use crate::buffer::{ALIGNMENT, Buffer, Spares};

/// The size in bytes of the length before a payload.
pub const HEAD: usize = 8;

/// The padding before a frame that aligns its payload.
const PAD: usize = ALIGNMENT - HEAD;

/// Moves bytes of a frame through the kernel, with one system call per method call.
pub trait Link {
    /// Sends as much of the `frame` as one call can, from the byte `from` on; returns the number of
    /// bytes sent. It may overwrite the bytes before `from`, which are already sent.
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno>;

    /// Receives into `frame` from the byte `from` on; returns the number of bytes received, 0 if the
    /// other end is closed. It leaves the bytes before `from` unchanged.
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno>;

    /// The bytes that the receive buffer needs beyond the largest frame.
    fn slack(&self) -> usize {
        0
    }

    /// The bytes that it holds, if one call writes more than that by waiting within the kernel.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// The settings that the kernel applied, for the result.
    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// One end of a transport whose messages travel as frames through a [`Link`].
pub struct Framed<L> {
    link: L,
    /// The name of the link in errors.
    object: &'static str,
    /// The largest payload.
    limit: usize,
    outgoing: Buffer,
    /// Length of the message on loan.
    len: usize,
    /// The number of bytes of its frame that are sent.
    sent: usize,
    incoming: Buffer,
    /// The bytes `start..end` of the incoming frame are received and not yet released; the taken
    /// message is at their start. A byte stream may append part of the next message.
    start: usize,
    end: usize,
    /// Length of the taken message.
    taken: usize,
    /// The number of messages sent, and of the parts that carried them.
    messages: u64,
    parts: u64,
    /// Further buffers that messages will be written into and read from, if the end has several.
    sources: Spares,
    targets: Spares,
}

impl<L: Link> Framed<L> {
    /// Makes an end of an open link.
    pub fn new(link: L, object: &'static str, settings: &Settings) -> Result<Self, Error> {
        Self::with_room(link, object, settings, ALIGNMENT + settings.payload)
    }

    /// Makes an end that only receives.
    pub fn receiving(link: L, object: &'static str, settings: &Settings) -> Result<Self, Error> {
        Self::with_room(link, object, settings, 0)
    }

    /// Makes an end whose send buffers have `room` bytes.
    fn with_room(
        link: L,
        object: &'static str,
        settings: &Settings,
        room: usize,
    ) -> Result<Self, Error> {
        let incoming = ALIGNMENT + settings.payload + link.slack();
        Ok(Self {
            sources: Spares::new(room, settings)?,
            targets: Spares::new(incoming, settings)?,
            object,
            limit: settings.payload,
            outgoing: Buffer::new(room),
            len: 0,
            sent: 0,
            incoming: Buffer::new(incoming),
            link,
            start: 0,
            end: 0,
            taken: 0,
            messages: 0,
            parts: 0,
        })
    }

    /// The link, for tests of it.
    #[cfg(test)]
    pub fn link(&self) -> &L {
        &self.link
    }

    /// The link, for tests of it.
    #[cfg(test)]
    pub fn link_mut(&mut self) -> &mut L {
        &mut self.link
    }

    /// Passes the link the buffers that messages are sent from and received in. If the end has one of each, their
    /// addresses never change.
    pub fn with_buffers<R>(&mut self, see: impl FnOnce(&mut L, [&Buffer; 2]) -> R) -> R {
        see(&mut self.link, [&self.outgoing, &self.incoming])
    }

    /// The length of the message at the start of the received bytes, if it is complete.
    #[inline(always)]
    fn complete(&self) -> Result<Option<usize>, Error> {
        let received = &self.incoming[PAD + self.start..PAD + self.end];
        let Some((head, payload)) = received.split_first_chunk::<HEAD>() else { return Ok(None) };
        let len = u64::from_le_bytes(*head) as usize;
        if len > self.limit {
            return Err(self.corrupt(len));
        }
        Ok((payload.len() >= len).then_some(len))
    }

    /// Receives with one call, behind the bytes already received.
    #[inline(always)]
    fn fill(&mut self) -> Result<Step, Error> {
        if self.start > 0 {
            self.move_to_front();
        }
        match self.link.read(&mut self.incoming[PAD..], self.end) {
            Ok(0) => Err(Error::peer_gone("read from", self.object)),
            Ok(count) => {
                self.end += count;
                Ok(Step::Done)
            }
            Err(errno) => refused(errno, "read from", self.object),
        }
    }

    /// Moves the received beginning of the next message to the front, to make room behind it.
    #[cold]
    fn move_to_front(&mut self) {
        self.incoming.copy_within(PAD + self.start..PAD + self.end, PAD);
        self.end -= self.start;
        self.start = 0;
    }

    #[cold]
    fn corrupt(&self, len: usize) -> Error {
        let cause = format!("a message of {len} bytes where {} is the most", self.limit);
        Error::new("read from", self.object, cause)
    }
}

// Publishing and taking are inlined into every loop: calls of them made a message of a pipe's stream take 4 to 8 % longer.
impl<L: Link> Endpoint for Framed<L> {
    #[inline(always)]
    fn pause(&self) {}

    #[inline]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        debug_assert!(len <= self.limit);
        self.len = len;
        Ok(Step::Done)
    }

    #[inline]
    fn room(&mut self) -> &mut [u8] {
        &mut self.outgoing[ALIGNMENT..ALIGNMENT + self.len]
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        let frame = &mut self.outgoing[PAD..ALIGNMENT + self.len];
        if self.sent == 0 {
            frame[..HEAD].copy_from_slice(&(self.len as u64).to_le_bytes());
        }
        while self.sent < frame.len() {
            match self.link.write(frame, self.sent) {
                Ok(count) => {
                    self.sent += count;
                    self.parts += 1;
                }
                Err(errno) => return refused(errno, "write to", self.object),
            }
        }
        self.sent = 0;
        self.messages += 1;
        Ok(Step::Done)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        loop {
            if let Some(len) = self.complete()? {
                self.taken = len;
                return Ok(Step::Done);
            }
            if self.fill()? == Step::WouldBlock {
                return Ok(Step::WouldBlock);
            }
        }
    }

    #[inline]
    fn message(&self) -> &[u8] {
        let at = ALIGNMENT + self.start;
        &self.incoming[at..at + self.taken]
    }

    #[inline]
    fn release(&mut self) -> Result<(), Error> {
        self.start += HEAD + self.taken;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        Ok(())
    }

    fn next_source(&mut self) {
        self.sources.exchange(&mut self.outgoing);
    }

    /// Copies the received beginning of the next message into the new buffer.
    fn next_target(&mut self) {
        let Some(before) = self.targets.exchange(&mut self.incoming) else { return };
        let begun = &before[PAD + self.start..PAD + self.end];
        self.incoming[PAD..PAD + begun.len()].copy_from_slice(begun);
        self.end -= self.start;
        self.start = 0;
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.link.configuration()
    }

    fn parts_per_message(&self) -> Option<f64> {
        let calls = self.parts as f64 / self.messages.max(1) as f64;
        // A call that sleeps until the rest fits is one call, and the receiver takes the message in parts all the same.
        let fillings = self.link.capacity().map_or(1, |bytes| (HEAD + self.limit).div_ceil(bytes));
        Some(calls.max(fillings as f64))
    }
}

/// The step or error of a failed call: nothing is lost if the call must be repeated.
#[inline]
pub fn refused(errno: Errno, operation: &'static str, object: &'static str) -> Result<Step, Error> {
    match errno {
        Errno::EAGAIN | Errno::EINTR | Errno::ENOMSG => Ok(Step::WouldBlock),
        _ => Err(failed(errno, operation, object)),
    }
}

#[cold]
fn failed(errno: Errno, operation: &'static str, object: &'static str) -> Error {
    match errno {
        Errno::EPIPE | Errno::ECONNRESET | Errno::ECONNREFUSED | Errno::ENOTCONN | Errno::EIDRM => {
            Error::peer_gone(operation, object)
        }
        _ => Error::os(operation, object, errno),
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
