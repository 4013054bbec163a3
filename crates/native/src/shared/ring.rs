//! A ring of messages of any length between one producer and one consumer, in place: both work
//! directly in the memory of the ring. No system call, no lock.
//!
//! A message is a record: a word with its length, then, 16 bytes after the start, the contiguous
//! payload. Records begin on cache lines. If the rest of the ring is too short for a record, a word
//! marks it as empty and the record goes to the beginning. Each end keeps its own position in the
//! ring; from the other end it only takes the index and the length, and checks both.

use std::{
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_transport::{Error, Step, Wait};

use super::{
    corrupt,
    cursor::{Indices, Reader, Writer},
    futex::SleepWord,
    is_length,
};

/// The alignment of records: a cache line.
pub const LINE: usize = 64;
/// The offset of the payload in its record.
const PAYLOAD: usize = 16;
/// The word that marks the rest of the ring as empty.
const NOTHING: u64 = u64::MAX;
/// The bytes of the smallest ring between ends that only spin: both rings fit into a first-level cache of 32 KiB.
const SMALLEST_SPINNING: usize = 8 << 10;
/// The bytes of the smallest ring of an end that may sleep: many messages arrive while it wakes up.
const SMALLEST_SLEEPING: usize = 64 << 10;
/// The number of largest messages that fit at least.
const MESSAGES: usize = 4;

/// The beginning of a ring's memory; all zeros is an empty ring.
#[repr(C)]
#[derive(Default)]
pub struct Header {
    indices: Indices,
    /// The word that the consumer sleeps on until a message arrives.
    pub arrived: SleepWord,
    /// The word that the producer sleeps on until room becomes free.
    pub freed: SleepWord,
}

/// The size in the ring of a message of `len` bytes.
fn record(len: usize) -> usize {
    (PAYLOAD + len).next_multiple_of(LINE)
}

/// The default size of a ring's records. Not a power of two: neither end needs the remainder of a
/// division, and with the largest payload that would double the memory.
pub fn standard(payload: usize, wait: Wait) -> usize {
    let smallest = if wait == Wait::Spin { SMALLEST_SPINNING } else { SMALLEST_SLEEPING };
    smallest.max(MESSAGES * record(payload))
}

/// The fewest bytes with which no message can block forever: at any position, the record and the
/// skipped rest before it fit.
pub fn least(payload: usize) -> usize {
    2 * record(payload)
}

/// The memory size of a ring with `capacity` bytes of records.
pub fn size(capacity: usize) -> usize {
    size_of::<Header>() + capacity
}

/// One end's view of the memory of one ring.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<Header>,
    records: NonNull<u8>,
    capacity: usize,
}

impl Memory {
    /// # Safety
    /// As for [`Producer::new`].
    unsafe fn new(base: NonNull<u8>, capacity: usize) -> Self {
        debug_assert!(capacity.is_multiple_of(LINE));
        // SAFETY: the caller's memory is longer than the header.
        let records = unsafe { base.add(size_of::<Header>()) };
        Self { header: base.cast(), records, capacity }
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: valid and aligned by the contract of `new`; it holds only atomics.
        unsafe { self.header.as_ref() }
    }

    /// The word of the record that begins at `at`.
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(LINE) && at < self.capacity);
        // SAFETY: it lies within the records, is aligned, and is only used atomically: the other
        // process may write anything at any time.
        unsafe { AtomicU64::from_ptr(self.records.add(at).cast().as_ptr()) }
    }

    #[inline]
    fn payload(&self, at: usize) -> NonNull<u8> {
        debug_assert!(at < self.capacity);
        // SAFETY: a record has more than `PAYLOAD` bytes.
        unsafe { self.records.add(at + PAYLOAD) }
    }

    /// The start of the record after this one.
    #[inline]
    fn after(&self, place: RingMessage) -> usize {
        let end = place.at + record(place.len);
        if end == self.capacity { 0 } else { end }
    }
}

/// A message in the ring.
#[derive(Clone, Copy, Default)]
struct RingMessage {
    at: usize,
    len: usize,
    /// The distance that the index moves: the record, and the skipped rest before it.
    advance: usize,
}

/// The end that sends.
pub struct Producer {
    memory: Memory,
    writer: Writer,
    /// The start of the next record.
    next: usize,
    loan: Option<RingMessage>,
}

impl Producer {
    /// The producer of the ring at `base`.
    ///
    /// # Safety
    /// `base` must be aligned to 128 bytes and have [`size`]`(capacity)` zeroed bytes that stay valid
    /// as long as this end; there is one producer and one consumer, opened with the same `capacity`, a
    /// multiple of 64 that is at least [`least`] of the longest message, and nothing else uses the
    /// memory.
    pub unsafe fn new(base: NonNull<u8>, capacity: usize) -> Self {
        // SAFETY: the caller's contract.
        let memory = unsafe { Memory::new(base, capacity) };
        Self { memory, writer: Writer::new(memory.capacity), next: 0, loan: None }
    }

