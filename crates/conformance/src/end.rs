//! One endpoint of the transport under test, with the suite's messages.

use std::time::{Duration, Instant};

use ipcmark_transport::{Endpoint, Step, Wait};

use crate::{
    failure::Failure,
    progress::{Phase, Progress},
    stamp::{Side, Stamp},
};

/// A spinning process yields the processor after this many unsuccessful polls, so that two of them
/// make progress on fewer processors.
const POLLS_PER_YIELD: u32 = 64;

/// The settings of an endpoint, and the origin of the messages that it expects.
#[derive(Clone, Copy)]
pub struct EndpointExpectations {
    /// Its wait.
    pub wait: Wait,
    /// Its side.
    pub side: Side,
    /// The sender of the messages that arrive: the other side, or its own where messages stay in
    /// the process.
    pub from: Side,
    /// The sixteen bits in every message of this session.
    pub session: u16,
    /// True if every message must arrive.
    pub reliable: bool,
}

/// An open endpoint. It checks every message that it takes, byte by byte.
pub struct CheckedEndpoint {
    endpoint: Option<Box<dyn Endpoint>>,
    expectations: EndpointExpectations,
    progress: Progress,
    polls: u32,
    /// The sequence number of the next message to send.
    sent: u32,
    /// The sequence number of the next message to expect.
    received: u32,
    /// The message on loan, once it is filled.
    loaned: Option<Stamp>,
    /// The message that is taken and not released.
    held: Option<Stamp>,
}

impl CheckedEndpoint {
    /// Wraps an open endpoint.
    pub fn new(
        endpoint: Box<dyn Endpoint>,
        expectations: EndpointExpectations,
        progress: Progress,
    ) -> Self {
        let endpoint = Some(endpoint);
        let (sent, received, loaned, held) = (0, 0, None, None);
        Self { endpoint, expectations, progress, polls: 0, sent, received, loaned, held }
    }

    /// The endpoint itself, for calls that the suite does not wrap.
    pub fn raw(&mut self) -> &mut dyn Endpoint {
        self.endpoint.as_deref_mut().expect("an end is open until it is dropped")
    }

    /// The number of messages that it has sent.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// The number of messages that it has received, including lost ones.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Gives the next message to send the sequence number of the last one received.
    pub fn answer_the_last(&mut self) {
        self.sent = self.received - 1;
    }

    /// Tries once to send the next message; its length must stay the same until that succeeds.
    pub fn try_send(&mut self, len: usize) -> Result<Step, Failure> {
        let step = match self.loaned {
            None => self.try_loan(len).and_then(|step| match step {
                Step::Done => self.try_publish(),
                Step::WouldBlock => Ok(Step::WouldBlock),
            }),
            Some(_) => self.try_publish(),
        };
        step.map_err(|failure| failure.during(format_args!("sending {}", self.next_stamp(len))))
    }

    /// Checks the message of an endpoint whose take was called outside the suite.
    pub fn check_taken(&mut self) -> Result<(), Failure> {
        let message = self.endpoint.as_deref().expect("it is open").message();
        self.due_stamp(message).check(message)
    }

    /// Tries once to loan room for the next message, and fills it.
    pub fn try_loan(&mut self, len: usize) -> Result<Step, Failure> {
        self.progress.length(len);
        self.progress.phase(Phase::Loaning);
        if self.raw().loan(len)? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        let stamp = self.next_stamp(len);
        let room = self.raw().room();
        if room.len() != len {
            return Err(Failure::expected(
                format_args!("room for {len} bytes"),
                format_args!("room for {}", room.len()),
            ));
        }
        stamp.fill(room);
        self.loaned = Some(stamp);
        Ok(Step::Done)
    }

    /// Tries once to publish the message on loan.
    pub fn try_publish(&mut self) -> Result<Step, Failure> {
        self.progress.phase(Phase::Publishing);
        if self.raw().publish()? == Step::WouldBlock {
            return Ok(Step::WouldBlock);
        }
        self.progress.phase(Phase::Between);
        self.loaned = None;
        self.sent += 1;
        self.progress.counts(self.sent, self.received);
        Ok(Step::Done)
    }

