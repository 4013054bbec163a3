//! One word per direction that hands a message over: the sender writes it, the other end only
//! reads it.
//!
//! One store publishes the length, the sequence number and the room of a message, and the number of
//! the peer's messages that this end has released. So an answer gives back the room of the question
//! without a separate write: in a ping-pong, each word is written once per message.
//!
//! A message lies in one of three rooms. Each direction has its own, and one *travels*: it shares a
//! cache line with both words and belongs to one end at a time, at first to the leader. Its owner
//! sends the next message in it, and the other end owns it after releasing that message. In a
//! ping-pong every message uses it, so that a single cache line moves back and forth and each
//! process writes the line that it has just read: the processor then transfers the line for writing
//! at the first read. With one line per direction, every message would take two transfers: one for
//! the reader and one to invalidate the reader's copy again.

use ipcmark_transport::Error;

use super::{
    corrupt, is_length,
    sync::{AtomicU64, Ordering},
};

/// The content of a word. The numbers count up from 0 and wrap; two neighbours suffice to distinguish
/// new from known.
#[derive(Clone, Copy, Default)]
struct Word {
    len: u32,
    travels: bool,
    sent: u16,
    done: u16,
}

/// The bit after the length, which is at most 4 MiB.
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

/// Progress of a ping-pong in which every message is answered by one of the same length in the same room. While the
/// ends are in step, the next words are known in advance.
///
/// Each step is a constant, so that no step waits for the value of the previous one: a branch that the processor
/// predicts costs nothing, and a value that passes through memory from step to step would cost five cycles each time.
#[derive(Clone, Copy, PartialEq)]
enum ExchangeState {
    /// Not in step.
    Other,
    /// A message was published, and nothing was seen since.
    Awaited,
    /// The expected answer has been seen.
    Seen,
    /// It has been received.
    Received,
    /// It has been released: the next message is due.
    Due,
}

/// One end's copy of both words, kept packed, because polling compares whole words.
pub struct PackedWords {
    payload: usize,
    /// True if this end owns the travelling room.
    holds: bool,
    /// True if the last received message is released.
    released: bool,
    step: ExchangeState,
    /// The sequence number of the last received message, in a separate full-width field: compilers load a narrower
    /// one together with its neighbours, and a load of data that was stored in parts waits until all parts have left
    /// for the cache.
    received: u64,
    /// This end's word, as it is in memory.
    mine: u64,
    /// The last seen value of the other end's word.
    seen: u64,
    /// The next value of the other end's word, if it answers the last message in step. It was validated in advance,
    /// so that its arrival needs no checks. Equal to `seen` if nothing is expected.
    expected: u64,
    /// This end's next word, if it answers that in step.
    due: u64,
}

impl PackedWords {
    /// The state for two words of zero, for messages of at most `payload` bytes; exactly one of the two
    /// ends owns the travelling room at first.
    pub fn new(payload: usize, holds: bool) -> Self {
        let (step, received, mine, seen, expected, due) = (ExchangeState::Other, 0, 0, 0, 0, 0);
        Self { payload, holds, released: true, step, received, mine, seen, expected, due }
    }

    /// True if this end's next message goes into the travelling room.
    #[inline]
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// The sequence number of the last released message, for this end's next word.
    #[inline]
    fn done(&self) -> u16 {
        (self.received as u16).wrapping_sub(u16::from(!self.released))
    }

