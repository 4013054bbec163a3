//! What a process of a check has at hand: the transport, the other process, and traffic between.

use std::{collections::BTreeMap, os::fd::AsFd, time::Duration};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_transport::{
    Capabilities, Endpoint, Error, MAX_PAYLOAD, Rendezvous, Role, Settings, Span, Step,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::{
    allocation,
    end::{End, Nature},
    failure::Failure,
    part::Part,
    progress::{Phase, Progress},
    stamp::Side,
    suite::Suite,
};

/// The payloads that ends are opened with, where the transport carries them.
const PAYLOADS: [usize; 7] = [16, 17, 64, 4096, 65_536, 1 << 20, MAX_PAYLOAD];

/// How long an answer of an unreliable transport is waited for before it counts as lost.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often a message of an unreliable transport is sent until one of them comes back.
const ATTEMPTS: u32 = 400;

/// One process's view of a check.
pub struct Stage<'a> {
    suite: &'a Suite,
    part: &'a Part,
    rendezvous: SocketRendezvous,
    progress: Progress,
    /// What this process has allocated to hear the other one.
    allocated: u64,
}

impl<'a> Stage<'a> {
    /// The process that plays `part`, with the other one at the end of `rendezvous`.
    pub fn new(
        suite: &'a Suite,
        part: &'a Part,
        rendezvous: SocketRendezvous,
        progress: Progress,
    ) -> Self {
        Self { suite, part, rendezvous, progress, allocated: 0 }
    }

