//! A ring of messages between one producer and one consumer, in place: both work directly in the memory of the ring.
//! No system call, no lock.
//!
//! The ring consists of slots for the largest message, each a number of pairs of cache lines: a word, then the contiguous
//! payload, on lines of its own if it is longer than a line. The word says which message is there and how long it
//! is. Each end keeps its own position in the ring; from the other end it only takes the word, or the number of free
//! slots, and checks both.

use std::{ptr::NonNull, slice};

use ipcmark_transport::{Error, Step, Wait};

use super::{
    corrupt,
    cursor::{Freed, Reader, Writer},
    futex::SleepWord,
    is_length, prefetch,
    sync::AtomicU64,
};

/// The alignment of slots: two cache lines, because processors fetch lines in pairs. An end that polls a slot would
/// otherwise take a line of its neighbour from the end that fills it.
pub const PAIR: usize = 128;
/// The size of a cache line.
const LINE: usize = 64;
/// The offset of a payload on the line of its word.
const BESIDE_WORD: usize = 16;
/// The slots of a ring between ends that only spin, as far as they fit into the bytes below: with 64 slots of one pair of
/// lines, a round trip of 64 B has two speeds at random.
const SPINNING_SLOTS: usize = 32;
/// The bytes of such a ring: two of them fit into a first-level cache of 32 KiB.
const SPINNING_BYTES: usize = 8 << 10;
/// The bytes of the smallest ring of an end that may sleep: many messages arrive while it wakes up.
const SMALLEST_SLEEPING: usize = 64 << 10;
/// The number of largest messages that fit at least.
const MESSAGES: usize = 4;

/// The beginning of a ring's memory; all zeros is an empty ring.
#[repr(C)]
#[derive(Default)]
pub struct Header {
    room: Freed,
    /// The word that the consumer sleeps on until a message arrives.
    pub arrived: SleepWord,
    /// The word that the producer sleeps on until room becomes free.
    pub freed: SleepWord,
}

/// The offset of the payload in its slot. The receiver polls the line of the word, and takes it away from a sender that
/// still writes there; so a payload of more than a line begins on the next one. One of up to a line begins beside the
/// word: with 64 bytes on other lines half a round trip takes three quarters as long, but has several speeds, which last
/// for seconds.
fn offset(payload: usize) -> usize {
    if payload <= LINE { BESIDE_WORD } else { LINE }
}

/// The size of a slot for messages of up to `payload` bytes. The last line of one with several is unused, because
/// processors fetch the line after it as well: the next word, which the other end writes or polls.
fn slot(payload: usize) -> usize {
    if payload <= LINE {
        return PAIR;
    }
    let used = (offset(payload) + payload).next_multiple_of(LINE);
    (used + LINE).next_multiple_of(PAIR)
}

/// The default size of a ring's slots.
pub fn standard(payload: usize, wait: Wait) -> usize {
    let slot = slot(payload);
    let smallest = match wait {
        Wait::Spin => SPINNING_BYTES.min(SPINNING_SLOTS * slot),
        Wait::Hybrid | Wait::Block => SMALLEST_SLEEPING,
    };
    smallest.max(MESSAGES * slot)
}

/// The bytes of two slots, so that one message can be written while another is read.
pub fn least(payload: usize) -> usize {
    2 * slot(payload)
}

/// The memory size of a ring with `capacity` bytes of slots.
pub fn size(capacity: usize) -> usize {
    size_of::<Header>() + capacity
}

#[cold]
fn too_long(len: usize) -> Error {
    Error::new("write", "the ring", format!("a message of {len} bytes is longer than its slots"))
}

/// One end's view of the memory of one ring, and its position there.
struct Slots {
    header: NonNull<Header>,
    slots: NonNull<u8>,
    /// The bytes of a slot, and of what is before its payload.
    slot: usize,
    offset: usize,
    /// The bytes of all slots.
    end: usize,
    /// The start of this end's slot.
    at: usize,
}

impl Slots {
    /// # Safety
    /// As for [`Producer::new`].
    unsafe fn new(base: NonNull<u8>, capacity: usize, payload: usize) -> Self {
        // SAFETY: the caller's memory is longer than the header.
        let slots = unsafe { base.add(size_of::<Header>()) };
        let (slot, offset) = (slot(payload), offset(payload));
        Self { header: base.cast(), slots, slot, offset, end: capacity / slot * slot, at: 0 }
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: valid and aligned by the contract of `new`; it holds only atomics.
        unsafe { self.header.as_ref() }
    }