    /// Sends the next message, without a time limit.
    pub fn send(&mut self, len: usize) -> Result<(), Failure> {
        while self.try_send(len)? == Step::WouldBlock {
            self.pause();
        }
        Ok(())
    }

    /// Tries once to receive the next message; returns its length if it has arrived and is correct.
    pub fn try_receive(&mut self) -> Result<Option<usize>, Failure> {
        let number = self.received;
        self.attempt_receive().map_err(|failure| {
            failure.during(format_args!(
                "receiving message {number} of the {}",
                self.expectations.from
            ))
        })
    }

    /// Receives the next message, without a time limit; returns its length.
    pub fn receive(&mut self) -> Result<usize, Failure> {
        loop {
            if let Some(len) = self.try_receive()? {
                return Ok(len);
            }
            self.pause();
        }
    }

    /// Receives the next message if it arrives within `limit`. Only for endpoints that never sleep
    /// long.
    pub fn receive_within(&mut self, limit: Duration) -> Result<Option<usize>, Failure> {
        let start = Instant::now();
        loop {
            let taken = self.try_receive()?;
            if taken.is_some() || start.elapsed() > limit {
                return Ok(taken);
            }
            self.pause();
        }
    }

    /// Takes the next message, checks it and holds it; true if there was one.
    pub fn try_take(&mut self) -> Result<bool, Failure> {
        self.progress.phase(Phase::Taking);
        if self.raw().take()? == Step::WouldBlock {
            return Ok(false);
        }
        self.progress.phase(Phase::Between);
        let message = self.endpoint.as_deref().expect("it is open").message();
        let stamp = self.due_stamp(message);
        stamp.check(message)?;
        self.received = stamp.sequence + 1;
        self.held = Some(stamp);
        self.progress.length(stamp.len);
        self.progress.counts(self.sent, self.received);
        Ok(true)
    }

    /// Takes the next message, without a time limit, checks it and holds it; returns its length.
    pub fn take(&mut self) -> Result<usize, Failure> {
        while !self.try_take()? {
            self.pause();
        }
        Ok(self.held.map_or(0, |stamp| stamp.len))
    }

    /// Checks that the held message is unchanged.
    pub fn check_held(&self) -> Result<(), Failure> {
        let (Some(stamp), Some(endpoint)) = (self.held, &self.endpoint) else { return Ok(()) };
        stamp.check(endpoint.message()).map_err(|failure| {
            failure.during("looking again at a message that was taken and not released")
        })
    }

    /// Releases the taken message.
    pub fn release(&mut self) -> Result<(), Failure> {
        self.progress.phase(Phase::Releasing);
        self.raw().release()?;
        self.progress.phase(Phase::Between);
        self.held = None;
        Ok(())
    }

    /// Yields the processor to other processes now and then while this one polls.
    pub fn pause(&mut self) {
        self.polls += 1;
        if self.expectations.wait == Wait::Spin && self.polls.is_multiple_of(POLLS_PER_YIELD) {
            std::thread::yield_now();
        }
    }

    fn attempt_receive(&mut self) -> Result<Option<usize>, Failure> {
        if !self.try_take()? {
            return Ok(None);
        }
        let len = self.held.map(|stamp| stamp.len);
        self.release()?;
        Ok(len)
    }

    fn next_stamp(&self, len: usize) -> Stamp {
        let EndpointExpectations { session, side, .. } = self.expectations;
        Stamp { session, sender: side, sequence: self.sent, len }
    }

    /// The expected message. On an unreliable transport this is any later message.
    fn due_stamp(&self, message: &[u8]) -> Stamp {
        let EndpointExpectations { session, from, reliable, .. } = self.expectations;
        let due = Stamp { session, sender: from, sequence: self.received, len: message.len() };
        match Stamp::read(message) {
            Some(seen) if !reliable && seen.sequence > due.sequence => {
                Stamp { sequence: seen.sequence, ..due }
            }
            _ => due,
        }
    }
}

impl Drop for CheckedEndpoint {
    fn drop(&mut self) {
        self.progress.phase(Phase::Closing);
        self.endpoint = None;
        self.progress.phase(Phase::Between);
    }
}
