//! The order in which answers are taken and read, and the samples kept.

use std::cell::RefCell;

use ipcmark_transport::Step;

use super::*;
use crate::patterns::message::{HeadOnly, from_follower};

const FOLLOWERS: usize = 3;

/// An endpoint whose followers have all answered before the leader looks, with a log of how it handles their
/// answers.
struct Answered {
    room: [u8; 16],
    /// The followers whose answers were not taken yet, and those whose answers are held.
    waiting: Vec<usize>,
    held: Vec<usize>,
    taken: usize,
    messages: [[u8; 16]; FOLLOWERS],
    log: RefCell<Vec<String>>,
    /// The message that the last follower does not answer.
    unanswered: u64,
}

impl Answered {
    fn new() -> Self {
        let (waiting, held, log) = Default::default();
        let messages = [[0; 16]; FOLLOWERS];
        Self { room: [0; 16], waiting, held, taken: 0, messages, log, unanswered: 0 }
    }

    fn note(&self, what: &str) {
        self.log.borrow_mut().push(format!("{what} {}", self.taken));
    }
}

impl Endpoint for Answered {
    fn loan(&mut self, _: usize) -> Result<Step, Error> {
        Ok(Step::Done)
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    fn publish(&mut self) -> Result<Step, Error> {
        let seq = Head::read(&self.room).unwrap().seq;
        for (number, message) in self.messages.iter_mut().enumerate() {
            Head { seq, flags: from_follower(number as u32) }.write(message);
        }
        let answering = FOLLOWERS - usize::from(seq == self.unanswered);
        self.waiting = (0..answering).rev().collect();
        Ok(Step::Done)
    }

    fn take(&mut self) -> Result<Step, Error> {
        if self.waiting.is_empty() && self.unanswered > 0 {
            return Ok(Step::WouldBlock);
        }
        self.taken = self.waiting.pop().expect("nobody waits for more than there is");
        self.note("take");
        Ok(Step::Done)
    }

    fn message(&self) -> &[u8] {
        self.note("read");
        &self.messages[self.taken]
    }

    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Holding for Answered {
    fn hold(&mut self) {
        self.held.push(self.taken);
    }

    fn recall(&mut self) {
        self.taken = self.held.remove(0);
    }
}

fn leader<G: Gathering<Answered>, const RELIABLE: bool>(
    end: &mut Answered,
) -> FanOutLeader<'_, Answered, HeadOnly, G, RELIABLE> {
    FanOutLeader {
        end,
        len: 16,
        seed: 1,
        wait: Wait::Spin,
        seq: 0,
        received: 0,
        followers: (0..FOLLOWERS).map(|_| FollowerAnswers::new()).collect(),
        firsts: ipcmark_results::new_histogram(),
        stamps: vec![0; FOLLOWERS],
        aside_ns: 0,
        silent: 0,
        losses: Losses::default(),
        working_set: None,
        first_round_trip_ns: None,
        chosen: PhantomData,
    }
}

fn order<G: Gathering<Answered>>() -> String {
    let mut end = Answered::new();
    assert!(leader::<G, true>(&mut end).round_trip::<true>(0).unwrap());
    end.log.take().join(", ")
}

#[test]
fn all_answers_are_taken_before_any_is_read() {
    let expected = "take 0, take 1, take 2, read 0, read 1, read 2";
    assert_eq!(order::<AllFirst>(), expected);
}

#[test]
fn an_endpoint_that_holds_one_message_handles_it_before_the_next() {
    assert_eq!(order::<OneByOne>(), "take 0, read 0, take 1, read 1, take 2, read 2");
}

#[test]
fn each_follower_has_a_time_of_every_round_trip_of_a_block_once() {
    let mut end = Answered::new();
    let mut leader = leader::<AllFirst, true>(&mut end);
    let mut slots = vec![0; MOST_SAMPLES];
    for wanted in [7, 1, u64::MAX] {
        leader.sampled(&mut slots, wanted, u64::MAX).unwrap();
    }
    let counts: Vec<u64> = leader.followers.iter().map(|one| one.samples.len()).collect();
    assert_eq!(counts, [8 + MOST_SAMPLES as u64; FOLLOWERS]);
    assert_eq!(leader.firsts.len(), counts[0]);
    // Answers are taken in the order of the followers.
    assert_eq!(leader.firsts, leader.followers[0].samples);
    leader.flagged(0).unwrap();
    leader.keep_times();
    assert_eq!(leader.followers[0].samples.len(), counts[0], "what is not sampled has no time");
    assert_eq!(leader.firsts.len(), counts[0]);
}

#[test]
fn a_lost_answer_moves_no_other_into_its_publication() {
    let mut end = Answered { unanswered: 2, ..Answered::new() };
    let mut leader = leader::<OneByOne, false>(&mut end);
    for is_whole in [true, false, true] {
        assert_eq!(leader.round_trip::<true>(0).unwrap(), is_whole);
    }
    let answered = leader.followers.iter().map(|one| [0, 1, 2].map(|at| one.time(at).is_some()));
    assert_eq!(answered.collect::<Vec<_>>(), [[true; 3], [true; 3], [true, false, true]]);
    leader.keep_times();
    // What is not sampled has no slot, lost or not.
    leader.end.unanswered = 4;
    leader.clock_free(2).unwrap();
    assert_eq!((leader.losses.count, firsts(&leader.followers).count()), (2, 0));
    let counts: Vec<u64> = leader.followers.iter().map(|one| one.samples.len()).collect();
    assert_eq!((leader.firsts.len(), counts), (3, vec![3, 3, 2]));
}