    /// The word of this end's slot.
    #[inline]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the slot lies within the memory, is aligned, and its word is only used atomically: the other process
        // may write anything at any time.
        unsafe { self.slots.add(self.at).cast().as_ref() }
    }

    #[inline]
    fn payload(&self) -> NonNull<u8> {
        // SAFETY: a slot has more than `offset` bytes.
        unsafe { self.slots.add(self.at + self.offset) }
    }

    /// Fetches the line of the word for writing, and the first one of a message of `len` bytes that is another: for up to
    /// 64 B these are all lines that the message uses.
    #[inline]
    fn fetch_for_writing(&self, len: usize) {
        let slot = self.slots.as_ptr().wrapping_add(self.at);
        prefetch::for_writing(slot);
        prefetch::for_writing(slot.wrapping_add(self.offset + len.min(LINE) - 1));
    }

    /// Moves to the next slot.
    #[inline]
    fn advance(&mut self) {
        self.at += self.slot;
        if self.at == self.end {
            self.at = 0;
        }
    }
}

/// The end that sends.
pub struct Producer {
    slots: Slots,
    writer: Writer,
    /// The length of the message on loan; 0 if there is none.
    loan: usize,
}

impl Producer {
    /// The producer of the ring at `base`.
    ///
    /// # Safety
    /// `base` must be aligned to 128 bytes and have [`size`]`(capacity)` zeroed bytes that stay valid as long as this
    /// end; there is one producer and one consumer, opened with the same `payload` and the same `capacity`, at least
    /// [`least`], and nothing else uses the memory.
    pub unsafe fn new(base: NonNull<u8>, capacity: usize, payload: usize) -> Self {
        // SAFETY: the caller's contract.
        let slots = unsafe { Slots::new(base, capacity, payload) };
        Self { writer: Writer::new(slots.end / slots.slot), slots, loan: 0 }
    }

    /// The header at the beginning of the ring.
    #[inline]
    pub fn header(&self) -> &Header {
        self.slots.header()
    }

    /// Gets room for a message of `len` bytes.
    #[inline]
    pub fn loan(&mut self, len: usize) -> Result<Step, Error> {
        if self.slots.offset + len > self.slots.slot {
            return Err(too_long(len));
        }
        if !self.writer.has_room(&self.slots.header().room)? {
            return Ok(Step::WouldBlock);
        }
        self.slots.fetch_for_writing(len);
        self.loan = len;
        Ok(Step::Done)
    }

    /// As `loan`, but sleeps if there is no room. It may return early.
    pub fn sleep_until_freed(&mut self, len: usize) -> Result<Step, Error> {
        let Self { slots, writer, .. } = self;
        let header = slots.header();
        header.freed.sleep(|| writer.has_room(&header.room).map(|has_room| !has_room))?;
        self.loan(len)
    }

    /// The room on loan; empty if there is none.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        // SAFETY: `has_room` confirmed that the whole slot belongs to this end until `publish`,
        // which ends the loan.
        unsafe { slice::from_raw_parts_mut(self.slots.payload().as_ptr(), self.loan) }
    }

    /// Publishes the message on loan.
    #[inline]
    pub fn publish(&mut self) {
        let len = std::mem::take(&mut self.loan);
        if len > 0 {
            self.writer.fill(self.slots.word(), len as u32);
            self.slots.advance();
        }
    }
}

/// The end that receives.
pub struct Consumer {
    slots: Slots,
    payload: usize,
    reader: Reader,
    /// The length of the taken message; 0 if there is none.
    taken: usize,
}

impl Consumer {
    /// The consumer of the ring at `base`, of messages of at most `payload` bytes.
    ///
    /// # Safety
    /// As for [`Producer::new`].
    pub unsafe fn new(base: NonNull<u8>, capacity: usize, payload: usize) -> Self {
        // SAFETY: the caller's contract.
        let slots = unsafe { Slots::new(base, capacity, payload) };
        Self { slots, payload, reader: Reader::default(), taken: 0 }
    }

    /// The header at the beginning of the ring.
    #[inline]
    pub fn header(&self) -> &Header {
        self.slots.header()
    }

    /// Sleeps if no message is there. It may return early.
    #[inline]
    pub fn sleep_until_arrived(&mut self) -> Result<(), Error> {
        if !self.is_empty() {
            return Ok(());
        }
        self.header().arrived.sleep(|| Ok(self.is_empty()))
    }

    fn is_empty(&self) -> bool {
        self.reader.filled(self.slots.word()).is_none()
    }

    /// Receives the next message.
    #[inline]
    pub fn take(&mut self) -> Result<Step, Error> {
        let Some(len) = self.reader.filled(self.slots.word()) else {
            return Ok(Step::WouldBlock);
        };
        let len = len as usize;
        if !is_length(len, self.payload) {
            return Err(corrupt("length"));
        }
        self.taken = len;
        Ok(Step::Done)
    }

    /// The taken message; empty if there is none.
    #[inline]
    pub fn message(&self) -> &[u8] {
        // SAFETY: `take` checked that the message lies within the slot; it belongs to this end until `release`, which
        // ends it.
        unsafe { slice::from_raw_parts(self.slots.payload().as_ptr(), self.taken) }
    }

    /// Gives back the slot of the taken message.
    #[inline]
    pub fn release(&mut self) {
        if std::mem::take(&mut self.taken) > 0 {
            self.slots.advance();
            self.reader.free(&self.slots.header().room);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
