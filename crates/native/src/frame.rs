//! What every transport through a queue of the kernel shares: the cut of a message into what one
//! system call carries, and its reassembly.
//!
//! A message travels as a *frame*: its length in eight bytes, then the payload, both lying one
//! after the other in the buffer, so that a frame that fits goes out with one call and comes in
//! with one. What does not fit is continued where the last call stopped: a byte stream takes as
//! many bytes as it has room for, a queue of packets one packet's worth. The parts need no heads of
//! their own, for the queue keeps their order and loses none. The receiver puts each part right
//! behind the one before it.

use std::collections::BTreeMap;

use ipcmark_transport::{Endpoint, Error, Settings, Step};
use nix::errno::Errno;

use crate::buffer::{ALIGNMENT, Buffer, Spares};

/// Bytes of the length before a payload.
pub const HEAD: usize = 8;

/// What lies before a frame, so that its payload is aligned.
const PAD: usize = ALIGNMENT - HEAD;

/// Moves bytes of a frame through the kernel, each call being one system call.
pub trait Link {
    /// Sends of the `frame` what one call can from the byte `from` on; returns how many bytes of
    /// the frame that were. It may overwrite what lies before `from`: that was sent already.
    fn write(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno>;

    /// Receives into `frame` from the byte `from` on; returns how many bytes came, 0 if the other
    /// end is closed. It leaves what lies before `from` as it was.
    fn read(&self, frame: &mut [u8], from: usize) -> Result<usize, Errno>;

    /// How many bytes the buffer to receive in must have beyond those of the largest frame.
    fn slack(&self) -> usize {
        0
    }

    /// What the kernel has made of it, for the result.
    fn configuration(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// One end of a transport whose messages travel as frames through a [`Link`].
pub struct Framed<L> {
    link: L,
    /// What the link is called in errors.
    object: &'static str,
    /// The largest payload.
    limit: usize,
    outgoing: Buffer,
    /// Length of the message on loan.
    len: usize,
    /// How many bytes of its frame are sent.
    sent: usize,
    incoming: Buffer,
    /// Received and not yet released are the bytes `start..end` of the incoming frame; the message
    /// taken is at their start. A byte stream may bring a part of the next message behind it.
    start: usize,
    end: usize,
    /// Length of the message taken.
    taken: usize,
    /// Messages that were sent, and the parts that they went out in.
    messages: u64,
    parts: u64,
    /// Where the end has several buffers, those that messages will be written into and read from.
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

    /// Makes an end whose buffers to send from have so many bytes.
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

    /// Shows the link the buffers that messages are sent from and received in. Where the end has one of each, they stay
    /// where they are.
    pub fn with_buffers<R>(&mut self, see: impl FnOnce(&mut L, [&Buffer; 2]) -> R) -> R {
        see(&mut self.link, [&self.outgoing, &self.incoming])
    }

    /// The length of the message at the start of what was received, if it is there as a whole.
    #[inline]
    fn complete(&self) -> Result<Option<usize>, Error> {
        let received = &self.incoming[PAD + self.start..PAD + self.end];
        let Some((head, payload)) = received.split_first_chunk::<HEAD>() else { return Ok(None) };
        let len = u64::from_le_bytes(*head) as usize;
        if len > self.limit {
            return Err(self.corrupt(len));
        }
        Ok((payload.len() >= len).then_some(len))
    }

    /// Receives with one call behind what is there already.
    #[inline]
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

    /// Makes room behind the beginning of a message that came with the end of the one before it.
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

impl<L: Link> Endpoint for Framed<L> {
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

    #[inline]
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

    #[inline]
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

    /// The beginning of a message that came with the end of the one before goes along.
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
        Some(self.parts as f64 / self.messages.max(1) as f64)
    }
}

/// What becomes of a call that failed: nothing is lost if it has to be made again.
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

#[cfg(test)]
mod tests;
