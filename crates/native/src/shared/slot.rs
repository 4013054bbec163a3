//! One word for each direction that hands one room to and fro: who sends writes it, the other end
//! only reads it.
//!
//! The word says in one store how long the message is, the how-manieth it is, and how many messages
//! of the other direction this end has done with. So an answer gives the room of the question back
//! without a write of its own: in a ping-pong each word is written once a message.

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
    sent: u16,
    done: u16,
}

impl Word {
    #[inline]
    fn pack(self) -> u64 {
        u64::from(self.len) | u64::from(self.sent) << 32 | u64::from(self.done) << 48
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        Self { len: word as u32, sent: (word >> 32) as u16, done: (word >> 48) as u16 }
    }
}

/// One end's knowledge of both words.
pub struct Ledger {
    payload: usize,
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
    /// The ledger of two words of zero, for messages of at most `payload` bytes.
    pub fn new(payload: usize) -> Self {
        let (mine, theirs) = (Word::default(), Word::default());
        Self { payload, mine, theirs, received: 0, done: 0 }
    }

    /// Whether the other end has done with my last message, as far as known.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.theirs.done == self.mine.sent
    }

    /// Hands a message of `len` bytes over, and with it the room of what was released.
    #[inline]
    pub fn publish(&mut self, mine: &AtomicU64, len: usize) {
        let sent = self.mine.sent.wrapping_add(1);
        self.store(mine, Word { len: len as u32, sent, done: self.done });
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
        Ok(())
    }

    /// Whether the other end's word still says what it said at the last look.
    pub fn nothing_new(&self, theirs: &AtomicU64) -> bool {
        theirs.load(Ordering::Relaxed) == self.theirs.pack()
    }

    /// The length of the message that has arrived, as far as known; from now on it is received.
    #[inline]
    pub fn receive(&mut self) -> Option<usize> {
        if self.theirs.sent == self.received {
            return None;
        }
        self.received = self.theirs.sent;
        Some(self.theirs.len as usize)
    }

    /// Done with the message received. The next message says so, or `acknowledge`.
    #[inline]
    pub fn release(&mut self) {
        self.done = self.received;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gives_the_room_of_the_question_back() {
        let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut leader, mut follower) = (Ledger::new(64), Ledger::new(64));
        for _ in 0..70_000 {
            assert!(leader.has_room());
            leader.publish(&one, 17);
            assert!(!leader.has_room());
            follower.look(&one).unwrap();
            assert_eq!(follower.receive(), Some(17));
            follower.release();
            follower.publish(&other, 64);
            leader.look(&other).unwrap();
            assert_eq!(leader.receive(), Some(64));
            assert_eq!(leader.receive(), None);
            leader.release();
        }
    }

    #[test]
    fn without_an_answer_the_room_comes_back_once() {
        let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
        let (mut sender, mut receiver) = (Ledger::new(64), Ledger::new(64));
        sender.publish(&one, 16);
        receiver.look(&one).unwrap();
        assert_eq!(receiver.receive(), Some(16));
        assert!(!receiver.acknowledge(&other), "the message is still in use");
        receiver.release();
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
            Word { len: 64, sent: 2, done: 0 },
            Word { len: 64, sent: 1, done: 1 },
            Word { len: 65, sent: 1, done: 0 },
            Word { len: 15, sent: 1, done: 0 },
            Word { len: u32::MAX, sent: 1, done: 0 },
        ] {
            let theirs = AtomicU64::new(word.pack());
            assert!(Ledger::new(64).look(&theirs).is_err());
        }
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p ipcmark-native --lib loom`: every order of events.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    use super::*;

    #[derive(Default)]
    struct Shared {
        words: [AtomicU64; 2],
        rooms: [UnsafeCell<usize>; 2],
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
            // SAFETY: loom checks that nobody else uses the cell meanwhile.
            self.shared.rooms[self.me].with_mut(|cell| unsafe { *cell = message });
            self.ledger.publish(&self.shared.words[self.me], 16);
        }

        fn receive(&mut self, message: usize) {
            loop {
                self.ledger.acknowledge(&self.shared.words[self.me]);
                self.ledger.look(&self.shared.words[1 - self.me]).unwrap();
                if self.ledger.receive().is_some() {
                    break;
                }
                thread::yield_now();
            }
            // SAFETY: as above.
            let seen = self.shared.rooms[1 - self.me].with(|cell| unsafe { *cell });
            assert_eq!(seen, message);
            self.ledger.release();
        }
    }

    fn check(leader: fn(&mut End<'_>), follower: fn(&mut End<'_>)) {
        loom::model(move || {
            let shared = Arc::new(Shared::default());
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                follower(&mut End { shared: &other, me: 1, ledger: Ledger::new(16) });
            });
            leader(&mut End { shared: &shared, me: 0, ledger: Ledger::new(16) });
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
            end.receive(2);
        };
        check(both, both);
    }
}
