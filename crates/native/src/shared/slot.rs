//! One word for each direction that hands a message over: who sends writes it, the other end only
//! reads it.
//!
//! The word says in one store how long the message is, the how-manieth it is, where it lies, and how
//! many messages of the other direction this end has done with. So an answer gives the room of the
//! question back without a write of its own: in a ping-pong each word is written once a message.
//!
//! A message lies in one of three rooms. Each direction has one of its own, and one *travels*: it
//! lies in the cache line of both words and belongs to one end at a time, to the leader at first.
//! An end that has it sends its next message in it, and the other end has it once it has released
//! that message. In a ping-pong every message goes this way, so that one cache line passes to and
//! fro and each process writes the line that it has just read: the processor then hands it over for
//! writing at the first read. With a line for each direction every message would take two transfers,
//! one for the reader and one to take the line away from it again.

use ipcmark_transport::Error;

use super::{
    corrupt, is_length,
    sync::{AtomicU64, Ordering},
};

/// What a word says. The numbers count up from 0 and wrap; two neighbours suffice to tell "new"
/// from "known".
#[derive(Clone, Copy, Default)]
struct Word {
    len: u32,
    travels: bool,
    sent: u16,
    done: u16,
}

/// Where the length ends: it is at most 4 MiB.
const TRAVELS: u64 = 1 << 31;

impl Word {
    #[inline]
    fn pack(self) -> u64 {
        let place = if self.travels { TRAVELS } else { 0 };
        u64::from(self.len) | place | u64::from(self.sent) << 32 | u64::from(self.done) << 48
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        let len = (word & (TRAVELS - 1)) as u32;
        let (sent, done) = ((word >> 32) as u16, (word >> 48) as u16);
        Self { len, travels: word & TRAVELS != 0, sent, done }
    }
}

/// One end's knowledge of both words.
pub struct Ledger {
    payload: usize,
    /// Whether the travelling room is mine.
    holds: bool,
    /// My word as it stands in memory.
    mine: Word,
    /// The other end's word as last seen.
    theirs: Word,
    /// The number of the last message received.
    received: u16,
    /// The number of the last message released: what my word will say next.
    done: u16,
}

impl Ledger {
    /// The ledger of two words of zero, for messages of at most `payload` bytes; one of the two ends
    /// holds the travelling room at first.
    pub fn new(payload: usize, holds: bool) -> Self {
        let (mine, theirs) = (Word::default(), Word::default());
        Self { payload, holds, mine, theirs, received: 0, done: 0 }
    }

