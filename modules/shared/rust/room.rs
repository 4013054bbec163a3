// The sleep of a sender whose queue is full, until its receivers have released messages.

use std::{
    ptr,
    sync::atomic::{AtomicU32, Ordering, fence},
    time::Duration,
};

/// The sleepers of one direction, in memory that its endpoints share. Alone in a pair of cache lines, because
/// processors prefetch pairs.
#[repr(C, align(128))]
#[derive(Default)]
pub struct Room {
    sleepers: AtomicU32,
    /// A sleeper waits until this changes.
    wakes: AtomicU32,
    /// The messages that were released since the last wake, while there were sleepers.
    released: AtomicU32,
}

impl Room {
    /// For a sender: sleeps until messages were released, or for this time. Not at all if there is room by now.
    pub fn sleep(&self, longest: Duration, has_room: impl FnOnce() -> bool) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let seen = self.wakes.load(Ordering::Acquire);
        // Sequentially consistent, as in `count_released`: this end sees the room, or that one the sleeper.
        fence(Ordering::SeqCst);
        if !has_room() {
            self.wait(seen, longest);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn wait(&self, seen: u32, longest: Duration) {
        let limit = libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: longest.subsec_nanos().into(),
        };
        let (word, limit) = (self.wakes.as_ptr(), &raw const limit);
        // SAFETY: the word and the limit live during the call, which returns early if the word has changed.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, seen, limit) };
    }

    /// For a receiver, after it has released a message of a queue of `depth`. A wake costs more than a message, so that
    /// sleepers are woken once a quarter of the queue is released: one that sleeps has seen that all of it was in use.
    #[inline]
    pub fn count_released(&self, depth: u32) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake_after(depth / 4);
        }
    }

    #[cold]
    fn wake_after(&self, units: u32) {
        if self.released.fetch_add(1, Ordering::Relaxed) + 1 < units {
            return;
        }
        self.released.store(0, Ordering::Relaxed);
        self.wakes.fetch_add(1, Ordering::Release);
        let (word, all) = (self.wakes.as_ptr(), i32::MAX);
        // SAFETY: the call does not access the word.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, all, ptr::null::<()>()) };
    }
}
