//! The words that an end writes, accepts and refuses.

use super::*;

#[test]
fn an_answer_releases_the_room_of_the_question() {
    let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut leader, mut follower) = (PackedWords::new(64, true), PackedWords::new(64, false));
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
fn without_an_answer_the_room_is_released_once() {
    let (one, other) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut sender, mut receiver) = (PackedWords::new(64, true), PackedWords::new(64, false));
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

/// A model of `PackedWords` that computes nothing in advance.
struct ReferenceModel {
    payload: usize,
    holds: bool,
    mine: Word,
    theirs: Word,
    received: u16,
    done: u16,
}

impl ReferenceModel {
    fn publish(&mut self, len: usize, travels: bool) -> u64 {
        let sent = self.mine.sent.wrapping_add(1);
        self.holds &= !travels;
        self.mine = Word { len: len as u32, travels, sent, done: self.done };
        self.mine.pack()
    }

    fn is_good(&self, word: Word) -> bool {
        let pending = self.mine.sent.wrapping_sub(word.done);
        let arrived = word.sent.wrapping_sub(self.received);
        let good = is_length(word.len as usize, self.payload) && !(word.travels && self.holds);
        pending <= 1 && (arrived == 0 || arrived == 1 && good)
    }

    fn receive(&mut self) -> Option<(usize, bool)> {
        let new = self.theirs.sent != self.received;
        self.received = self.theirs.sent;
        new.then_some((self.theirs.len as usize, self.theirs.travels))
    }
}

/// A word that the other end might write now: often the one expected in a ping-pong, sometimes any.
fn some_word(plain: &ReferenceModel, mut random: impl FnMut(u16) -> u16) -> Word {
    let len = [plain.mine.len, 16, 64, 15, 65, u32::MAX >> 1][usize::from(random(6) * random(2))];
    let travels = if random(4) == 0 { random(2) == 0 } else { plain.mine.travels };
    let sent = plain.received.wrapping_add([1, 1, 1, 0, 2, 9][usize::from(random(6))]);
    let done = plain.mine.sent.wrapping_sub([0, 0, 0, 1, 2, u16::MAX][usize::from(random(6))]);
    Word { len, travels, sent, done }
}

#[test]
fn the_prediction_changes_no_word_and_no_check() {
    let mut state = 1_u64;
    let mut random = |below: u16| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % u64::from(below)) as u16
    };
    let (mut refused, mut in_step, mut answers) = (0, 0, 0);
    for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
        let (mine, theirs) = (AtomicU64::new(0), AtomicU64::new(0));
        let holds = random(2) == 0;
        let mut words = PackedWords::new(64, holds);
        let (word, payload) = (Word::default(), 64);
        let mut plain =
            ReferenceModel { payload, holds, mine: word, theirs: word, received: 0, done: 0 };
        // The message that is received and not yet released.
        let mut open = None;
        for _ in 0..random(40) {
            match random(4) {
                0 if plain.theirs.done == plain.mine.sent => {
                    let len = 16 + 48 * usize::from(random(5) / 4);
                    let travels = plain.holds;
                    in_step += u32::from(words.step == ExchangeState::Due);
                    words.publish(&mine, len, travels);
                    assert_eq!(mine.load(Ordering::Relaxed), plain.publish(len, travels));
                }
                1 => {
                    if let Some((_, travels)) = open.take() {
                        words.release(travels);
                        plain.done = plain.received;
                        plain.holds |= travels;
                    }
                    let changed = words.acknowledge(&mine);
                    assert_eq!(changed, plain.mine.done != plain.done);
                    plain.mine.done = plain.done;
                    assert_eq!(mine.load(Ordering::Relaxed), plain.mine.pack());
                }
                _ => {
                    if random(3) > 0 {
                        theirs.store(some_word(&plain, &mut random).pack(), Ordering::Relaxed);
                    }
                    let word = Word::unpack(theirs.load(Ordering::Relaxed));
                    let known = word.pack() == plain.theirs.pack();
                    let good = known || plain.is_good(word);
                    let answer =
                        if open.is_none() { words.receive_answer(&theirs, 1) } else { None };
                    answers += u32::from(answer.is_some());
                    assert_eq!(answer.is_some() || words.look(&theirs).is_ok(), good);
                    if !good {
                        refused += 1;
                        break;
                    }
                    plain.theirs = word;
                    if open.is_none() {
                        open = answer.or_else(|| words.receive());
                        assert_eq!(open, plain.receive());
                    }
                }
            }
            assert_eq!(words.holds(), plain.holds);
            assert_eq!(words.has_room(), plain.theirs.done == plain.mine.sent);
        }
    }
    let enough = [refused, in_step, answers].iter().all(|times| *times > 100);
    assert!(cfg!(miri) || enough, "{refused} {in_step} {answers}");
}

#[test]
fn an_answer_is_received_once_and_no_other_word_is_one() {
    let (mine, theirs) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut words = PackedWords::new(64, true);
    assert_eq!(words.receive_answer(&theirs, 3), None, "nothing was sent");
    words.publish(&mine, 16, true);
    assert_eq!(words.receive_answer(&theirs, 3), None, "nothing has come");
    let answer = Word { len: 16, travels: true, sent: 1, done: 1 };
    theirs.store(Word { len: 32, ..answer }.pack(), Ordering::Relaxed);
    assert_eq!(words.receive_answer(&theirs, 3), None, "another length");
    theirs.store(answer.pack(), Ordering::Relaxed);
    assert_eq!(words.receive_answer(&theirs, 3), Some((16, true)));
    assert_eq!(words.receive_answer(&theirs, 3), None, "received twice");
    words.look(&theirs).unwrap();
    assert_eq!(words.receive(), None, "received twice");
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
        assert!(PackedWords::new(64, true).look(&theirs).is_err());
    }
}