    /// The transport under test.
    pub fn suite(&self) -> &'a Suite {
        self.suite
    }

    /// What this process is told to do.
    pub fn part(&self) -> &'a Part {
        self.part
    }

    /// What the transport says it can do.
    pub fn capabilities(&self) -> &'a Capabilities {
        &self.suite.definition().capabilities
    }

    /// Whether messages stay in the process that published them.
    pub fn is_alone(&self) -> bool {
        self.capabilities().span == Span::None
    }

    /// Whether this process speaks first. Where no message leaves a process, each speaks to itself.
    pub fn speaks_first(&self) -> bool {
        self.part.side == Side::Leader || self.is_alone()
    }

    /// The payloads of the suite that the transport carries.
    pub fn payloads(&self) -> impl Iterator<Item = usize> + use<> {
        let most = self.capabilities().max_payload;
        PAYLOADS.into_iter().filter(move |payload| *payload <= most)
    }

    /// `payload`, or the largest that the transport carries.
    pub fn at_most(&self, payload: usize) -> usize {
        payload.min(self.capabilities().max_payload)
    }

    /// What an end is opened with.
    fn settings(&self, payload: usize) -> Settings {
        Settings {
            role: match self.part.side {
                Side::Leader => Role::Leader,
                Side::Follower => Role::Follower(0),
            },
            wait: self.part.wait,
            payload,
            subscribers: 1,
            address: None,
            name: self.part.name.clone(),
            directory: self.part.directory(),
            options: BTreeMap::new(),
        }
    }

    /// Opens this process's end.
    pub fn open(&mut self, payload: usize) -> Result<End, Failure> {
        let settings = self.begin(payload);
        let opened = self.suite.open(&settings, &mut self.rendezvous);
        self.opened(payload, opened)
    }

    /// Opens and closes this process's end, with something of the check's own before the rendezvous.
    pub fn open_and_close_through<'s, R: Rendezvous + 's>(
        &'s mut self,
        payload: usize,
        wrap: impl FnOnce(&'s mut SocketRendezvous) -> R,
    ) -> Result<(), Failure> {
        let settings = self.begin(payload);
        let progress = self.progress;
        let opened = self.suite.open(&settings, &mut wrap(&mut self.rendezvous));
        progress.phase(Phase::Closing);
        drop(opened?);
        Ok(())
    }

    fn begin(&self, payload: usize) -> Settings {
        self.progress.payload(payload);
        self.progress.phase(Phase::Opening);
        self.settings(payload)
    }

    fn opened(
        &self,
        payload: usize,
        opened: Result<Box<dyn Endpoint>, Error>,
    ) -> Result<End, Failure> {
        let endpoint = opened.map_err(|error| {
            Failure::from(error).during(format_args!("opening an end for {payload} bytes"))
        })?;
        self.progress.phase(Phase::Between);
        Ok(End::new(endpoint, self.nature(), self.progress))
    }

    /// Waits until the other process has come to the same `place`. A frame that a transport left
    /// unread is found here.
    pub fn meet(&mut self, place: &str) -> Result<(), Failure> {
        self.progress.phase(Phase::Meeting);
        self.rendezvous.send(0, place.as_bytes(), &[])?;
        let (frame, fds) = self.rendezvous.receive(0)?;
        self.progress.phase(Phase::Between);
        if frame == place.as_bytes() && fds.is_empty() {
            return Ok(());
        }
        Err(Failure::expected(
            format_args!("the other process at the point '{place}'"),
            format_args!("a frame of {} bytes that the transport left unread", frame.len()),
        ))
    }

    /// Tells the other process a number.
    pub fn tell(&mut self, number: u32) -> Result<(), Failure> {
        Ok(self.rendezvous.send(0, &number.to_ne_bytes(), &[])?)
    }

    /// How often this process has allocated, but for what the suite needed to hear the other one.
    pub fn allocations(&self) -> u64 {
        allocation::count() - self.allocated
    }

    /// Waits for the number that the other process tells.
    pub fn hear(&mut self) -> Result<u32, Failure> {
        let before = allocation::count();
        let number = self.receive_number();
        self.allocated += allocation::count() - before;
        number
    }

    fn receive_number(&mut self) -> Result<u32, Failure> {
        self.progress.phase(Phase::Meeting);
        let (frame, _) = self.rendezvous.receive(0)?;
        self.progress.phase(Phase::Between);
        let bytes = frame.try_into().map_err(|frame: Vec<u8>| {
            Failure::expected("a number from the other process", format_args!("{frame:?}"))
        })?;
        Ok(u32::from_ne_bytes(bytes))
    }

    /// Whether the other process has told something, or is gone.
    pub fn hears_something(&self) -> Result<bool, Failure> {
        let socket = self.rendezvous.socket(0);
        let mut ready = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        let count = poll(&mut ready, PollTimeout::ZERO)
            .map_err(|errno| Failure::new(format!("cannot poll the rendezvous: {errno}")))?;
        Ok(count > 0)
    }

    /// Waits until the other process is gone.
    pub fn wait_until_gone(&mut self) {
        self.progress.phase(Phase::Meeting);
        while self.rendezvous.receive(0).is_ok() {}
        self.progress.phase(Phase::Between);
    }

    /// Sends one message of each length to and fro. Both processes call it at the same time.
    pub fn echo(&mut self, end: &mut End, lengths: &[usize]) -> Result<(), Failure> {
        match (self.speaks_first(), self.capabilities().reliable) {
            (true, true) => lengths.iter().try_for_each(|len| round_trip(end, *len)),
            (false, true) => lengths.iter().try_for_each(|_| reflect(end)),
            (true, false) => {
                lengths.iter().try_for_each(|len| round_trip_with_losses(end, *len))?;
                self.tell(0)?;
                // Until the reflector has stopped it would take the messages that come after.
                self.hear().map(drop)
            }
            (false, false) => self.reflect_until_told(end),
        }
    }

    fn reflect_until_told(&mut self, end: &mut End) -> Result<(), Failure> {
        while !self.hears_something()? {
            if let Some(len) = end.try_receive()? {
                end.answer_the_last();
                end.send(len)?;
            }
            end.pause();
        }
        self.hear()?;
        self.tell(0)
    }

    fn nature(&self) -> Nature {
        let Part { side, wait, session, .. } = *self.part;
        let from = if self.is_alone() { side } else { side.other() };
        Nature { wait, side, from, session, reliable: self.capabilities().reliable }
    }
}

fn round_trip(end: &mut End, len: usize) -> Result<(), Failure> {
    end.send(len)?;
    let seen = end.receive()?;
    same_length(len, seen)
}

fn reflect(end: &mut End) -> Result<(), Failure> {
    let len = end.receive()?;
    end.send(len)
}

fn round_trip_with_losses(end: &mut End, len: usize) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS {
        send_and_discard(end, len)?;
        while let Some(seen) = end.receive_within(PATIENCE)? {
            if end.received() == end.sent() {
                return same_length(len, seen);
            }
        }
    }
    Err(Failure::expected(
        format_args!("one of {ATTEMPTS} messages of {len} bytes to come back"),
        "every one of them lost",
    ))
}

/// Sends the next message. Answers that come meanwhile are late ones: they belong to messages that
/// were given up for lost, and may fill the queue.
fn send_and_discard(end: &mut End, len: usize) -> Result<(), Failure> {
    while end.try_send(len)? == Step::WouldBlock {
        let _ = end.try_receive()?;
        end.pause();
    }
    Ok(())
}

fn same_length(sent: usize, seen: usize) -> Result<(), Failure> {
    if sent == seen {
        return Ok(());
    }
    Err(Failure::expected(format_args!("{sent} bytes back"), format_args!("{seen}")))
}
