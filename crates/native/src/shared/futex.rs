//! Sleep and wake-up between two ends: a word in shared memory that says "asleep".
//!
//! The waking end makes a system call only if the other end sleeps. The danger is the lost wake-up:
//! the sleeper checks, finds nothing and goes to sleep, exactly while the other end stores an update
//! and sees no sleeper. Each side writes one word and then reads the other's, so each needs a full
//! fence between the two (store, then load: acquire and release do not order those); then at least
//! one of them sees the other's write.

use ipcmark_transport::Error;

use super::sync::{AtomicU32, Ordering, fence};

/// A sleeper's word, in its own cache lines: the waking end reads it after every update, and it changes
/// only when the other end goes to sleep.
#[repr(C, align(128))]
#[derive(Default)]
pub struct SleepWord {
    asleep: AtomicU32,
}

impl SleepWord {
    /// Wakes the sleeper, if there is one. Call it after storing the update.
    #[inline]
    pub fn wake_if_asleep(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Clears the word first: several wake-ups then become one, and a sleeper that has not reached the
    /// kernel yet stays awake, because it sleeps on this word.
    #[cold]
    fn wake(&self) {
        if self.asleep.swap(0, Ordering::AcqRel) != 0 {
            kernel::wake(&self.asleep);
        }
    }

    /// Sleeps until the other end wakes it, if there is still `nothing` after the word is set. It may
    /// return early, so the caller checks again.
    #[inline]
    pub fn sleep(&self, nothing: impl FnOnce() -> Result<bool, Error>) -> Result<(), Error> {
        // A swap, not a store: it is ordered after the swap in `wake` that belongs to the previous
        // sleep, which then cannot be mistaken for one that belongs to this sleep.
        self.asleep.swap(1, Ordering::AcqRel);
        // Pairs with the fence in `wake_if_asleep`.
        fence(Ordering::SeqCst);
        if nothing()? {
            kernel::wait(&self.asleep);
        }
        self.asleep.store(0, Ordering::Release);
        Ok(())
    }
}

#[cfg(not(loom))]
mod kernel {
    use std::ptr;

    use super::AtomicU32;

    /// The longest sleep, in case the other end died: 100 ms.
    static LONGEST: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };

    /// Sleeps while the word is 1. In every case (woken, too late, a signal, timeout) the caller
    /// checks for updates and calls again, so the result does not matter.
    pub(super) fn wait(word: &AtomicU32) {
        // Not FUTEX_PRIVATE_FLAG: the word is shared between processes.
        // SAFETY: the word is valid and aligned while borrowed, and so is the timeout.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, 1, &raw const LONGEST)
        };
    }

    /// Wakes the one end that may be asleep on the word.
    pub(super) fn wake(word: &AtomicU32) {
        let unused = ptr::null::<libc::timespec>();
        // SAFETY: as above; the kernel does not touch the word.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1, unused) };
    }
}

/// The kernel's part for loom: comparing and going to sleep is one step, as in the kernel. There is
/// no timeout, so a lost wake-up is a deadlock, which loom reports.
#[cfg(loom)]
mod kernel {
    use loom::sync::{Condvar, Mutex};

    use super::{AtomicU32, Ordering};

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub(super) fn wait(word: &AtomicU32) {
        let guard = QUEUE.0.lock().unwrap();
        // Reads the newest value, as the kernel does under its own lock.
        if word.fetch_or(0, Ordering::Relaxed) == 1 {
            drop(QUEUE.1.wait(guard).unwrap());
        }
    }

    pub(super) fn wake(_: &AtomicU32) {
        let _guard = QUEUE.0.lock().unwrap();
        QUEUE.1.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{sync::atomic::AtomicU64, thread};

    use super::*;

    #[test]
    fn a_sleeper_sees_every_update() {
        const UPDATES: u64 = if cfg!(miri) { 100 } else { 2000 };
        let (sleep_word, update) = (SleepWord::default(), AtomicU64::new(0));
        let (back, seen) = (SleepWord::default(), AtomicU64::new(0));
        let await_number = |sleep_word: &SleepWord, number: &AtomicU64, wanted| {
            while number.load(Ordering::Acquire) != wanted {
                sleep_word.sleep(|| Ok(number.load(Ordering::Acquire) != wanted)).unwrap();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=UPDATES {
                    await_number(&sleep_word, &update, number);
                    seen.store(number, Ordering::Release);
                    back.wake_if_asleep();
                }
            });
            for number in 1..=UPDATES {
                update.store(number, Ordering::Release);
                sleep_word.wake_if_asleep();
                await_number(&back, &seen, number);
            }
        });
    }

    #[test]
    fn a_sleep_ends_without_a_wake_up() {
        let sleep_word = SleepWord::default();
        sleep_word.sleep(|| Ok(true)).unwrap();
        assert_eq!(sleep_word.asleep.load(Ordering::Relaxed), 0);
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test --release -p ipcmark-native --lib loom`: all interleavings.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;
    use crate::shared::sync::AtomicU64;

    #[derive(Default)]
    struct Shared {
        sleep_word: SleepWord,
        update: AtomicU64,
    }

    #[test]
    fn no_wake_up_is_lost() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let waker = thread::spawn(move || {
                for number in 1..=2 {
                    other.update.store(number, Ordering::Release);
                    other.sleep_word.wake_if_asleep();
                }
            });
            let mut seen = 0;
            while seen != 2 {
                let update = || shared.update.load(Ordering::Acquire);
                shared.sleep_word.sleep(|| Ok(update() == seen)).unwrap();
                seen = update();
            }
            waker.join().unwrap();
        });
    }
}