    /// True if the other end is known to have released this end's last message. A message that is due answers one that
    /// has said so.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.step == ExchangeState::Due
            || Word::unpack(self.seen).done == Word::unpack(self.mine).sent
    }

    /// Publishes a message of `len` bytes, gives back all released room, and hands over the travelling
    /// room if the message `travels` in it.
    #[inline(always)]
    pub fn publish(&mut self, mine: &AtomicU64, len: usize, travels: bool) {
        let what = Word { len: len as u32, travels, ..Word::default() }.pack() as u32;
        let in_step = self.step == ExchangeState::Due && self.due as u32 == what;
        self.store(mine, if in_step { self.due } else { self.next(len, travels) });
        if travels {
            self.holds = false;
        }
        let Word { sent, .. } = Word::unpack(self.mine);
        let answer = (self.received as u16).wrapping_add(1);
        let word = Word { len: len as u32, travels, sent, done: answer };
        self.expected = Word { sent: answer, done: sent, ..word }.pack();
        self.due = Word { sent: sent.wrapping_add(1), ..word }.pack();
        self.step = ExchangeState::Awaited;
    }

    /// This end's next word, in any state.
    #[cold]
    #[inline(never)]
    fn next(&self, len: usize, travels: bool) -> u64 {
        let sent = Word::unpack(self.mine).sent.wrapping_add(1);
        Word { len: len as u32, travels, sent, done: self.done() }.pack()
    }

    /// Gives back the released room, unless a message has done so already. True if the word has
    /// changed.
    #[inline]
    pub fn acknowledge(&mut self, mine: &AtomicU64) -> bool {
        let (word, done) = (Word::unpack(self.mine), self.done());
        let changed = word.done != done;
        if changed {
            self.store(mine, Word { done, ..word }.pack());
        }
        changed
    }

    /// Release pairs with the acquire in `look`: the end that sees the word sees the message written
    /// before it, and writes into a room only after it was read.
    #[inline]
    fn store(&mut self, mine: &AtomicU64, word: u64) {
        self.mine = word;
        mine.store(word, Ordering::Release);
    }

    /// True if the next message is known, should the other end answer the last one in step.
    #[inline(always)]
    pub fn awaits_answer(&self) -> bool {
        self.step == ExchangeState::Awaited
    }

    /// Checks up to `looks` times whether the other end's word has become the expected answer, and receives that: its
    /// length, and true if it travels. A check is one load and one comparison. An error in a word, and any other word, is
    /// left to [`look`](Self::look).
    #[inline(always)]
    pub fn receive_answer(&mut self, theirs: &AtomicU64, looks: u32) -> Option<(usize, bool)> {
        if !self.awaits_answer() {
            return None;
        }
        let expected = self.expected;
        // Acquire pairs with the release in `store`.
        (0..looks).find(|_| theirs.load(Ordering::Acquire) == expected)?;
        self.seen = expected;
        self.step = ExchangeState::Received;
        Some(self.received_word(Word::unpack(expected)))
    }

    /// Loads the other end's word.
    #[inline(always)]
    pub fn look(&mut self, theirs: &AtomicU64) -> Result<(), Error> {
        // Acquire pairs with the release in `store`.
        let word = theirs.load(Ordering::Acquire);
        if word == self.seen {
            return Ok(());
        }
        self.seen = word;
        if word == self.expected {
            self.step = ExchangeState::Seen;
            return Ok(());
        }
        self.accept_unexpected(Word::unpack(word))
    }

    /// Accepts an unexpected word, if it is valid in this state.
    #[cold]
    #[inline(never)]
    fn accept_unexpected(&mut self, theirs: Word) -> Result<(), Error> {
        (self.step, self.expected) = (ExchangeState::Other, self.seen);
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

    /// True if the other end's word has not changed since the last look.
    pub fn nothing_new(&self, theirs: &AtomicU64) -> bool {
        theirs.load(Ordering::Relaxed) == self.seen
    }

    /// The length of the message that is known to have arrived, and true if it travels; this call
    /// receives it.
    #[inline]
    pub fn receive(&mut self) -> Option<(usize, bool)> {
        let theirs = Word::unpack(self.seen);
        if u64::from(theirs.sent) == self.received {
            return None;
        }
        self.advance(ExchangeState::Seen, ExchangeState::Received);
        Some(self.received_word(theirs))
    }

    #[inline(always)]
    fn received_word(&mut self, theirs: Word) -> (usize, bool) {
        self.received = theirs.sent.into();
        self.released = false;
        (theirs.len as usize, theirs.travels)
    }

    /// Releases the received message, which `travels` or not. The next message or `acknowledge` tells the
    /// other end.
    #[inline]
    pub fn release(&mut self, travels: bool) {
        self.released = true;
        self.advance(ExchangeState::Received, ExchangeState::Due);
        if travels {
            self.holds = true;
        }
    }

    #[inline(always)]
    fn advance(&mut self, from: ExchangeState, to: ExchangeState) {
        if self.step == from {
            self.step = to;
        } else {
            self.stop_prediction();
        }
    }

    #[cold]
    #[inline(never)]
    fn stop_prediction(&mut self) {
        self.step = ExchangeState::Other;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;
