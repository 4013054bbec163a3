//! Two indices that pass room back and forth between one writer and one reader.
//!
//! Both count bytes and never wrap; the bytes between them belong to the reader, the rest to the
//! writer. Each end keeps a copy of the other's index and reads the shared one only if the copy does
//! not suffice, so that a cache line moves only when its content matters.

use ipcmark_transport::Error;

use super::{
    corrupt,
    sync::{AtomicU64, Ordering},
};

/// A value in its own pair of cache lines, because processors fetch lines in pairs.
#[repr(C, align(128))]
#[derive(Default)]
pub struct CacheLines<T>(pub T);

/// The indices, as laid out in memory: each end writes one line.
#[repr(C)]
#[derive(Default)]
pub struct Indices {
    tail: CacheLines<AtomicU64>,
    head: CacheLines<AtomicU64>,
}

/// The end that fills the room.
pub struct Writer {
    capacity: u64,
    tail: u64,
    /// The last seen value of the reader's index: never ahead of the real one.
    head: u64,
}

impl Writer {
    /// The writer of fresh indices over `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity as u64, tail: 0, head: 0 }
    }

    /// True if the next `need` bytes belong to the writer.
    #[inline]
    pub fn has_room(&mut self, shared: &Indices, need: usize) -> Result<bool, Error> {
        let need = need as u64;
        if self.capacity - self.tail.wrapping_sub(self.head) >= need {
            return Ok(true);
        }
        // Acquire pairs with the release in `consume`: the reader has read the bytes before its
        // index before this end writes there again.
        let head = shared.head.0.load(Ordering::Acquire);
        let used = self.tail.wrapping_sub(head);
        if used > self.capacity {
            return Err(corrupt("index"));
        }
        self.head = head;
        Ok(self.capacity - used >= need)
    }

    /// Hands the next `bytes` over to the reader.
    #[inline]
    pub fn commit(&mut self, shared: &Indices, bytes: usize) {
        self.tail = self.tail.wrapping_add(bytes as u64);
        // Release pairs with the acquire in `available`: the end that sees the index sees the bytes before it.
        shared.tail.0.store(self.tail, Ordering::Release);
    }
}

/// The end that empties the room.
pub struct Reader {
    capacity: u64,
    head: u64,
    /// The last seen value of the writer's index: never ahead of the real one.
    tail: u64,
}

impl Reader {
    /// The reader of fresh indices over `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity as u64, head: 0, tail: 0 }
    }

    /// The number of bytes that belong to the reader; 0 only if the shared index confirms it.
    #[inline]
    pub fn available(&mut self, shared: &Indices) -> Result<usize, Error> {
        if self.tail == self.head {
            // Acquire pairs with the release in `commit`.
            let tail = shared.tail.0.load(Ordering::Acquire);
            if tail.wrapping_sub(self.head) > self.capacity {
                return Err(corrupt("index"));
            }
            self.tail = tail;
        }
        Ok(self.tail.wrapping_sub(self.head) as usize)
    }

    /// Gives the next `bytes` back to the writer.
    #[inline]
    pub fn consume(&mut self, shared: &Indices, bytes: usize) {
        self.head = self.head.wrapping_add(bytes as u64);
        // Release pairs with the acquire in `has_room`: all reading is done.
        shared.head.0.store(self.head, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn commits_become_available_and_consumed_bytes_become_room() {
        let shared = Indices::default();
        let (mut writer, mut reader) = (Writer::new(128), Reader::new(128));
        assert_eq!(reader.available(&shared).unwrap(), 0);
        assert!(writer.has_room(&shared, 128).unwrap());
        assert!(!writer.has_room(&shared, 129).unwrap());
        writer.commit(&shared, 128);
        assert!(!writer.has_room(&shared, 1).unwrap());
        assert_eq!(reader.available(&shared).unwrap(), 128);
        reader.consume(&shared, 64);
        assert_eq!(reader.available(&shared).unwrap(), 64);
        assert!(writer.has_room(&shared, 64).unwrap());
    }

    #[test]
    fn an_index_out_of_range_is_an_error() {
        let shared = Indices::default();
        let (mut writer, mut reader) = (Writer::new(128), Reader::new(128));
        shared.tail.0.store(129, Ordering::Relaxed);
        assert!(reader.available(&shared).is_err());
        shared.head.0.store(1, Ordering::Relaxed);
        assert!(writer.has_room(&shared, 129).is_err());
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
        indices: Indices,
        room: [UnsafeCell<usize>; ROOM],
    }

    // SAFETY: loom detects simultaneous access to one cell.
    unsafe impl Sync for Shared {}

    fn write(shared: &Shared) {
        let mut writer = Writer::new(ROOM);
        for message in 0..MESSAGES {
            while !writer.has_room(&shared.indices, 1).unwrap() {
                thread::yield_now();
            }
            // SAFETY: loom checks that no other thread uses the cell meanwhile.
            shared.room[message % ROOM].with_mut(|cell| unsafe { *cell = message });
            writer.commit(&shared.indices, 1);
        }
    }

    fn read(shared: &Shared) {
        let mut reader = Reader::new(ROOM);
        for message in 0..MESSAGES {
            while reader.available(&shared.indices).unwrap() == 0 {
                thread::yield_now();
            }
            // SAFETY: as above.
            let seen = shared.room[message % ROOM].with(|cell| unsafe { *cell });
            assert_eq!(seen, message);
            reader.consume(&shared.indices, 1);
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
