//! The untimed messages of a leader of several followers: those whose every byte is checked, and those that show
//! which buffers are used.

use std::marker::PhantomData;

use ipcmark_transport::{Endpoint, Error};

use super::{FanOutLeader, Gathering, OneByOne};
use crate::{
    patterns::{
        losses::Losses,
        message::{ASK_BURST, BURST, FROM_FOLLOWER, Head, TouchPolicy, VERIFY, follower_number},
        steps::{self, read, send_checked, take, unexpected},
        working_set::Noting,
    },
    wire::Pass,
};

impl<E: Endpoint, T: TouchPolicy, G: Gathering<E>, const RELIABLE: bool>
    FanOutLeader<'_, E, T, G, RELIABLE>
{
    /// Sends messages with a known pattern, one by one and, if the pass is thorough, in a burst to all, and lets every
    /// follower send a burst back; both sides check every byte.
    pub(in crate::patterns) fn verify(&mut self, pass: &Pass) -> Result<(), Error> {
        let checked = steps::checked_messages(self.len, pass.is_thorough);
        self.first_round_trip_ns = steps::first_of(checked, || self.checked())?;
        if !pass.is_thorough {
            return Ok(());
        }
        for _ in 0..steps::burst_messages(self.len) {
            self.seq += 1;
            let head = Head { seq: self.seq, flags: VERIFY | BURST };
            send_checked(self.end, self.len, head, self.seed)?;
        }
        self.checked()?;
        if RELIABLE { self.bursts_back() } else { Ok(()) }
    }

    fn checked(&mut self) -> Result<bool, Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: VERIFY };
        send_checked(self.end, self.len, head, self.seed)?;
        self.gather::<false>(self.seq, 0, 0)
    }

    /// Takes a burst from every follower, each in its own order, and then the answers to the request.
    fn bursts_back(&mut self) -> Result<(), Error> {
        self.seq += 1;
        let asked = self.seq;
        let head = Head { seq: asked, flags: VERIFY | ASK_BURST };
        send_checked(self.end, self.len, head, self.seed)?;
        let burst = steps::burst_messages(self.len);
        let mut next = vec![asked + 1; self.followers.len()];
        for _ in 0..(burst + 1) * self.followers.len() as u64 {
            take(self.end)?;
            let head = read::<E, T>(self.end, self.len, self.seed)?;
            let number = follower_number(head.flags);
            let wanted = next.get_mut(number).filter(|_| head.flags & FROM_FOLLOWER != 0);
            let Some(wanted) = wanted else {
                return Err(unexpected(head, Head { seq: asked, flags: FROM_FOLLOWER }));
            };
            // The answer to the request comes last, with the request's own sequence number.
            let expected = if *wanted > asked + burst { asked } else { *wanted };
            if head.seq != expected {
                return Err(unexpected(head, Head { seq: expected, flags: FROM_FOLLOWER }));
            }
            *wanted += 1;
        }
        self.followers.iter_mut().for_each(|follower| follower.seq = asked);
        Ok(())
    }

    /// Counts the buffers of its messages and their answers, if the pass demands it.
    pub(in crate::patterns) fn look_at_buffers(&mut self, pass: &Pass) -> Result<(), Error> {
        if !pass.is_thorough {
            return Ok(());
        }
        let mut noting = Noting::new(self.end);
        let mut leader = FanOutLeader::<Noting<'_>, T, OneByOne, RELIABLE> {
            end: &mut noting,
            followers: std::mem::take(&mut self.followers),
            firsts: ipcmark_results::new_histogram(),
            stamps: Vec::new(),
            aside_ns: 0,
            losses: Losses::default(),
            working_set: None,
            first_round_trip_ns: None,
            chosen: PhantomData,
            len: self.len,
            seed: self.seed,
            wait: self.wait,
            seq: self.seq,
            received: self.received,
            silent: self.silent,
        };
        leader.look()?;
        (self.seq, self.received) = (leader.seq, leader.received);
        self.followers = std::mem::take(&mut leader.followers);
        self.working_set = Some(noting.finish());
        Ok(())
    }
}

impl<T: TouchPolicy, const RELIABLE: bool> FanOutLeader<'_, Noting<'_>, T, OneByOne, RELIABLE> {
    /// Sends until the endpoint finds no new buffers.
    #[inline(never)]
    fn look(&mut self) -> Result<(), Error> {
        let mut sent = 0;
        while self.end.goes_on(sent, self.len) {
            self.round_trip::<false>(0)?;
            sent += 1;
        }
        Ok(())
    }
}
