//! The buffers that messages are written into and read from: the number of different ones, found before the first
//! turn. Buffers that are reused stay in the caches, and a transport that cycles through a thousand buffers uses
//! other caches than one with a single slot.
//!
//! The leader's loops note the buffers' addresses; copies that the kernel or a library keeps are not counted.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    time::{Duration, Instant},
};

use ipcmark_transport::{Endpoint, Error, Step};

use crate::wire::WorkingSetReport;

/// There are no more buffers after this many messages without a new one, or after as many as there are buffers so
/// far if that is more.
const WITHOUT_NEW: usize = 8;

/// The limits of this count: messages, bytes and time. If more endpoints spin than there are processors, a round
/// trip takes a time slice.
const MOST_MESSAGES: usize = 1024;
const MOST_BYTES: usize = 32 << 20;
const LONGEST: Duration = Duration::from_millis(20);

/// The buffer addresses of one direction.
#[derive(Default)]
struct Addresses {
    seen: BTreeSet<usize>,
    /// The number of messages since the last new buffer.
    since_new: usize,
}

impl Addresses {
    fn note(&mut self, buffer: &[u8]) {
        let is_new = self.seen.insert(buffer.as_ptr() as usize);
        self.since_new = if is_new { 0 } else { self.since_new + 1 };
    }

    fn is_complete(&self) -> bool {
        self.since_new >= self.seen.len().max(WITHOUT_NEW)
    }
}

/// An endpoint that notes the buffers of its messages. One type for all transports, because its speed does not
/// matter.
pub(super) struct Noting<'a> {
    end: &'a mut dyn Endpoint,
    since: Instant,
    written: Addresses,
    /// In a cell, because a message is read through a shared reference.
    read: RefCell<Addresses>,
}

impl<'a> Noting<'a> {
    pub(super) fn new(end: &'a mut dyn Endpoint) -> Self {
        Self { end, since: Instant::now(), written: Addresses::default(), read: RefCell::default() }
    }

    /// True while new buffers may still be found, for messages of this length.
    pub(super) fn goes_on(&self, sent: usize, len: usize) -> bool {
        let most = (MOST_BYTES / len).clamp(2 * WITHOUT_NEW, MOST_MESSAGES);
        let may = sent < most && self.since.elapsed() < LONGEST;
        sent == 0 || may && !self.is_complete()
    }

    fn is_complete(&self) -> bool {
        let read = self.read.borrow();
        self.written.is_complete() && (read.seen.is_empty() || read.is_complete())
    }

    /// The result.
    pub(super) fn finish(self) -> WorkingSetReport {
        WorkingSetReport {
            written: self.written.seen.len() as u64,
            read: self.read.borrow().seen.len() as u64,
            is_complete: self.is_complete(),
        }
    }
}

impl Endpoint for Noting<'_> {
    fn pause(&self) {
        self.end.pause();
    }

    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.end.loan(len)
    }

    fn room(&mut self) -> &mut [u8] {
        let room = self.end.room();
        self.written.note(room);
        room
    }

    fn publish(&mut self) -> Result<Step, Error> {
        self.end.publish()
    }

    fn take(&mut self) -> Result<Step, Error> {
        self.end.take()
    }

    fn message(&self) -> &[u8] {
        let message = self.end.message();
        self.read.borrow_mut().note(message);
        message
    }

    fn release(&mut self) -> Result<(), Error> {
        self.end.release()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endpoint that cycles through these slots for what it sends and takes.
    struct Slots {
        slots: Vec<[u8; 16]>,
        at: usize,
    }

    impl Endpoint for Slots {
        fn loan(&mut self, _: usize) -> Result<Step, Error> {
            self.at = (self.at + 1) % self.slots.len();
            Ok(Step::Done)
        }

        fn room(&mut self) -> &mut [u8] {
            &mut self.slots[self.at]
        }

        fn publish(&mut self) -> Result<Step, Error> {
            Ok(Step::Done)
        }

        fn take(&mut self) -> Result<Step, Error> {
            Ok(Step::Done)
        }

        fn message(&self) -> &[u8] {
            &self.slots[0]
        }

        fn release(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn found(slots: usize, reads: bool) -> (WorkingSetReport, usize) {
        let mut end = Slots { slots: vec![[0; 16]; slots], at: 0 };
        let mut noting = Noting::new(&mut end);
        noting.since = Instant::now() + Duration::from_secs(3600);
        let mut sent = 0;
        while noting.goes_on(sent, 16) {
            assert_eq!(noting.loan(16).unwrap(), Step::Done);
            noting.room();
            if reads {
                noting.message();
            }
            sent += 1;
        }
        (noting.finish(), sent)
    }

    #[test]
    fn every_buffer_that_is_used_again_is_counted_once() {
        for slots in [1, 2, 9, 300] {
            let (found, sent) = found(slots, true);
            assert_eq!((found.written, found.read, found.is_complete), (slots as u64, 1, true));
            assert_eq!(sent, slots + slots.max(WITHOUT_NEW));
        }
    }

    #[test]
    fn one_message_is_looked_at_however_busy_the_machine_is() {
        let mut end = Slots { slots: vec![[0; 16]], at: 0 };
        let mut noting = Noting::new(&mut end);
        let Some(since) = noting.since.checked_sub(2 * LONGEST) else { return };
        noting.since = since;
        assert_eq!((noting.goes_on(0, 16), noting.goes_on(1, 16)), (true, false));
    }

    #[test]
    fn addresses_beyond_the_limit_give_a_lower_bound() {
        let (found, sent) = found(5000, false);
        assert_eq!((found.written, found.read, found.is_complete), (1024, 0, false));
        assert_eq!(sent, MOST_MESSAGES);
    }
}
