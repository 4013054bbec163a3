//! A ring of messages of any length between one producer and one consumer, in place: both work on
//! the very memory of the ring. No system call, no lock.
//!
//! A message is a record: a word that says its length, then, 16 bytes after that, the payload, in
//! one piece. Records begin on cache lines. Where the rest of the ring is too short for a record, a
//! word says so and the record lies at the beginning. Where an end stands within the ring is its own
//! knowledge; of the other end it only takes the index and the length, and checks both.

use std::{
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU64, Ordering},
};

use ipcmark_transport::{Error, Step};

use super::{
    corrupt,
    cursor::{Indices, Reader, Writer},
    futex::Bell,
    is_length,
};

/// Records begin at multiples of this: a cache line.
pub const LINE: usize = 64;
/// Where the payload begins in its record.
const PAYLOAD: usize = 16;
/// The word of a place where nothing follows before the end of the ring.
const NOTHING: u64 = u64::MAX;
/// The smallest ring in bytes.
const SMALLEST: usize = 64 << 10;
/// So many of the largest messages fit at least.
const MESSAGES: usize = 4;

/// What lies at the beginning of a ring's memory; all zeros is an empty ring.
#[repr(C)]
#[derive(Default)]
pub struct Header {
    indices: Indices,
    /// The consumer sleeps here until a message arrives.
    pub arrived: Bell,
    /// The producer sleeps here until room has become free.
    pub freed: Bell,
}

/// How many bytes a message of `len` bytes takes in the ring.
fn record(len: usize) -> usize {
    (PAYLOAD + len).next_multiple_of(LINE)
}

/// How many bytes the records of a ring have where nobody says so. No power of two: neither end needs
/// the remainder of a division, and with the largest payload that would double the memory.
pub fn standard(payload: usize) -> usize {
    SMALLEST.max(MESSAGES * record(payload))
}

/// The fewest bytes with which no message is ever stuck: wherever one begins, either it or what is
/// left empty before it fits.
pub fn least(payload: usize) -> usize {
    2 * record(payload)
}

/// How much memory a ring with `capacity` bytes of records takes.
pub fn size(capacity: usize) -> usize {
    size_of::<Header>() + capacity
}

/// The memory of one ring, as one end sees it.
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
        // SAFETY: valid and aligned by the contract of `new`; it holds nothing but atomics.
        unsafe { self.header.as_ref() }
    }

    /// The word of the record that begins at `at`.
    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(LINE) && at < self.capacity);
        // SAFETY: it lies within the records, is aligned, and is used atomically only: the other
        // process may be writing whatever it likes.
        unsafe { AtomicU64::from_ptr(self.records.add(at).cast().as_ptr()) }
    }

    #[inline]
    fn payload(&self, at: usize) -> NonNull<u8> {
        debug_assert!(at < self.capacity);
        // SAFETY: a record has more than `PAYLOAD` bytes.
        unsafe { self.records.add(at + PAYLOAD) }
    }

    /// Where the record after this one begins.
    #[inline]
    fn after(&self, place: Place) -> usize {
        let end = place.at + record(place.len);
        if end == self.capacity { 0 } else { end }
    }
}

/// A message in the ring.
#[derive(Clone, Copy, Default)]
struct Place {
    at: usize,
    len: usize,
    /// How far the index moves: the record, and what was left empty before it.
    advance: usize,
}

/// The end that sends.
pub struct Producer {
    memory: Memory,
    writer: Writer,
    /// Where the next record begins.
    next: usize,
    loan: Option<Place>,
}

impl Producer {
    /// The producer of the ring at `base`.
    ///
    /// # Safety
    /// `base` must be aligned to 128 bytes and have [`size`]`(capacity)` zeroed bytes that stay valid
    /// as long as this end; there is one producer and one consumer, opened with the same `capacity`, a
    /// multiple of 64 that is at least [`least`] of the longest message, and nobody else uses the
    /// memory.
    pub unsafe fn new(base: NonNull<u8>, capacity: usize) -> Self {
        // SAFETY: the caller's promise.
        let memory = unsafe { Memory::new(base, capacity) };
        Self { memory, writer: Writer::new(memory.capacity), next: 0, loan: None }
    }

    /// What lies at the beginning of the ring.
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
        self.loan = Some(Place { at, len, advance: skipped + record });
        Ok(Step::Done)
    }

    /// As `loan`, but sleeps where there is no room. It may come back early.
    pub fn sleep_until_freed(&mut self, len: usize) -> Result<Step, Error> {
        let memory = self.memory;
        let mut step = Step::WouldBlock;
        memory.header().freed.sleep(|| {
            step = self.loan(len)?;
            Ok(step == Step::WouldBlock)
        })?;
        if step == Step::Done { Ok(step) } else { self.loan(len) }
    }

    /// The room on loan; empty where none is.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        let Place { at, len, .. } = self.loan.unwrap_or_default();
        // SAFETY: `has_room` found the whole record to be this end's until `publish`, which ends
        // the loan.
        unsafe { slice::from_raw_parts_mut(self.memory.payload(at).as_ptr(), len) }
    }

    /// Hands the message on loan over.
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
    /// Where the next record begins.
    next: usize,
    taken: Option<Place>,
}

impl Consumer {
    /// The consumer of the ring at `base`, of messages of at most `payload` bytes.
    ///
    /// # Safety
    /// As for [`Producer::new`].
    pub unsafe fn new(base: NonNull<u8>, capacity: usize, payload: usize) -> Self {
        // SAFETY: the caller's promise.
        let memory = unsafe { Memory::new(base, capacity) };
        Self { memory, payload, reader: Reader::new(memory.capacity), next: 0, taken: None }
    }

    /// What lies at the beginning of the ring.
    #[inline]
    pub fn header(&self) -> &Header {
        self.memory.header()
    }

    /// Sleeps where no message is there. It may come back early.
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
        let mut place = Place { at: self.next, len: 0, advance: 0 };
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
        // The second holds by itself where the first does, unless the other end skips wrongly.
        if place.advance > available || place.at + record(place.len) > self.memory.capacity {
            return Err(corrupt("length"));
        }
        self.taken = Some(place);
        Ok(Step::Done)
    }

    /// The message taken; empty where none is.
    #[inline]
    pub fn message(&self) -> &[u8] {
        let Place { at, len, .. } = self.taken.unwrap_or_default();
        // SAFETY: `take` checked that the record lies within what the producer handed over; it is
        // this end's until `release`, which ends it.
        unsafe { slice::from_raw_parts(self.memory.payload(at).as_ptr(), len) }
    }

    /// Gives the room of the message taken back.
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
