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

/// How far a ping-pong has come in which every message is answered by one of the same length in the same room. As long as
/// it is in step, what the words will say is known before they say it.
///
/// Each step is a constant that the one before does not have to be waited for: what the processor is sure to guess costs
/// nothing, and a value that passes through memory from step to step would cost five cycles each time.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// Nothing of it, or not yet.
    Other,
    /// The answer expected has been seen,
    Seen,
    /// received,
    Received,
    /// and released: now the next message is due.
    Due,
}

/// One end's knowledge of both words, which it keeps packed: who polls compares them whole.
pub struct Ledger {
    payload: usize,
    /// Whether the travelling room is mine.
    holds: bool,
    /// Whether the last message received is released.
    released: bool,
    step: Step,
    /// The number of the last message received, in a field of its own width: compilers load a narrower one together with
    /// its neighbours, and a load of what was stored in parts waits until all of it has left for the cache.
    received: u64,
    /// My word as it stands in memory.
    mine: u64,
    /// The other end's word as last seen.
    seen: u64,
    /// What that will be if my last message is answered in step. It was found good before it comes, so that nothing is to
    /// be checked when it has come. Where nothing is expected, what was seen.
    expected: u64,
    /// My next word, if I answer that in step.
    due: u64,
}

impl Ledger {
    /// The ledger of two words of zero, for messages of at most `payload` bytes; one of the two ends
    /// holds the travelling room at first.
    pub fn new(payload: usize, holds: bool) -> Self {
        let (step, received, mine, seen, expected, due) = (Step::Other, 0, 0, 0, 0, 0);
        Self { payload, holds, released: true, step, received, mine, seen, expected, due }
    }

    /// Whether my next message is to lie in the travelling room.
    #[inline]
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// The number of the last message released: what my word will say next.
    #[inline]
    fn done(&self) -> u16 {
        (self.received as u16).wrapping_sub(u16::from(!self.released))
    }

    /// Whether the other end has done with my last message, as far as known.
    #[inline]
    pub fn has_room(&self) -> bool {
        Word::unpack(self.seen).done == Word::unpack(self.mine).sent
    }

    /// Hands a message of `len` bytes over, and with it the room of what was released, and the
    /// travelling room if it `travels` in it.
    #[inline(always)]
    pub fn publish(&mut self, mine: &AtomicU64, len: usize, travels: bool) {
        let what = Word { len: len as u32, travels, ..Word::default() }.pack() as u32;
        let in_step = self.step == Step::Due && self.due as u32 == what;
        self.store(mine, if in_step { self.due } else { self.next(len, travels) });
        if travels {
            self.holds = false;
        }
        let Word { sent, .. } = Word::unpack(self.mine);
        let answer = (self.received as u16).wrapping_add(1);
        let word = Word { len: len as u32, travels, sent, done: answer };
        self.expected = Word { sent: answer, done: sent, ..word }.pack();
        self.due = Word { sent: sent.wrapping_add(1), ..word }.pack();
        self.step = Step::Other;
    }

    /// My next word, whatever came before.
    #[cold]
    #[inline(never)]
    fn next(&self, len: usize, travels: bool) -> u64 {
        let sent = Word::unpack(self.mine).sent.wrapping_add(1);
        Word { len: len as u32, travels, sent, done: self.done() }.pack()
    }

    /// Gives the room of what was released back, where no message has carried that over yet.
    /// Whether there was something to say.
    #[inline]
    pub fn acknowledge(&mut self, mine: &AtomicU64) -> bool {
        let (word, done) = (Word::unpack(self.mine), self.done());
        let news = word.done != done;
        if news {
            self.store(mine, Word { done, ..word }.pack());
        }
        news
    }

    /// Release pairs with the acquire in `look`: who sees the word sees the message that was written
    /// before, and writes into the room only after it was read.
    #[inline]
    fn store(&mut self, mine: &AtomicU64, word: u64) {
        self.mine = word;
        mine.store(word, Ordering::Release);
    }

    /// Looks at the other end's word.
    #[inline(always)]
    pub fn look(&mut self, theirs: &AtomicU64) -> Result<(), Error> {
        // Acquire pairs with the release in `store`.
        let word = theirs.load(Ordering::Acquire);
        if word == self.seen {
            return Ok(());
        }
        self.seen = word;
        if word == self.expected {
            self.step = Step::Seen;
            return Ok(());
        }
        self.surprise(Word::unpack(word))
    }

    /// Takes in a word that was not expected, if the other end may say it now.
    #[cold]
    #[inline(never)]
    fn surprise(&mut self, theirs: Word) -> Result<(), Error> {
        (self.step, self.expected) = (Step::Other, self.seen);
        let pending = Word::unpack(self.mine).sent.wrapping_sub(theirs.done);
        let arrived = theirs.sent.wrapping_sub(self.received as u16);
        if pending > 1 || arrived > 1 {
            return Err(corrupt("number"));
        }
        if arrived == 1 && !is_length(theirs.len as usize, self.payload) {
            return Err(corrupt("length"));
        }
        if arrived == 1 && theirs.travels && self.holds {
            return Err(corrupt("place"));
        }
        Ok(())
    }

    /// Whether the other end's word still says what it said at the last look.
    pub fn nothing_new(&self, theirs: &AtomicU64) -> bool {
        theirs.load(Ordering::Relaxed) == self.seen
    }

    /// The length of the message that has arrived, as far as known, and whether it travels; from now
    /// on it is received.
    #[inline]
    pub fn receive(&mut self) -> Option<(usize, bool)> {
        let theirs = Word::unpack(self.seen);
        if u64::from(theirs.sent) == self.received {
            return None;
        }
        self.received = theirs.sent.into();
        self.released = false;
        self.advance(Step::Seen, Step::Received);
        Some((theirs.len as usize, theirs.travels))
    }

    /// Done with the message received, which `travels` or not. The next message says so, or
    /// `acknowledge`.
    #[inline]
    pub fn release(&mut self, travels: bool) {
        self.released = true;
        self.advance(Step::Received, Step::Due);
        if travels {
            self.holds = true;
        }
    }

    #[inline(always)]
    fn advance(&mut self, from: Step, to: Step) {
        if self.step == from {
            self.step = to;
        } else {
            self.fall_out_of_step();
        }
    }

    #[cold]
    #[inline(never)]
    fn fall_out_of_step(&mut self) {
        self.step = Step::Other;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
