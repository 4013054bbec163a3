//! A star: a leader with an endpoint for each of its followers, for a transport that connects only two. A
//! publication is a send on each endpoint, one after the other; each publication starts with the next endpoint.
//!
//! A message is written once and copied into the buffer of each endpoint, as a program does that serializes once.
//! If endpoints poll, answers are taken as they come. If they sleep, a process can sleep in only one of them:
//! answers are taken in the order of the sends, and an earlier one waits for its turn.

use std::{
    collections::BTreeMap,
    os::fd::{BorrowedFd, OwnedFd},
};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_transport::{Endpoint, Error, MOST_ENDS, Rendezvous, Step, Wait};

use crate::patterns::Holding;

/// The channel to one of several peers, for an endpoint that supports only one.
pub(super) struct OnePeer<'a> {
    pub peers: &'a mut SocketRendezvous,
    pub peer: usize,
}

impl Rendezvous for OnePeer<'_> {
    fn peers(&self) -> usize {
        1
    }

    fn send(&mut self, _: usize, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.peers.send(self.peer, bytes, fds)
    }

    fn receive(&mut self, _: usize) -> Result<(Vec<u8>, Vec<OwnedFd>), Error> {
        self.peers.receive(self.peer)
    }
}

/// One endpoint for each follower.
pub(super) struct Star<E> {
    ends: Vec<E>,
    polls: bool,
    /// True if messages can be lost.
    loses: bool,
    /// The message before it is copied.
    message: Vec<u8>,
    len: usize,
    /// The first endpoint to send to.
    first: usize,
    /// The number of endpoints sent to in this publication.
    sent: usize,
    /// True if the next endpoint has loaned its buffer.
    is_lent: bool,
    /// The next endpoint to take from.
    next: usize,
    /// The endpoint that holds the message taken.
    taken: usize,
    /// The endpoints of the held messages, in order, from `recalled` on; and a bit for each endpoint.
    held: Vec<usize>,
    recalled: usize,
    is_held: u64,
}

/// `is_held` has a bit for each endpoint.
const _: () = assert!(MOST_ENDS <= u64::BITS);

impl<E: Endpoint> Star<E> {
    /// A star of these endpoints, at least one, with this wait and payload, of a transport that is reliable or not.
    pub(super) fn new(ends: Vec<E>, wait: Wait, payload: usize, reliable: bool) -> Self {
        Self {
            polls: wait == Wait::Spin,
            loses: !reliable || ends.iter().any(E::may_lose),
            held: Vec::with_capacity(ends.len()),
            recalled: 0,
            is_held: 0,
            ends,
            // Nonzero values, so that every page is already in memory.
            message: vec![0xff; payload],
            len: 0,
            first: 0,
            sent: 0,
            is_lent: false,
            next: 0,
            taken: 0,
        }
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 < self.ends.len() { at + 1 } else { 0 }
    }

    /// Takes from the next endpoint, and moves on to the one after it.
    #[inline(always)]
    fn take_next(&mut self) -> Result<Step, Error> {
        if self.is_held >> self.next & 1 == 1 {
            self.next = self.after(self.next);
            return Ok(Step::WouldBlock);
        }
        let step = self.ends[self.next].take()?;
        if step == Step::Done {
            self.taken = self.next;
        }
        // A sleeping endpoint that returns early is tried again, unless its message may never come.
        if step == Step::Done || self.polls || self.loses {
            self.next = self.after(self.next);
        }
        Ok(step)
    }
}

impl<E: Endpoint> Endpoint for Star<E> {
    #[inline(always)]
    fn pause(&self) {
        self.ends[0].pause();
    }

    #[inline(always)]
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.len = len;
        Ok(Step::Done)
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u8] {
        &mut self.message[..self.len]
    }

    #[inline(always)]
    fn publish(&mut self) -> Result<Step, Error> {
        while self.sent < self.ends.len() {
            let at = self.first + self.sent;
            let at = if at < self.ends.len() { at } else { at - self.ends.len() };
            let end = &mut self.ends[at];
            if !self.is_lent {
                if end.loan(self.len)? == Step::WouldBlock {
                    return Ok(Step::WouldBlock);
                }
                end.room().copy_from_slice(&self.message[..self.len]);
                self.is_lent = true;
            }
            if end.publish()? == Step::WouldBlock {
                return Ok(Step::WouldBlock);
            }
            self.is_lent = false;
            self.sent += 1;
        }
        (self.sent, self.next) = (0, self.first);
        self.first = self.after(self.first);
        Ok(Step::Done)
    }

    #[inline(always)]
    fn take(&mut self) -> Result<Step, Error> {
        if !self.polls {
            return self.take_next();
        }
        for _ in 0..self.ends.len() {
            if self.take_next()? == Step::Done {
                return Ok(Step::Done);
            }
        }
        Ok(Step::WouldBlock)
    }

    #[inline(always)]
    fn message(&self) -> &[u8] {
        self.ends[self.taken].message()
    }

    #[inline(always)]
    fn release(&mut self) -> Result<(), Error> {
        self.ends[self.taken].release()
    }

    fn may_lose(&self) -> bool {
        self.ends.iter().any(E::may_lose)
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        self.ends.first().map(E::configuration).unwrap_or_default()
    }

    fn parts_per_message(&self) -> Option<f64> {
        let parts: Option<Vec<f64>> = self.ends.iter().map(E::parts_per_message).collect();
        parts.map(|parts| parts.iter().sum::<f64>() / parts.len() as f64)
    }
}

