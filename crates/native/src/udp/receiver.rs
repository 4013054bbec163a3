//! The receiving half of an endpoint.

use std::os::fd::AsRawFd;

use ipcmark_transport::{Error, Settings, Step};
use nix::sys::socket::{MsgFlags, recv, send};

use super::{
    part::{self, DATA, HEAD, PartHeader},
    sockets::{OBJECT, Sockets},
};
use crate::{
    buffer::{ALIGNMENT, Buffer, Spares},
    frame::refused,
};

/// The receiving half.
pub struct Receiver {
    /// A line for the first header, then the message, then room for one more part.
    buffer: Buffer,
    /// Room for the longest part of a message, plus one byte that reveals a longer datagram.
    part: usize,
    /// The other buffers, if there are several.
    spares: Spares,
    assembly: Assembly,
    /// The number of parts that the receive buffer of the socket holds.
    window: u32,
}

impl Receiver {
    /// Creates the half of a socket with this window.
    pub fn new(settings: &Settings, window: u32) -> Result<Self, Error> {
        let part = settings.payload.min(DATA) + 1;
        let len = ALIGNMENT + settings.payload + part;
        Ok(Self {
            buffer: Buffer::new(len),
            spares: Spares::new(len, settings)?,
            part,
            assembly: Assembly { limit: settings.payload, message: 0, received: 0, total: 0 },
            window,
        })
    }

    /// The taken message.
    #[inline]
    pub fn message(&self) -> &[u8] {
        &self.buffer[ALIGNMENT..ALIGNMENT + self.assembly.total]
    }

    /// Gives back the taken message.
    #[inline]
    pub fn release(&mut self) {
        self.assembly.expect(self.assembly.message.wrapping_add(1));
    }

    /// Exchanges the buffer, which is empty between a release and a take.
    pub fn next(&mut self) {
        self.spares.exchange(&mut self.buffer);
    }

    /// Receives one datagram, so that it sleeps at most once.
    #[inline]
    pub fn take(&mut self, sockets: &Sockets) -> Result<Step, Error> {
        let at = ALIGNMENT + self.assembly.received;
        let room = at - HEAD..at + self.part;
        let mut before = [0; HEAD];
        before.copy_from_slice(&self.buffer[at - HEAD..at]);
        match recv(sockets.data.as_raw_fd(), &mut self.buffer[room], MsgFlags::empty()) {
            Ok(count) => {
                let mut head = [0; HEAD];
                head.copy_from_slice(&self.buffer[at - HEAD..at]);
                self.buffer[at - HEAD..at].copy_from_slice(&before);
                Ok(self.place(PartHeader::from_bytes(head), count, at, sockets))
            }
            Err(errno) => refused(errno, "read from", OBJECT),
        }
    }

    /// Moves a part received at the offset `at` of the buffer to its place in the message.
    #[inline]
    fn place(&mut self, head: PartHeader, count: usize, at: usize, sockets: &Sockets) -> Step {
        if !self.assembly.accept(head, count) {
            return Step::WouldBlock;
        }
        let belongs = ALIGNMENT + head.index as usize * DATA;
        if at != belongs {
            self.buffer.copy_within(at..at + head.len(), belongs);
        }
        if self.assembly.is_complete() {
            return Step::Done;
        }
        if part::count(self.assembly.total) > self.window {
            self.give_credit(head, sockets);
        }
        Step::WouldBlock
    }

    /// Reports the number of received parts to the sender after each half of a window. If the report is
    /// lost, the next one includes it.
    fn give_credit(&self, last: PartHeader, sockets: &Sockets) {
        let count = last.index + 1;
        if count.is_multiple_of(part::half(self.window)) {
            let credit = PartHeader { index: count, ..last }.to_bytes();
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            let _ = send(sockets.credit.as_raw_fd(), &credit, flags);
        }
    }
}

/// The state of the incoming message.
#[derive(Debug, PartialEq)]
struct Assembly {
    /// The largest payload.
    limit: usize,
    /// The sequence number of the incoming message, or of the next one.
    message: u32,
    /// The number of its first bytes that have arrived.
    received: usize,
    /// Its length, after a part of it has arrived.
    total: usize,
}

impl Assembly {
    /// Waits for this message and discards the one before.
    fn expect(&mut self, message: u32) {
        self.message = message;
        self.received = 0;
        self.total = 0;
    }

