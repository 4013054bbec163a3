//! The follower of a queue of messages in memory.

use std::collections::VecDeque;

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_results::Load;
use ipcmark_transport::{Rendezvous, Step, Wait};

use super::*;
use crate::patterns::{
    context::{Command, Turn},
    message::{HeadOnly, WholeMessage, sleep},
};

/// An endpoint that takes these messages, and then none.
struct Queue {
    messages: VecDeque<Head>,
    taken: [u8; LEN],
    room: [u8; LEN],
    sent: Vec<u64>,
    /// The number of the message of which a byte is changed.
    changed: u64,
}

const LEN: usize = MIN_PAYLOAD + 8;

impl Queue {
    fn new(messages: &[(u64, u32)]) -> Self {
        let messages = messages.iter().map(|(seq, flags)| Head { seq: *seq, flags: *flags });
        Self {
            messages: messages.collect(),
            taken: [0; LEN],
            room: [0; LEN],
            sent: Vec::new(),
            changed: 0,
        }
    }
}

impl Endpoint for Queue {
    fn loan(&mut self, _: usize) -> Result<Step, Error> {
        Ok(Step::Done)
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    fn publish(&mut self) -> Result<Step, Error> {
        self.sent.push(Head::read(&self.room).expect("a head").seq);
        Ok(Step::Done)
    }

    fn take(&mut self) -> Result<Step, Error> {
        let Some(head) = self.messages.pop_front() else { return Ok(Step::WouldBlock) };
        WholeMessage::write(head, &mut self.taken);
        if head.seq == self.changed {
            self.taken[LEN - 1] ^= 1;
        }
        Ok(Step::Done)
    }

    fn message(&self) -> &[u8] {
        &self.taken
    }

    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A follower has no command.
struct Nobody;

impl Command for Nobody {
    fn phase(&mut self, _: &'static str) -> Result<(), Error> {
        unreachable!()
    }

    fn next_turn(&mut self, _: f64) -> Result<Option<Turn>, Error> {
        unreachable!()
    }

    fn background_runs(&mut self) -> Result<(), Error> {
        unreachable!()
    }

    fn has_ended_background(&mut self) -> Result<bool, Error> {
        unreachable!()
    }
}

fn pass() -> Pass {
    Pass { payload: LEN, ..Pass::of(Load::Closed) }
}

fn context<'c>(peers: &'c mut SocketRendezvous, command: &'c mut Nobody) -> LoopContext<'c> {
    LoopContext {
        pin: None,
        reliable: false,
        alternating: false,
        span: Span::Process,
        wait: Wait::Block,
        follower: 0,
        subscribers: 1,
        peers,
        probe: None,
        counts_calls: false,
        command,
    }
}

/// Takes a stream of these messages, with a byte of the message `changed` changed; returns the numbers of those that
/// were as expected, and what came after them.
fn streamed(messages: &[(u64, u32)], changed: u64) -> (Vec<u64>, Result<Head, String>) {
    let mut ours = SocketRendezvous::pair().unwrap().0;
    let mut end = Queue { changed, ..Queue::new(messages) };
    let (pass, mut command) = (pass(), Nobody);
    let mut follower = Follower::new(&mut end, &pass, context(&mut ours, &mut command));
    let mut seen = Vec::new();
    let after = match follower.stream::<WholeMessage>(|seq| seen.push(seq)) {
        Ok(Next::Message(head)) => Ok(head),
        Ok(_) => unreachable!("only a message comes"),
        Err(error) => Err(error.to_string()),
    };
    (seen, after)
}

/// Follows an unreliable transport with these messages and these frames of the leader; returns the answered
/// messages, and the number of times that the follower slept.
fn followed(messages: &[(u64, u32)], frames: &[&[u8]]) -> (Vec<u64>, usize) {
    let (mut ours, mut theirs) = SocketRendezvous::pair().unwrap();
    frames.iter().for_each(|frame| theirs.send(0, frame, &[]).unwrap());
    let mut end = Queue::new(messages);
    answers::<Queue, HeadOnly, false>(&mut end, &pass(), context(&mut ours, &mut Nobody)).unwrap();
    drop(ours);
    let slept = std::iter::from_fn(|| theirs.receive(0).ok()).count();
    (end.sent, slept)
}

#[test]
fn a_stream_ends_with_a_message_that_is_none_of_it() {
    let (seen, after) = streamed(&[(1, STREAM), (2, STREAM), (3, PROBE)], 0);
    assert_eq!((seen, after), (vec![1, 2], Ok(Head { seq: 3, flags: PROBE })));
    assert_eq!(streamed(&[(1, 0)], 0), (Vec::new(), Ok(Head { seq: 1, flags: 0 })));
}

#[test]
fn a_fault_in_a_stream_is_an_error() {
    for (messages, changed, words) in [
        ([(1, STREAM), (3, STREAM)], 0, "loses or reorders"),
        ([(1, STREAM), (1, STREAM)], 0, "duplicates or reorders"),
        ([(1, STREAM), (2, STREAM | FROM_FOLLOWER)], 0, "share one queue"),
        ([(1, STREAM), (2, STREAM)], 2, "a byte is not what was sent"),
    ] {
        let (seen, after) = streamed(&messages, changed);
        assert_eq!(seen, [1]);
        assert!(after.as_ref().is_err_and(|error| error.contains(words)), "{after:?}");
    }
}

#[test]
fn a_message_puts_the_follower_to_sleep_and_its_frame_is_taken_with_it() {
    let messages = [(1, 0), (2, sleep(0)), (3, 0), (4, sleep(1))];
    let frames: [&[u8]; 4] = [b"sleep", b"turn", b"sleep", b"end"];
    assert_eq!(followed(&messages, &frames), (vec![1, 2, 3, 4], 2));
}

#[test]
fn a_frame_puts_it_to_sleep_if_the_message_is_lost() {
    let frames: [&[u8]; 4] = [b"sleep", b"turn", b"sleep", b"end"];
    assert_eq!(followed(&[(1, 0)], &frames), (vec![1], 2));
}

#[test]
fn a_message_that_comes_after_its_turn_is_answered_and_nothing_else() {
    // The frame of the first turn came before its message.
    let messages = [(2, sleep(7)), (3, 0), (4, sleep(0))];
    let frames: [&[u8]; 2] = [b"sleep", b"end"];
    assert_eq!(followed(&messages, &frames), (vec![2, 3, 4], 1));
}