impl<E: Endpoint> Holding for Star<E> {
    #[inline(always)]
    fn hold(&mut self) {
        // There is space for each endpoint, and none is taken from twice.
        self.held.push(self.taken);
        self.is_held |= 1 << self.taken;
    }

    #[inline(always)]
    fn recall(&mut self) {
        self.taken = self.held[self.recalled];
        self.is_held &= !(1 << self.taken);
        self.recalled += 1;
        if self.recalled == self.held.len() {
            self.held.clear();
            self.recalled = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::VecDeque, rc::Rc};

    use super::*;

    /// The calls of all endpoints, in order.
    type Log = Rc<RefCell<Vec<String>>>;

    /// An endpoint with messages that blocks a set number of times.
    struct Scripted {
        number: usize,
        log: Log,
        room: Vec<u8>,
        blocks: u32,
        messages: VecDeque<u8>,
        taken: [u8; 1],
    }

    impl Endpoint for Scripted {
        fn loan(&mut self, len: usize) -> Result<Step, Error> {
            self.room = vec![0; len];
            Ok(Step::Done)
        }

        fn room(&mut self) -> &mut [u8] {
            &mut self.room
        }

        fn publish(&mut self) -> Result<Step, Error> {
            if self.blocks > 0 {
                self.blocks -= 1;
                return Ok(Step::WouldBlock);
            }
            self.log.borrow_mut().push(format!("{}:{}", self.number, self.room[0]));
            Ok(Step::Done)
        }

        fn take(&mut self) -> Result<Step, Error> {
            let Some(message) = self.messages.pop_front() else { return Ok(Step::WouldBlock) };
            self.taken = [message];
            Ok(Step::Done)
        }

        fn message(&self) -> &[u8] {
            &self.taken
        }

        fn release(&mut self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn star(wait: Wait) -> (Star<Scripted>, Log) {
        let log = Log::default();
        let end = |number| Scripted {
            number,
            log: log.clone(),
            room: Vec::new(),
            blocks: 0,
            messages: VecDeque::new(),
            taken: [0],
        };
        (Star::new((0..3).map(end).collect(), wait, 64, true), log)
    }

    fn publish(star: &mut Star<Scripted>, byte: u8) -> u32 {
        assert_eq!(star.loan(16).unwrap(), Step::Done);
        star.room().fill(byte);
        let mut attempts = 1;
        while star.publish().unwrap() == Step::WouldBlock {
            attempts += 1;
        }
        attempts
    }

    #[test]
    fn each_publication_begins_with_another_end_and_reaches_each_once() {
        let (mut star, log) = star(Wait::Spin);
        star.ends[1].blocks = 2;
        assert_eq!(publish(&mut star, 7), 3, "it goes on where it stopped");
        publish(&mut star, 8);
        assert_eq!(log.borrow().join(" "), "0:7 1:7 2:7 1:8 2:8 0:8");
    }

    #[test]
    fn polled_endpoints_return_the_first_message() {
        let (mut star, _) = star(Wait::Spin);
        assert_eq!(star.take().unwrap(), Step::WouldBlock);
        star.ends[2].messages.push_back(9);
        assert_eq!(star.take().unwrap(), Step::Done);
        assert_eq!(star.message(), [9]);
    }

    #[test]
    fn sleeping_endpoints_are_awaited_in_the_order_of_the_sends() {
        let (mut star, _) = star(Wait::Block);
        publish(&mut star, 1);
        publish(&mut star, 2);
        star.ends[2].messages.push_back(9);
        assert_eq!(star.take().unwrap(), Step::WouldBlock, "end 1 was the first to be sent to");
        star.ends[1].messages.push_back(8);
        let mut taken = Vec::new();
        for _ in 0..2 {
            assert_eq!(star.take().unwrap(), Step::Done);
            taken.push(star.message()[0]);
        }
        assert_eq!(taken, [8, 9]);
    }

    #[test]
    fn nothing_is_taken_from_an_endpoint_with_a_message_set_aside() {
        let (mut star, _) = star(Wait::Spin);
        for (number, end) in star.ends.iter_mut().enumerate().skip(1) {
            end.messages.extend([10 * number as u8, 10 * number as u8 + 1]);
        }
        let mut taken = Vec::new();
        while star.take().unwrap() == Step::Done {
            taken.push(star.message()[0]);
            star.hold();
        }
        assert_eq!(taken, [10, 20], "the second messages of both wait");
        let mut recalled = Vec::new();
        for _ in 0..2 {
            star.recall();
            recalled.push(star.message()[0]);
            star.release().unwrap();
        }
        assert_eq!(recalled, taken);
        assert_eq!(star.take().unwrap(), Step::Done);
        assert_eq!(star.message(), [11]);
    }
}