    /// Whether my next message is to lie in the travelling room.
    #[inline]
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Whether the other end has done with my last message, as far as known.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.theirs.done == self.mine.sent
    }

    /// Hands a message of `len` bytes over, and with it the room of what was released, and the
    /// travelling room if it `travels` in it.
    #[inline]
    pub fn publish(&mut self, mine: &AtomicU64, len: usize, travels: bool) {
        let sent = self.mine.sent.wrapping_add(1);
        self.holds &= !travels;
        self.store(mine, Word { len: len as u32, travels, sent, done: self.done });
    }

    /// Gives the room of what was released back, where no message has carried that over yet.
    /// Whether there was something to say.
    #[inline]
    pub fn acknowledge(&mut self, mine: &AtomicU64) -> bool {
        let news = self.mine.done != self.done;
        if news {
            self.store(mine, Word { done: self.done, ..self.mine });
        }
        news
    }

    /// Release pairs with the acquire in `look`: who sees the word sees the message that was written
    /// before, and writes into the room only after it was read.
    #[inline]
    fn store(&mut self, mine: &AtomicU64, word: Word) {
        self.mine = word;
        mine.store(word.pack(), Ordering::Release);
    }

    /// Looks at the other end's word.
    #[inline]
    pub fn look(&mut self, theirs: &AtomicU64) -> Result<(), Error> {
        // Acquire pairs with the release in `store`.
        self.theirs = Word::unpack(theirs.load(Ordering::Acquire));
        let pending = self.mine.sent.wrapping_sub(self.theirs.done);
        let arrived = self.theirs.sent.wrapping_sub(self.received);
        if pending > 1 || arrived > 1 {
            return Err(corrupt("number"));
        }
        if arrived == 1 && !is_length(self.theirs.len as usize, self.payload) {
            return Err(corrupt("length"));
        }
        if arrived == 1 && self.theirs.travels && self.holds {
            return Err(corrupt("place"));
        }
        Ok(())
    }

    /// Whether the other end's word still says what it said at the last look.
    pub fn nothing_new(&self, theirs: &AtomicU64) -> bool {
        theirs.load(Ordering::Relaxed) == self.theirs.pack()
    }

    /// The length of the message that has arrived, as far as known, and whether it travels; from now
    /// on it is received.
    #[inline]
    pub fn receive(&mut self) -> Option<(usize, bool)> {
        if self.theirs.sent == self.received {
            return None;
        }
        self.received = self.theirs.sent;
        Some((self.theirs.len as usize, self.theirs.travels))
    }

    /// Done with the message received, which `travels` or not. The next message says so, or
    /// `acknowledge`.
    #[inline]
    pub fn release(&mut self, travels: bool) {
        self.done = self.received;
        self.holds |= travels;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gives_the_room_of_the_question_back() {
        let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut leader, mut follower) = (Ledger::new(64, true), Ledger::new(64, false));
        let wraps = if cfg!(miri) { 100 } else { 70_000 };
        for _ in 0..wraps {
            assert!(leader.has_room() && leader.holds() && !follower.holds());
            leader.publish(&one, 17, true);
            assert!(!leader.has_room() && !leader.holds());
            follower.look(&one).unwrap();
            assert_eq!(follower.receive(), Some((17, true)));
            follower.release(true);
            assert!(follower.holds());
            follower.publish(&other, 64, true);
            leader.look(&other).unwrap();
            assert_eq!(leader.receive(), Some((64, true)));
            assert_eq!(leader.receive(), None);
            leader.release(true);
        }
    }

    #[test]
    fn without_an_answer_the_room_comes_back_once() {
        let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut sender, mut receiver) = (Ledger::new(64, true), Ledger::new(64, false));
        sender.publish(&one, 16, true);
        receiver.look(&one).unwrap();
        assert_eq!(receiver.receive(), Some((16, true)));
        assert!(!receiver.acknowledge(&other), "the message is still in use");
        receiver.release(true);
        assert!(receiver.acknowledge(&other));
        assert!(!receiver.acknowledge(&other));
        assert!(!sender.nothing_new(&other));
        sender.look(&other).unwrap();
        assert!(sender.has_room() && sender.nothing_new(&other));
        assert_eq!(sender.receive(), None);
    }

    #[test]
    fn numbers_and_lengths_out_of_range_are_errors() {
        for word in [
            Word { len: 64, travels: false, sent: 2, done: 0 },
            Word { len: 64, travels: false, sent: 1, done: 1 },
            Word { len: 65, travels: false, sent: 1, done: 0 },
            Word { len: 15, travels: false, sent: 1, done: 0 },
            Word { len: u32::MAX, travels: false, sent: 1, done: 0 },
            Word { len: 64, travels: true, sent: 1, done: 0 },
        ] {
            let theirs = AtomicU64::new(word.pack());
            assert!(Ledger::new(64, true).look(&theirs).is_err());
        }
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test --release -p ipcmark-native --lib loom`: every order of events.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    use super::*;

    #[derive(Default)]
    struct Shared {
        words: [AtomicU64; 2],
        /// Each direction's own, and the one that travels.
        rooms: [UnsafeCell<usize>; 3],
    }

    // SAFETY: whether both ends touch one cell at once is what loom finds out.
    unsafe impl Sync for Shared {}

    struct End<'a> {
        shared: &'a Shared,
        me: usize,
        ledger: Ledger,
    }

    impl End<'_> {
        fn send(&mut self, message: usize) {
            while !self.ledger.has_room() {
                self.ledger.acknowledge(&self.shared.words[self.me]);
                self.ledger.look(&self.shared.words[1 - self.me]).unwrap();
                if !self.ledger.has_room() {
                    thread::yield_now();
                }
            }
            let travels = self.ledger.holds();
            let room = if travels { 2 } else { self.me };
            // SAFETY: loom checks that nobody else uses the cell meanwhile.
            self.shared.rooms[room].with_mut(|cell| unsafe { *cell = message });
            self.ledger.publish(&self.shared.words[self.me], 16, travels);
        }

        fn receive(&mut self, message: usize) {
            let travels = loop {
                self.ledger.acknowledge(&self.shared.words[self.me]);
                self.ledger.look(&self.shared.words[1 - self.me]).unwrap();
                if let Some((_, travels)) = self.ledger.receive() {
                    break travels;
                }
                thread::yield_now();
            };
            let room = if travels { 2 } else { 1 - self.me };
            // SAFETY: as above.
            let seen = self.shared.rooms[room].with(|cell| unsafe { *cell });
            assert_eq!(seen, message);
            self.ledger.release(travels);
        }
    }

    fn check(leader: fn(&mut End<'_>), follower: fn(&mut End<'_>)) {
        loom::model(move || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                follower(&mut End { shared: &other, me: 1, ledger: Ledger::new(16, false) });
            });
            leader(&mut End { shared: &shared, me: 0, ledger: Ledger::new(16, true) });
            thread.join().unwrap();
        });
    }

    #[test]
    fn to_and_fro_neither_end_touches_what_is_the_others() {
        check(
            |end| (1..=2).for_each(|n| (end.send(n), end.receive(n + 10)).1),
            |end| (1..=2).for_each(|n| (end.receive(n), end.send(n + 10)).1),
        );
    }

    #[test]
    fn one_way_neither_end_touches_what_is_the_others() {
        check(
            |end| (1..=3).for_each(|n| end.send(n)),
            |end| {
                (1..=3).for_each(|n| end.receive(n));
                // As a `take` does that finds nothing more.
                end.ledger.acknowledge(&end.shared.words[1]);
            },
        );
    }

    #[test]
    fn both_at_once_come_through() {
        let both = |end: &mut End<'_>| {
            end.send(1);
            end.receive(1);
            end.send(2);
        };
        check(both, both);
    }
}
