//! What signals do to this process, kept while a module is loaded.
//!
//! Some libraries install handlers while they are loaded. These write a backtrace to a file in the working directory
//! and take locks for it: a worker that gets a signal while it holds one of them waits for itself, and its row ends only
//! with the timeout.

use std::{mem, ptr};

use nix::libc::{
    SIG_BLOCK, SIG_SETMASK, SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV,
    SIGTERM, c_int, pthread_sigmask, sigaction, sigaddset, sigset_t,
};

/// The signals that end a process, unless it catches them.
const DEADLY: [c_int; 9] =
    [SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM];

/// What the deadly signals do now. Until this is dropped, those that another process sends wait; then they do the same
/// as before, whatever was installed meanwhile. A fault of this thread ends the process at once.
pub(crate) struct KeptActions {
    actions: [sigaction; DEADLY.len()],
    blocked: sigset_t,
}

impl KeptActions {
    /// Keeps the present ones.
    pub(crate) fn new() -> Self {
        // SAFETY: all zeros is an empty set, which the calls fill in.
        let blocked = unsafe {
            let mut deadly: sigset_t = mem::zeroed();
            for signal in DEADLY {
                sigaddset(&mut deadly, signal);
            }
            let mut before = mem::zeroed();
            pthread_sigmask(SIG_BLOCK, &deadly, &mut before);
            before
        };
        Self { actions: DEADLY.map(action), blocked }
    }
}

impl Drop for KeptActions {
    fn drop(&mut self) {
        for (signal, action) in DEADLY.iter().zip(&self.actions) {
            // SAFETY: the action was in force before, and its handler lives as long as the process.
            unsafe { sigaction(*signal, action, ptr::null_mut()) };
        }
        // SAFETY: the set was this thread's before.
        unsafe { pthread_sigmask(SIG_SETMASK, &self.blocked, ptr::null_mut()) };
    }
}

fn action(signal: c_int) -> sigaction {
    // SAFETY: all zeros is a valid sigaction, which the call fills in; nothing is set.
    unsafe {
        let mut action = mem::zeroed();
        sigaction(signal, ptr::null(), &mut action);
        action
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use nix::libc::{raise, signal};

    use super::*;

    extern "C" fn handler(_: c_int) {}

    #[test]
    fn a_handler_that_was_installed_since_is_gone() {
        let before = action(SIGFPE).sa_sigaction;
        let kept = KeptActions::new();
        // SAFETY: the handler does nothing.
        unsafe { signal(SIGFPE, handler as *const () as usize) };
        assert_eq!(action(SIGFPE).sa_sigaction, handler as *const () as usize);
        drop(kept);
        assert_eq!(action(SIGFPE).sa_sigaction, before);
    }

    #[test]
    fn a_signal_meanwhile_meets_the_kept_handler() {
        static OLD: AtomicU32 = AtomicU32::new(0);
        static NEW: AtomicU32 = AtomicU32::new(0);
        extern "C" fn old(_: c_int) {
            OLD.fetch_add(1, Relaxed);
        }
        extern "C" fn new(_: c_int) {
            NEW.fetch_add(1, Relaxed);
        }
        // SAFETY: the handlers count only; no other test uses this signal.
        unsafe {
            let before = signal(SIGHUP, old as *const () as usize);
            let kept = KeptActions::new();
            signal(SIGHUP, new as *const () as usize);
            raise(SIGHUP);
            assert_eq!((OLD.load(Relaxed), NEW.load(Relaxed)), (0, 0));
            drop(kept);
            assert_eq!((OLD.load(Relaxed), NEW.load(Relaxed)), (1, 0));
            signal(SIGHUP, before);
        }
    }
}
