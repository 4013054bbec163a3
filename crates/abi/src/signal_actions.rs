//! What signals do to this process, restored after a module was loaded.
//!
//! Some libraries install handlers while they are loaded, which print a backtrace and take locks for it: a worker that
//! gets a signal while it holds one of them waits for itself, and its row ends only with the timeout.

use std::{mem, ptr};

use nix::libc::{
    SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGQUIT, SIGSEGV, SIGTERM, c_int, sigaction,
};

/// The signals that end a process, unless it catches them.
const DEADLY: [c_int; 9] =
    [SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM];

/// The actions of the deadly signals at one moment.
pub(crate) struct SignalActions([sigaction; DEADLY.len()]);

impl SignalActions {
    /// The present ones.
    pub(crate) fn now() -> Self {
        Self(DEADLY.map(|signal| {
            // SAFETY: all zeros is a valid sigaction, which the call fills in; nothing is set.
            unsafe {
                let mut action = mem::zeroed();
                sigaction(signal, ptr::null(), &mut action);
                action
            }
        }))
    }

    /// Makes them the present ones again.
    pub(crate) fn restore(&self) {
        for (signal, action) in DEADLY.iter().zip(&self.0) {
            // SAFETY: the action was in force before, and its handler lives as long as the process.
            unsafe { sigaction(*signal, action, ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn handler(_: c_int) {}

    #[test]
    fn a_handler_that_was_installed_since_is_gone() {
        let before = SignalActions::now();
        // SAFETY: the handler does nothing.
        unsafe { nix::libc::signal(SIGFPE, handler as *const () as usize) };
        let action = |actions: &SignalActions| {
            let at = DEADLY.iter().position(|signal| *signal == SIGFPE).expect("it is deadly");
            actions.0[at].sa_sigaction
        };
        assert_eq!(action(&SignalActions::now()), handler as *const () as usize);
        before.restore();
        assert_eq!(action(&SignalActions::now()), action(&before));
    }
}
