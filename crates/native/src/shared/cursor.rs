//! Slots that pass back and forth between one writer and one reader.
//!
//! A slot's word holds the number of the message in it, and its length: the reader finds the message and its length
//! in the cache line that the message begins in, so that a short message moves no other line. The reader counts the
//! slots that it has freed; the writer keeps a copy of that count and reads the shared one only if the copy does not
//! suffice.

use ipcmark_transport::Error;

use super::{
    corrupt,
    sync::{AtomicU64, Ordering},
};

/// A value in its own pair of cache lines, because processors fetch lines in pairs.
#[repr(C, align(128))]
#[derive(Default)]
pub struct CacheLines<T>(pub T);

/// The number of slots that the reader has freed, as laid out in memory.
#[repr(C)]
#[derive(Default)]
pub struct Freed(CacheLines<AtomicU64>);

/// The number of the message after this many, as a slot's word holds it. All slots are filled again long before it
/// returns, and no slot that is still empty, with a word of zeros, waits for the number 0.
#[inline]
fn number_after(messages: u64) -> u32 {
    (messages as u32).wrapping_add(1)
}

/// The end that fills the slots.
pub struct Writer {
    slots: u64,
    filled: u64,
    /// The last seen number of freed slots: never ahead of the real one.
    freed: u64,
}

impl Writer {
    /// The writer of this many fresh slots.
    pub fn new(slots: usize) -> Self {
        Self { slots: slots as u64, filled: 0, freed: 0 }
    }

    /// True if the next slot belongs to the writer.
    #[inline]
    pub fn has_room(&mut self, shared: &Freed) -> Result<bool, Error> {
        if self.filled.wrapping_sub(self.freed) < self.slots {
            return Ok(true);
        }
        // Acquire pairs with the release in `free`: the reader has read the slot before this end writes there again.
        let freed = shared.0.0.load(Ordering::Acquire);
        let used = self.filled.wrapping_sub(freed);
        if used > self.slots {
            return Err(corrupt("count of freed slots"));
        }
        self.freed = freed;
        Ok(used < self.slots)
    }

    /// Hands the next slot, with this word and a message of this length, over to the reader.
    #[inline]
    pub fn fill(&mut self, word: &AtomicU64, len: u32) {
        let number = number_after(self.filled);
        // Release pairs with the acquire in `filled`: the end that sees the word sees the message.
        word.store(u64::from(number) << 32 | u64::from(len), Ordering::Release);
        self.filled = self.filled.wrapping_add(1);
    }
}

/// The end that empties the slots.
#[derive(Default)]
pub struct Reader {
    freed: u64,
}

impl Reader {
    /// The length of the message in the next slot, which has this word; none if no message is there.
    #[inline]
    pub fn filled(&self, word: &AtomicU64) -> Option<u32> {
        // Acquire pairs with the release in `fill`.
        let word = word.load(Ordering::Acquire);
        ((word >> 32) as u32 == number_after(self.freed)).then_some(word as u32)
    }

    /// Gives the next slot back to the writer.
    #[inline]
    pub fn free(&mut self, shared: &Freed) {
        self.freed = self.freed.wrapping_add(1);
        // Release pairs with the acquire in `has_room`: all reading is done.
        shared.0.0.store(self.freed, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_filled_slot_is_found_once_and_becomes_room() {
        let (freed, words) = (Freed::default(), [const { AtomicU64::new(0) }; 2]);
        let (mut writer, mut reader) = (Writer::new(2), Reader::default());
        for lap in 0..3 {
            for (at, word) in words.iter().enumerate() {
                assert_eq!(reader.filled(word), None, "{lap}");
                assert!(writer.has_room(&freed).unwrap());
                writer.fill(word, 10 * lap + at as u32);
            }
            assert!(!writer.has_room(&freed).unwrap());
            for (at, word) in words.iter().enumerate() {
                assert_eq!(reader.filled(word), Some(10 * lap + at as u32));
                reader.free(&freed);
                assert!(writer.has_room(&freed).unwrap());
            }
        }
    }

    /// The number in a word returns after 2³² messages.
    #[test]
    fn numbers_wrap() {
        let (freed, words) = (Freed::default(), [const { AtomicU64::new(0) }; 2]);
        let begin = u64::from(u32::MAX) - 3;
        freed.0.0.store(begin, Ordering::Relaxed);
        let mut writer = Writer { slots: 2, filled: begin, freed: begin };
        let mut reader = Reader { freed: begin };
        for message in 0..8 {
            let word = &words[message % 2];
            assert_eq!(reader.filled(word), None, "{message}");
            assert!(writer.has_room(&freed).unwrap());
            writer.fill(word, 64);
            assert_eq!(reader.filled(word), Some(64), "{message}");
            reader.free(&freed);
        }
    }

    #[test]
    fn a_count_out_of_range_is_an_error() {
        let (freed, word) = (Freed::default(), AtomicU64::new(0));
        let mut writer = Writer::new(1);
        writer.fill(&word, 64);
        for out_of_range in [2, u64::MAX] {
            freed.0.0.store(out_of_range, Ordering::Relaxed);
            assert!(writer.has_room(&freed).is_err(), "{out_of_range}");
        }
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test --release -p ipcmark-native --lib loom`: all interleavings.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    use super::*;

    const ROOM: usize = 2;
    const MESSAGES: usize = 3;

    #[derive(Default)]
    struct Shared {
        freed: Freed,
        words: [AtomicU64; ROOM],
        room: [UnsafeCell<usize>; ROOM],
    }

    // SAFETY: loom detects simultaneous access to one cell.
    unsafe impl Sync for Shared {}

    fn write(shared: &Shared) {
        let mut writer = Writer::new(ROOM);
        for message in 0..MESSAGES {
            while !writer.has_room(&shared.freed).unwrap() {
                thread::yield_now();
            }
            // SAFETY: loom checks that no other thread uses the cell meanwhile.
            shared.room[message % ROOM].with_mut(|cell| unsafe { *cell = message });
            writer.fill(&shared.words[message % ROOM], message as u32);
        }
    }

    fn read(shared: &Shared) {
        let mut reader = Reader::default();
        for message in 0..MESSAGES {
            let len = loop {
                match reader.filled(&shared.words[message % ROOM]) {
                    Some(len) => break len,
                    None => thread::yield_now(),
                }
            };
            // SAFETY: as above.
            let seen = shared.room[message % ROOM].with(|cell| unsafe { *cell });
            assert_eq!((seen, len), (message, message as u32));
            reader.free(&shared.freed);
        }
    }

    #[test]
    fn neither_end_touches_bytes_of_the_other() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || write(&other));
            read(&shared);
            writer.join().unwrap();
        });
    }
}
