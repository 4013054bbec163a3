//! All interleavings, with `make loom`.

use loom::{cell::UnsafeCell, sync::Arc, thread};

use super::*;

#[derive(Default)]
struct Shared {
    words: [AtomicU64; 2],
    /// The room of each direction, and the travelling one.
    rooms: [UnsafeCell<usize>; 3],
}

// SAFETY: loom detects simultaneous access to one cell.
unsafe impl Sync for Shared {}

struct End<'a> {
    shared: &'a Shared,
    me: usize,
    words: PackedWords,
}

impl End<'_> {
    fn send(&mut self, message: usize) {
        while !self.words.has_room() {
            self.words.acknowledge(&self.shared.words[self.me]);
            self.words.look(&self.shared.words[1 - self.me]).unwrap();
            if !self.words.has_room() {
                thread::yield_now();
            }
        }
        let travels = self.words.holds();
        let room = if travels { 2 } else { self.me };
        // SAFETY: loom checks that no other thread uses the cell meanwhile.
        self.shared.rooms[room].with_mut(|cell| unsafe { *cell = message });
        self.words.publish(&self.shared.words[self.me], 16, travels);
    }

    fn receive(&mut self, message: usize) {
        let travels = loop {
            self.words.acknowledge(&self.shared.words[self.me]);
            self.words.look(&self.shared.words[1 - self.me]).unwrap();
            if let Some((_, travels)) = self.words.receive() {
                break travels;
            }
            thread::yield_now();
        };
        self.read(message, travels);
    }

    /// The next message, if it must be the answer to the last one.
    fn receive_answer(&mut self, message: usize) {
        let travels = loop {
            match self.words.receive_answer(&self.shared.words[1 - self.me], 1) {
                Some((_, travels)) => break travels,
                None => thread::yield_now(),
            }
        };
        self.read(message, travels);
    }

    fn read(&mut self, message: usize, travels: bool) {
        let room = if travels { 2 } else { 1 - self.me };
        // SAFETY: as above.
        let seen = self.shared.rooms[room].with(|cell| unsafe { *cell });
        assert_eq!(seen, message);
        self.words.release(travels);
    }
}

fn check(leader: fn(&mut End<'_>), follower: fn(&mut End<'_>)) {
    loom::model(move || {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            follower(&mut End { shared: &other, me: 1, words: PackedWords::new(16, false) });
        });
        leader(&mut End { shared: &shared, me: 0, words: PackedWords::new(16, true) });
        thread.join().unwrap();
    });
}

#[test]
fn ping_pong_never_touches_bytes_of_the_other_end() {
    check(
        |end| (1..=2).for_each(|n| (end.send(n), end.receive(n + 10)).1),
        |end| (1..=2).for_each(|n| (end.receive(n), end.send(n + 10)).1),
    );
}

#[test]
fn expected_answers_never_touch_bytes_of_the_other_end() {
    check(
        |end| (1..=2).for_each(|n| (end.send(n), end.receive_answer(n + 10)).1),
        |end| {
            end.receive(1);
            end.send(11);
            end.receive_answer(2);
            end.send(12);
        },
    );
}

#[test]
fn one_way_messages_never_touch_bytes_of_the_other_end() {
    check(
        |end| (1..=3).for_each(|n| end.send(n)),
        |end| {
            (1..=3).for_each(|n| end.receive(n));
            // As a `take` does that finds no further message.
            end.words.acknowledge(&end.shared.words[1]);
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
