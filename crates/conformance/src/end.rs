//! One end of the transport under test, with the messages of the suite going through it.

use std::time::{Duration, Instant};

use ipcmark_transport::{Endpoint, Step, Wait};

use crate::{
    failure::Failure,
    progress::{Phase, Progress},
    stamp::{Side, Stamp},
};

/// After so many fruitless polls a spinning process lets others have the processor, so that two of
/// them get on where there are fewer processors than that.
const POLLS_PER_YIELD: u32 = 64;

/// What an end is and whose messages it expects.
#[derive(Clone, Copy)]
pub struct Nature {
    /// How it waits.
    pub wait: Wait,
    /// Whose end it is.
    pub side: Side,
    /// Whose messages arrive: the other side's, or its own where none leaves the process.
    pub from: Side,
    /// The sixteen bits in every message of this session.
    pub session: u16,
    /// Whether each message must arrive.
    pub reliable: bool,
}

/// An open end. Every message it takes is checked, byte by byte.
pub struct End {
    endpoint: Option<Box<dyn Endpoint>>,
    nature: Nature,
    progress: Progress,
    polls: u32,
    /// Number of the next message it sends.
    sent: u32,
    /// Number of the next message it expects.
    received: u32,
    /// The message on loan, once its room is filled.
    loaned: Option<Stamp>,
    /// The message taken and not released.
    held: Option<Stamp>,
}

impl End {
    /// Takes an open endpoint.
    pub fn new(endpoint: Box<dyn Endpoint>, nature: Nature, progress: Progress) -> Self {
        let endpoint = Some(endpoint);
        let (sent, received, loaned, held) = (0, 0, None, None);
        Self { endpoint, nature, progress, polls: 0, sent, received, loaned, held }
    }

    /// The endpoint itself, for what the suite does not wrap.
    pub fn raw(&mut self) -> &mut dyn Endpoint {
        self.endpoint.as_deref_mut().expect("an end is open until it is dropped")
    }

    /// How many messages it has sent.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// How many messages it has received, lost ones counted.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Gives the next message that it sends the number of the last one it received.
    pub fn answer_the_last(&mut self) {
        self.sent = self.received - 1;
    }

    /// One attempt at sending the next message; its length stays the same until it is done.
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

    /// Checks the message of an endpoint that has taken one without the suite looking on.
    pub fn check_taken(&mut self) -> Result<(), Failure> {
        let message = self.endpoint.as_deref().expect("it is open").message();
        self.due_stamp(message).check(message)
    }

    /// One attempt at getting room for the next message, filled when it is there.
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

    /// One attempt at handing the message on loan over.
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

    /// Sends the next message, however long it takes.
    pub fn send(&mut self, len: usize) -> Result<(), Failure> {
        while self.try_send(len)? == Step::WouldBlock {
            self.pause();
        }
        Ok(())
    }

    /// One attempt at receiving the next message: its length, once it is there and right.
    pub fn try_receive(&mut self) -> Result<Option<usize>, Failure> {
        let number = self.received;
        self.attempt_receive().map_err(|failure| {
            failure.during(format_args!("receiving message {number} of the {}", self.nature.from))
        })
    }

    /// Receives the next message, however long it takes: its length.
    pub fn receive(&mut self) -> Result<usize, Failure> {
        loop {
            if let Some(len) = self.try_receive()? {
                return Ok(len);
            }
            self.pause();
        }
    }

    /// Receives the next message if it comes within `limit`. Only for ends that never sleep long.
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

    /// Takes the next message, checks it and keeps it. Whether it was there.
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

    /// Takes the next message, however long it takes, checks it and keeps it: its length.
    pub fn take(&mut self) -> Result<usize, Failure> {
        while !self.try_take()? {
            self.pause();
        }
        Ok(self.held.map_or(0, |stamp| stamp.len))
    }

    /// Checks that the message that was taken is still what it was.
    pub fn check_held(&self) -> Result<(), Failure> {
        let (Some(stamp), Some(endpoint)) = (self.held, &self.endpoint) else { return Ok(()) };
        stamp.check(endpoint.message()).map_err(|failure| {
            failure.during("looking again at a message that was taken and not released")
        })
    }

    /// Gives the room of the message taken back.
    pub fn release(&mut self) -> Result<(), Failure> {
        self.progress.phase(Phase::Releasing);
        self.raw().release()?;
        self.progress.phase(Phase::Between);
        self.held = None;
        Ok(())
    }

    /// Lets other processes have the processor now and then while this one polls.
    pub fn pause(&mut self) {
        self.polls += 1;
        if self.nature.wait == Wait::Spin && self.polls.is_multiple_of(POLLS_PER_YIELD) {
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
        let Nature { session, side, .. } = self.nature;
        Stamp { session, sender: side, sequence: self.sent, len }
    }

    /// The message that is due. Where messages may be lost it is any that comes later.
    fn due_stamp(&self, message: &[u8]) -> Stamp {
        let Nature { session, from, reliable, .. } = self.nature;
        let due = Stamp { session, sender: from, sequence: self.received, len: message.len() };
        match Stamp::read(message) {
            Some(seen) if !reliable && seen.sequence > due.sequence => {
                Stamp { sequence: seen.sequence, ..due }
            }
            _ => due,
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.progress.phase(Phase::Closing);
        self.endpoint = None;
        self.progress.phase(Phase::Between);
    }
}