    /// The header at the beginning of the ring.
    #[inline]
    pub fn header(&self) -> &Header {
        self.memory.header()
    }

    /// Gets room for a message of `len` bytes.
    #[inline]
    pub fn loan(&mut self, len: usize) -> Result<Step, Error> {
        let (record, rest) = (record(len), self.memory.capacity - self.next);
        let (at, skipped) = if record <= rest { (self.next, 0) } else { (0, rest) };
        if !self.writer.has_room(&self.memory.header().indices, skipped + record)? {
            return Ok(Step::WouldBlock);
        }
        if skipped > 0 {
            self.memory.word(self.next).store(NOTHING, Ordering::Relaxed);
        }
        // Relaxed: the index that `publish` stores makes the words and the payload visible.
        self.memory.word(at).store(len as u64, Ordering::Relaxed);
        self.loan = Some(RingMessage { at, len, advance: skipped + record });
        Ok(Step::Done)
    }

    /// As `loan`, but sleeps if there is no room. It may return early.
    pub fn sleep_until_freed(&mut self, len: usize) -> Result<Step, Error> {
        let memory = self.memory;
        let mut step = Step::WouldBlock;
        memory.header().freed.sleep(|| {
            step = self.loan(len)?;
            Ok(step == Step::WouldBlock)
        })?;
        if step == Step::Done { Ok(step) } else { self.loan(len) }
    }

    /// The room on loan; empty if there is none.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        let RingMessage { at, len, .. } = self.loan.unwrap_or_default();
        // SAFETY: `has_room` confirmed that the whole record belongs to this end until `publish`,
        // which ends the loan.
        unsafe { slice::from_raw_parts_mut(self.memory.payload(at).as_ptr(), len) }
    }

    /// Publishes the message on loan.
    #[inline]
    pub fn publish(&mut self) {
        if let Some(place) = self.loan.take() {
            self.next = self.memory.after(place);
            self.writer.commit(&self.memory.header().indices, place.advance);
        }
    }
}

/// The end that receives.
pub struct Consumer {
    memory: Memory,
    payload: usize,
    reader: Reader,
    /// The start of the next record.
    next: usize,
    taken: Option<RingMessage>,
}

impl Consumer {
    /// The consumer of the ring at `base`, of messages of at most `payload` bytes.
    ///
    /// # Safety
    /// As for [`Producer::new`].
    pub unsafe fn new(base: NonNull<u8>, capacity: usize, payload: usize) -> Self {
        // SAFETY: the caller's contract.
        let memory = unsafe { Memory::new(base, capacity) };
        Self { memory, payload, reader: Reader::new(memory.capacity), next: 0, taken: None }
    }

    /// The header at the beginning of the ring.
    #[inline]
    pub fn header(&self) -> &Header {
        self.memory.header()
    }

    /// Sleeps if no message is there. It may return early.
    #[inline]
    pub fn sleep_until_arrived(&mut self) -> Result<(), Error> {
        let memory = self.memory;
        if !self.is_empty()? {
            return Ok(());
        }
        memory.header().arrived.sleep(|| self.is_empty())
    }

    fn is_empty(&mut self) -> Result<bool, Error> {
        Ok(self.reader.available(&self.memory.header().indices)? == 0)
    }

    /// Receives the next message.
    #[inline]
    pub fn take(&mut self) -> Result<Step, Error> {
        let available = self.reader.available(&self.memory.header().indices)?;
        if available == 0 {
            return Ok(Step::WouldBlock);
        }
        let mut place = RingMessage { at: self.next, len: 0, advance: 0 };
        let mut word = self.memory.word(place.at).load(Ordering::Relaxed);
        if word == NOTHING {
            (place.advance, place.at) = (self.memory.capacity - place.at, 0);
            word = self.memory.word(0).load(Ordering::Relaxed);
        }
        place.len = word as usize;
        if !is_length(place.len, self.payload) {
            return Err(corrupt("length"));
        }
        place.advance += record(place.len);
        // The first check implies the second, unless the other end skips wrongly.
        if place.advance > available || place.at + record(place.len) > self.memory.capacity {
            return Err(corrupt("length"));
        }
        self.taken = Some(place);
        Ok(Step::Done)
    }

    /// The taken message; empty if there is none.
    #[inline]
    pub fn message(&self) -> &[u8] {
        let RingMessage { at, len, .. } = self.taken.unwrap_or_default();
        // SAFETY: `take` checked that the record lies within the bytes published by the producer; it
        // belongs to this end until `release`, which ends it.
        unsafe { slice::from_raw_parts(self.memory.payload(at).as_ptr(), len) }
    }

    /// Gives back the room of the taken message.
    #[inline]
    pub fn release(&mut self) {
        if let Some(place) = self.taken.take() {
            self.next = self.memory.after(place);
            self.reader.consume(&self.memory.header().indices, place.advance);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
