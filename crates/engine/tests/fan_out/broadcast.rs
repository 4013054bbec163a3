//! A transport for several followers: a pair of packet sockets to each. It can simulate faults.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use ipcmark_transport::{
    Capabilities, DeclaredCarrier, Definition, Endpoint, Error, Pattern, Rendezvous, Settings,
    Span, Step, Transport, Wait,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair},
};

/// The simulated fault, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Nothing,
    /// Drops every 150th message to the last follower, and declares that it may lose messages.
    Loses,
    /// The followers drop every 150th message, and declare that they may lose messages.
    LosesBack,
    /// The same with every third message.
    LosesMany,
    /// Delivers an answer twice.
    Repeats,
    /// Never reaches the last follower.
    ForgetsOne,
    /// Opens only for the first session of a run.
    WearsOut,
}

impl Fault {
    /// True if the followers lose what they send.
    fn is_of_followers(self) -> bool {
        matches!(self, Fault::LosesBack | Fault::LosesMany)
    }
}

/// The transport.
pub struct Broadcast {
    definition: Definition,
    fault: Fault,
}

impl Broadcast {
    /// A transport with its own name.
    pub fn new(name: &'static str, fault: Fault, span: Span) -> Self {
        let capabilities = Capabilities {
            patterns: Cow::Borrowed(&[Pattern::FanOut]),
            max_payload: 4096,
            max_subscribers: 4,
            span,
            ..Capabilities::waiting(&[Wait::Block])
        };
        let definition = Definition {
            name: name.into(),
            family: "test".into(),
            summary: "sockets".into(),
            carrier: DeclaredCarrier::Unstated,
            options: Cow::Borrowed(&[]),
            capabilities,
        };
        Self { definition, fault }
    }
}

/// One endpoint: its sockets, one per peer, and the progress of the loaned message.
pub struct End {
    peers: Vec<OwnedFd>,
    fault: Fault,
    may_lose: bool,
    leads: bool,
    room: Vec<u8>,
    published_to: usize,
    count: u64,
    taken: Vec<u8>,
    next: usize,
    again: bool,
}

impl Transport for Broadcast {
    type Endpoint = End;
    const CAN_LOSE: bool = true;
    const FANS_OUT: bool = true;

    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn open(&self, settings: &Settings, peers: &mut dyn Rendezvous) -> Result<End, Error> {
        if self.fault == Fault::WearsOut && !settings.name.ends_with("-1") {
            return Err(Error::new("open", "a broadcast", "it is worn out"));
        }
        let mut sockets = Vec::new();
        for peer in 0..peers.peers() {
            if settings.role.is_leader() {
                let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
                let (ours, theirs) =
                    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)
                        .map_err(|e| Error::os("make", "a pair of sockets", e))?;
                peers.send(peer, b"socket", &[theirs.as_fd()])?;
                sockets.push(ours);
            } else {
                sockets.extend(peers.receive(peer)?.1);
            }
        }
        let leads = settings.role.is_leader();
        Ok(End {
            peers: sockets,
            fault: if leads != self.fault.is_of_followers() { self.fault } else { Fault::Nothing },
            may_lose: self.fault == Fault::Loses || self.fault.is_of_followers(),
            leads,
            room: vec![0; settings.payload],
            published_to: 0,
            count: 0,
            taken: vec![0; settings.payload],
            next: 0,
            again: false,
        })
    }
}

impl End {
    /// Sleeps until a message arrives, or for as long as a transport that may lose messages sleeps.
    fn sleep(&self) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for peer in &self.peers {
            wanted.push(PollFd::new(peer.as_fd(), PollFlags::POLLIN));
        }
        poll(&mut wanted, 5_u8).map(drop).map_err(|e| Error::os("wait for", "a message", e))
    }

    fn skips(&self, peer: usize) -> bool {
        let is_last = peer + 1 == self.peers.len();
        match self.fault {
            Fault::Loses | Fault::LosesBack => is_last && self.count.is_multiple_of(150),
            Fault::LosesMany => self.count.is_multiple_of(3),
            Fault::ForgetsOne => is_last,
            Fault::Nothing | Fault::Repeats | Fault::WearsOut => false,
        }
    }
}

impl Endpoint for End {
    fn loan(&mut self, len: usize) -> Result<Step, Error> {
        self.room.resize(len, 0);
        Ok(Step::Done)
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    fn publish(&mut self) -> Result<Step, Error> {
        while self.published_to < self.peers.len() {
            let peer = self.published_to;
            if !self.skips(peer) {
                let fd = self.peers[peer].as_raw_fd();
                match send(fd, &self.room, MsgFlags::MSG_NOSIGNAL) {
                    Err(Errno::EAGAIN) => return Ok(Step::WouldBlock),
                    sent => sent.map_err(|e| Error::os("send", "a message", e))?,
                };
            }
            self.published_to += 1;
        }
        self.published_to = 0;
        self.count += 1;
        Ok(Step::Done)
    }

    fn take(&mut self) -> Result<Step, Error> {
        if std::mem::take(&mut self.again) {
            return Ok(Step::Done);
        }
        self.sleep()?;
        for _ in 0..self.peers.len() {
            self.next = (self.next + 1) % self.peers.len();
            match recv(self.peers[self.next].as_raw_fd(), &mut self.taken, MsgFlags::empty()) {
                Err(Errno::EAGAIN) => {}
                Ok(0) => return Err(Error::peer_gone("receive", "a message")),
                received => {
                    received.map_err(|e| Error::os("receive", "a message", e))?;
                    self.again = self.fault == Fault::Repeats && self.count == 100;
                    return Ok(Step::Done);
                }
            }
        }
        Ok(Step::WouldBlock)
    }

    fn message(&self) -> &[u8] {
        &self.taken
    }

    fn release(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let role = if self.leads { "leader" } else { "follower" };
        [(role.into(), std::process::id().to_string())].into()
    }

    fn may_lose(&self) -> bool {
        self.may_lose
    }
}