    #[inline]
    fn is_complete(&self) -> bool {
        self.received == self.total
    }

    /// Accepts a datagram of `count` bytes if it is the next part of a message without missing parts. A
    /// part of a newer message ends the wait for the rest of an older one; a duplicate or out-of-order
    /// part counts as lost, and so does its message.
    #[inline]
    fn accept(&mut self, head: PartHeader, count: usize) -> bool {
        let whole = head.len() > 0 && count == HEAD + head.len();
        let newer = head.message.wrapping_sub(self.message) as i32;
        if !whole || head.total as usize > self.limit || newer < 0 {
            return false;
        }
        if newer > 0 {
            self.expect(head.message);
        }
        let fits = self.received == 0 || self.total == head.total as usize;
        if !fits || head.index as usize * DATA != self.received {
            self.expect(self.message);
            return false;
        }
        self.total = head.total as usize;
        self.received += head.len();
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The parts of messages of these lengths.
    fn parts(lengths: &[usize]) -> Vec<PartHeader> {
        let heads = |(message, total): (usize, &usize)| {
            let total = *total;
            (0..part::count(total)).map(move |index| PartHeader {
                message: message as u32,
                index,
                total: total as u32,
            })
        };
        lengths.iter().enumerate().flat_map(heads).collect()
    }

    /// The numbers of the messages that are delivered when these parts arrive.
    fn assemble(parts: &[PartHeader], first: u32) -> Vec<u32> {
        let mut assembly = Assembly { limit: 4 << 20, message: first, received: 0, total: 0 };
        let mut taken = vec![];
        for head in parts {
            if assembly.accept(*head, HEAD + head.len()) && assembly.is_complete() {
                taken.push(assembly.message);
                assembly.expect(assembly.message.wrapping_add(1));
            }
        }
        taken
    }

    #[test]
    fn a_missing_part_costs_its_message_and_no_other() {
        let all = parts(&[3 * DATA, 16, 2 * DATA + 1, 64]);
        assert_eq!(assemble(&all, 0), [0, 1, 2, 3]);
        for missing in 0..all.len() {
            let mut some = all.clone();
            let lost = some.remove(missing).message;
            let rest: Vec<u32> = (0..4).filter(|message| *message != lost).collect();
            assert_eq!(assemble(&some, 0), rest, "part {missing} is missing");
        }
    }

    #[test]
    fn numbers_go_on_beyond_the_largest() {
        let heads = [u32::MAX, 0, 1].map(|message| PartHeader { message, index: 0, total: 16 });
        assert_eq!(assemble(&heads, u32::MAX), [u32::MAX, 0, 1]);
    }

    #[test]
    fn invalid_parts_are_rejected() {
        let mut assembly = Assembly { limit: 100, message: 0, received: 0, total: 0 };
        let good = PartHeader { message: 0, index: 0, total: 64 };
        assert!(!assembly.accept(good, HEAD + 63), "cut short");
        assert!(!assembly.accept(good, 3), "less than a head");
        assert!(!assembly.accept(PartHeader { total: 101, ..good }, HEAD + 101), "too long");
        assert!(!assembly.accept(PartHeader { index: u32::MAX, ..good }, HEAD), "beyond the end");
        assert!(!assembly.accept(PartHeader { total: 0, ..good }, HEAD), "empty");
        assert!(assembly.accept(good, HEAD + 64) && assembly.is_complete());
    }

    proptest! {
        #[test]
        fn only_whole_messages_come_out_once_and_in_order(
            lengths in prop::collection::vec(16_usize..4 * DATA, 1..8),
            choice in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4), 0..8),
        ) {
            let mut all = parts(&lengths);
            for (which, fault) in choice {
                let at = which.index(all.len());
                match fault {
                    0 if all.len() > 1 => { all.remove(at); }
                    1 => { all.insert(at, all[at]); }
                    2 => { let next = (at + 1) % all.len(); all.swap(at, next); }
                    _ => { let old = all[at]; all.push(old); }
                }
            }
            let taken = assemble(&all, 0);
            prop_assert!(taken.is_sorted_by(|one, next| one < next), "{:?}", taken);
            for message in taken {
                let there = |index| all.iter().any(|h| h.message == message && h.index == index);
                prop_assert!((0..part::count(lengths[message as usize])).all(there));
            }
        }
    }
}
