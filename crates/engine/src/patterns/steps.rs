//! The steps that every loop is made of: send a message, receive one.

use std::{hint::spin_loop, time::Duration};

use ipcmark_transport::{Endpoint, Error, Step, Wait};

use super::message::{FROM_FOLLOWER, Head, TouchPolicy, VERIFY, check, write_checked};
use ipcmark_machine::clock::now_ns;

/// After this long without an answer, a message of an unreliable transport is lost.
pub(super) const LOSS_AFTER: Duration = Duration::from_millis(100);

/// How long to wait for what may never come: looks at the clock only now and then, so that an
/// answer that comes in time costs no clock reading.
pub(super) struct Patience {
    polls_a_look: u32,
    polls: u32,
    /// When the first look was.
    pub since_ns: Option<u64>,
}

impl Patience {
    /// An attempt that polls takes nanoseconds, one that sleeps takes milliseconds.
    pub(super) fn new(wait: Wait) -> Self {
        let polls_a_look = if wait == Wait::Spin { 1 << 10 } else { 1 };
        Self { polls_a_look, polls: 0, since_ns: None }
    }

    /// Counts a poll; true where this one should take a look.
    fn look(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(self.polls_a_look)
    }

    /// Whether [`LOSS_AFTER`] has gone by since the first look.
    pub(super) fn exhausted(&mut self) -> bool {
        let now = now_ns();
        let since = *self.since_ns.get_or_insert(now);
        now - since > LOSS_AFTER.as_nanos() as u64
    }

    /// How long it has been waited.
    pub(super) fn waited_ns(&self) -> u64 {
        self.since_ns.map_or(0, |since| now_ns() - since)
    }
}

/// Repeats an attempt until it is done.
///
/// The pause between two attempts is the processor's own hint for such loops, the same as in the
/// loops of the floor.
#[inline(always)]
pub(super) fn complete(mut attempt: impl FnMut() -> Result<Step, Error>) -> Result<(), Error> {
    while attempt()? == Step::WouldBlock {
        spin_loop();
    }
    Ok(())
}

/// As [`complete`], but asks `give_up` from time to time; false where that was true.
#[inline(always)]
pub(super) fn complete_unless(
    patience: &mut Patience,
    mut attempt: impl FnMut() -> Result<Step, Error>,
    mut give_up: impl FnMut(&mut Patience) -> bool,
) -> Result<bool, Error> {
    while attempt()? == Step::WouldBlock {
        if patience.look() && give_up(patience) {
            return Ok(false);
        }
        spin_loop();
    }
    Ok(true)
}

/// Sends one message of `len` bytes, touched as `T` says.
#[inline(always)]
pub(super) fn send<E: Endpoint, T: TouchPolicy>(
    end: &mut E,
    len: usize,
    head: Head,
) -> Result<(), Error> {
    complete(|| end.loan(len))?;
    T::write(head, end.room());
    complete(|| end.publish())
}

/// Sends one message of which every byte will be checked.
pub(super) fn send_checked<E: Endpoint>(
    end: &mut E,
    len: usize,
    head: Head,
    seed: u64,
) -> Result<(), Error> {
    complete(|| end.loan(len))?;
    write_checked(head, seed, end.room());
    complete(|| end.publish())
}

/// Reads the message taken as it says itself, gives its room back and returns its head.
#[inline(always)]
pub(super) fn read<E: Endpoint, T: TouchPolicy>(
    end: &mut E,
    len: usize,
    seed: u64,
) -> Result<Head, Error> {
    let message = end.message();
    let head = match Head::read(message) {
        Some(head) if message.len() == len => head,
        _ => return Err(wrong_length(message, len)),
    };
    if head.flags & VERIFY != 0 {
        check(head, seed, message)?;
    } else if !T::read(head, message) {
        return Err(corrupt(head));
    }
    end.release()?;
    Ok(head)
}

#[cold]
fn wrong_length(message: &[u8], len: usize) -> Error {
    let cause = format!("{} bytes arrived: the transport truncates or corrupts", message.len());
    Error::new("receive", format!("a message of {len} bytes"), cause)
}

#[cold]
fn corrupt(head: Head) -> Error {
    let cause = "a byte is not what was sent: the transport corrupts";
    Error::new("receive", format!("message {}", head.seq), cause)
}

/// The error for a message that is not the one expected.
#[cold]
pub(super) fn unexpected(head: Head, expected: Head) -> Error {
    let own = (head.flags ^ expected.flags) & FROM_FOLLOWER != 0;
    let cause = if own {
        "the process took its own message back: both directions share one queue".into()
    } else if head.seq <= expected.seq {
        format!("message {} came again: the transport duplicates or reorders", head.seq)
    } else {
        format!("message {} came instead: the transport loses or reorders", head.seq)
    };
    Error::new("receive", format!("message {}", expected.seq), cause)
}
