//! The context of a check's process: the transport, the other process, and the traffic between
//! them.

use std::{collections::BTreeMap, os::fd::AsFd, time::Duration};

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_transport::{
    Capabilities, Endpoint, Error, MAX_PAYLOAD, Rendezvous, Role, Settings, Span, Step,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::{
    allocation,
    end::{CheckedEndpoint, EndpointExpectations},
    failure::Failure,
    part::CheckPart,
    progress::{Phase, Progress},
    stamp::Side,
    suite::Suite,
};

/// The payloads for opening endpoints, as far as the transport carries them.
const PAYLOADS: [usize; 7] = [16, 17, 64, 4096, 65_536, 1 << 20, MAX_PAYLOAD];

/// The time limit for an answer of an unreliable transport before it counts as lost.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(50);

/// The number of attempts to send a message of an unreliable transport until one comes back.
const ATTEMPTS: u32 = 400;

/// The time in which endpoints must find each other: half of the watchdog's, so that a library's own error is reported.
const CONNECT_WITHIN: Duration = Duration::from_secs(90);

/// The same for an endpoint whose peer may be killed while it opens: the check waits as long.
const GIVE_UP_WITHIN: Duration = Duration::from_secs(8);

/// One process's view of a check.
pub struct CheckContext<'a> {
    suite: &'a Suite,
    part: &'a CheckPart,
    rendezvous: SocketRendezvous,
    progress: Progress,
    /// The number of allocations by this process while receiving from the other one.
    allocated: u64,
}

impl<'a> CheckContext<'a> {
    /// The process that runs `part`; `rendezvous` connects it to the other one.
    pub fn new(
        suite: &'a Suite,
        part: &'a CheckPart,
        rendezvous: SocketRendezvous,
        progress: Progress,
    ) -> Self {
        Self { suite, part, rendezvous, progress, allocated: 0 }
    }

    /// The transport under test.
    pub fn suite(&self) -> &'a Suite {
        self.suite
    }

    /// The part of this process.
    pub fn part(&self) -> &'a CheckPart {
        self.part
    }

    /// The transport's capabilities.
    pub fn capabilities(&self) -> &'a Capabilities {
        &self.suite.definition().capabilities
    }

    /// True if messages stay in the process that published them.
    pub fn is_alone(&self) -> bool {
        self.capabilities().span == Span::None
    }

    /// True if this process sends first. Where messages stay in the process, each sends to itself.
    pub fn sends_first(&self) -> bool {
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

    /// The settings for opening an endpoint.
    fn settings(&self, payload: usize, connect_within: Duration) -> Settings {
        Settings {
            role: match self.part.side {
                Side::Leader => Role::Leader,
                Side::Follower => Role::Follower(0),
            },
            wait: self.part.wait,
            payload,
            subscribers: 1,
            address: None,
            connect_within,
            name: self.part.name.clone(),
            directory: self.part.directory(),
            options: BTreeMap::new(),
        }
    }

    /// Opens this process's endpoint.
    pub fn open(&mut self, payload: usize) -> Result<CheckedEndpoint, Failure> {
        let settings = self.begin(payload, CONNECT_WITHIN);
        let opened = self.suite.open(&settings, &mut self.rendezvous);
        self.opened(payload, opened)
    }

    /// Opens and closes this process's endpoint with a wrapped rendezvous.
    pub fn open_and_close_through<'s, R: Rendezvous + 's>(
        &'s mut self,
        payload: usize,
        wrap: impl FnOnce(&'s mut SocketRendezvous) -> R,
    ) -> Result<(), Failure> {
        let settings = self.begin(payload, GIVE_UP_WITHIN);
        let progress = self.progress;
        let opened = self.suite.open(&settings, &mut wrap(&mut self.rendezvous));
        progress.phase(Phase::Closing);
        drop(opened?);
        Ok(())
    }

    fn begin(&self, payload: usize, connect_within: Duration) -> Settings {
        self.progress.payload(payload);
        self.progress.phase(Phase::Opening);
        self.settings(payload, connect_within)
    }

    fn opened(
        &self,
        payload: usize,
        opened: Result<Box<dyn Endpoint>, Error>,
    ) -> Result<CheckedEndpoint, Failure> {
        let endpoint = opened.map_err(|error| {
            Failure::from(error).during(format_args!("opening an end for {payload} bytes"))
        })?;
        self.progress.phase(Phase::Between);
        Ok(CheckedEndpoint::new(endpoint, self.expectations(), self.progress))
    }

    /// Waits until the other process has reached the same `place`. Also detects a frame that a
    /// transport left unread.
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

    /// Sends a number to the other process.
    pub fn tell(&mut self, number: u32) -> Result<(), Failure> {
        Ok(self.rendezvous.send(0, &number.to_ne_bytes(), &[])?)
    }

    /// The number of allocations by this process, except those of the suite for receiving from the
    /// other one.
    pub fn allocations(&self) -> u64 {
        allocation::count() - self.allocated
    }

    /// Waits for a number from the other process.
    pub fn receive_number_from_peer(&mut self) -> Result<u32, Failure> {
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

    /// True if the other process has sent something, or is gone.
    pub fn has_message_from_peer(&self) -> Result<bool, Failure> {
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

    /// Sends one message of each length and back. Both processes call it at the same time.
    pub fn echo(&mut self, end: &mut CheckedEndpoint, lengths: &[usize]) -> Result<(), Failure> {
        match (self.sends_first(), self.capabilities().reliable) {
            (true, true) => lengths.iter().try_for_each(|len| round_trip(end, *len)),
            (false, true) => lengths.iter().try_for_each(|_| reflect(end)),
            (true, false) => {
                lengths.iter().try_for_each(|len| round_trip_with_losses(end, *len))?;
                self.tell(0)?;
                // A reflector that is still running would take the following messages.
                self.receive_number_from_peer().map(drop)
            }
            (false, false) => self.reflect_until_message(end),
        }
    }

    fn reflect_until_message(&mut self, end: &mut CheckedEndpoint) -> Result<(), Failure> {
        while !self.has_message_from_peer()? {
            if let Some(len) = end.try_receive()? {
                end.answer_the_last();
                end.send(len)?;
            }
            end.pause();
        }
        self.receive_number_from_peer()?;
        self.tell(0)
    }

    fn expectations(&self) -> EndpointExpectations {
        let CheckPart { side, wait, session, .. } = *self.part;
        let from = if self.is_alone() { side } else { side.other() };
        EndpointExpectations { wait, side, from, session, reliable: self.capabilities().reliable }
    }
}

fn round_trip(end: &mut CheckedEndpoint, len: usize) -> Result<(), Failure> {
    end.send(len)?;
    let seen = end.receive()?;
    same_length(len, seen)
}

fn reflect(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    let len = end.receive()?;
    end.send(len)
}

fn round_trip_with_losses(end: &mut CheckedEndpoint, len: usize) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS {
        send_and_discard(end, len)?;
        while let Some(seen) = end.receive_within(ANSWER_TIMEOUT)? {
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

/// Sends the next message. Answers that arrive meanwhile are late: they belong to messages that
/// counted as lost, and may fill the queue.
fn send_and_discard(end: &mut CheckedEndpoint, len: usize) -> Result<(), Failure> {
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
