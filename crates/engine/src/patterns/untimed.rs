//! The messages of a leader before anything is timed: those whose every byte is checked, and those that show which
//! buffers are used.
//!
//! They reach the endpoint through a pointer, so their code exists once for all transports: compiled for each, it was a
//! fifteenth of the machine code of all loops.

use ipcmark_transport::{Endpoint, Error};

use super::{
    context::LoopContext,
    latency::LatencyLeader,
    losses::LossTimeout,
    message::{ASK_BURST, BURST, FROM_FOLLOWER, Head, TouchPolicy, VERIFY},
    steps::{self, read, send, send_checked, take_unless, unexpected},
    working_set::Noting,
};
use crate::wire::Pass;

type UntimedLeader<'a, T, const RELIABLE: bool> = LatencyLeader<'a, dyn Endpoint + 'a, T, RELIABLE>;

type NotingLeader<'a, 'b, T, const RELIABLE: bool> = LatencyLeader<'a, Noting<'b>, T, RELIABLE>;

impl<'a, E: Endpoint, T: TouchPolicy, const RELIABLE: bool> LatencyLeader<'a, E, T, RELIABLE> {
    /// A leader whose transport has carried messages unchanged. If the pass is thorough, it has counted the buffers of
    /// messages that are answered one at a time, or streamed.
    pub(super) fn verified(
        end: &'a mut E,
        pass: &Pass,
        context: &mut LoopContext<'_>,
        streams: bool,
    ) -> Result<Self, Error> {
        context.command.phase("verifying")?;
        let mut untimed = UntimedLeader::<T, RELIABLE>::new(end, pass, context);
        untimed.verify(pass, context.alternating)?;
        if pass.is_thorough {
            untimed.look_at_buffers(pass, context, streams)?;
        }
        let LatencyLeader { seq, losses, working_set, first_round_trip_ns, .. } = untimed;
        let mut leader = Self::new(end, pass, context);
        (leader.seq, leader.losses, leader.working_set) = (seq, losses, working_set);
        leader.first_round_trip_ns = first_round_trip_ns;
        Ok(leader)
    }
}

impl<T: TouchPolicy, const RELIABLE: bool> UntimedLeader<'_, T, RELIABLE> {
    fn look_at_buffers(
        &mut self,
        pass: &Pass,
        context: &LoopContext<'_>,
        streams: bool,
    ) -> Result<(), Error> {
        let mut noting = Noting::new(self.end);
        let mut leader = NotingLeader::<T, RELIABLE>::new(&mut noting, pass, context);
        leader.seq = self.seq;
        leader.look(streams)?;
        self.seq = leader.seq;
        self.working_set = Some(noting.finish());
        self.round_trip(0).map(drop)
    }

    /// Sends messages with a known pattern, one by one and then, if the pass is thorough, in bursts each way; both
    /// endpoints check every byte.
    fn verify(&mut self, pass: &Pass, alternating: bool) -> Result<(), Error> {
        let checked = steps::checked_messages(self.len, pass.is_thorough);
        self.first_round_trip_ns = steps::first_of(checked, || self.checked_round_trip())?;
        if pass.is_thorough && !alternating && self.answer == FROM_FOLLOWER {
            self.send_burst()?;
            self.receive_burst()?;
        }
        Ok(())
    }

    fn checked_round_trip(&mut self) -> Result<bool, Error> {
        self.send_checked(0)?;
        self.receive_answer(Head { seq: self.seq, flags: self.answer })
    }

    fn send_checked(&mut self, flags: u32) -> Result<(), Error> {
        self.seq += 1;
        let head = Head { seq: self.seq, flags: flags | VERIFY };
        send_checked(self.end, self.len, head, self.seed)
    }

    fn send_burst(&mut self) -> Result<(), Error> {
        for _ in 0..steps::burst_messages(self.len) {
            self.send_checked(BURST)?;
        }
        self.checked_round_trip().map(drop)
    }

    /// An unreliable transport may lose part of the burst; the rest must arrive in order.
    fn receive_burst(&mut self) -> Result<(), Error> {
        self.send_checked(ASK_BURST)?;
        let asked = self.seq;
        if RELIABLE {
            let burst = (1..=steps::burst_messages(self.len)).map(|n| asked + n);
            // The answer to the request comes last, with the request's own sequence number.
            for seq in burst.chain([asked]) {
                self.receive_answer(Head { seq, flags: FROM_FOLLOWER })?;
            }
            return Ok(());
        }
        let drained = self.drain_burst(asked);
        // Messages that arrive even later have old sequence numbers and are skipped.
        self.seq += steps::burst_messages(self.len);
        drained
    }

    fn drain_burst(&mut self, asked: u64) -> Result<(), Error> {
        let mut last = asked;
        loop {
            let mut loss_timeout = LossTimeout::new(self.wait);
            if !take_unless(&mut loss_timeout, self.end, LossTimeout::exhausted)? {
                return Ok(());
            }
            let head = read::<_, T>(self.end, self.len, self.seed)?;
            if head.flags & BURST == 0 {
                match head.seq < asked {
                    // A late answer to an abandoned message.
                    true => continue,
                    false => return Ok(()),
                }
            }
            if head.seq <= last {
                return Err(unexpected(head, Head { seq: last + 1, flags: FROM_FOLLOWER }));
            }
            last = head.seq;
        }
    }
}

impl<T: TouchPolicy, const RELIABLE: bool> NotingLeader<'_, '_, T, RELIABLE> {
    /// Sends until the endpoint finds no new buffers.
    fn look(&mut self, streams: bool) -> Result<(), Error> {
        let mut sent = 0;
        while self.end.goes_on(sent, self.len) {
            match streams && self.answer == FROM_FOLLOWER {
                true => self.send_unanswered()?,
                false => _ = self.round_trip(0)?,
            }
            sent += 1;
        }
        Ok(())
    }

    fn send_unanswered(&mut self) -> Result<(), Error> {
        self.seq += 1;
        send::<_, T>(self.end, self.len, Head { seq: self.seq, flags: BURST })
    }
}
