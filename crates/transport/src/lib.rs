//! The contract between ipcmark and a *transport*: one way of moving messages between processes.
//!
//! A transport says what it is ([`Definition`]), whether it can run here ([`Transport::probe`]) and
//! opens one end of itself ([`Transport::open`]). An [`Endpoint`] is that end: it moves messages and
//! does nothing else. The clock, pacing, sequence numbers and checks belong to the engine.
//!
//! What every transport must hold, each point tested by the conformance suite:
//!
//! - two ends in two processes, with two separate ways for the two directions: an end never takes a
//!   message that it published itself;
//! - a message arrives once, in order, whole, with the length it was published with, for every
//!   length from [`MIN_PAYLOAD`] to the `payload` the ends were opened with;
//! - a full queue is [`Step::WouldBlock`], never a drop and never an error;
//! - nothing is allocated, logged, timed or locked by our code between open and close;
//! - after close no file, queue or segment stays; after a crash none that has neither the session's name
//!   nor is named by [`Transport::leftovers`].

mod buffers;
mod definition;
mod endpoint;
mod error;
mod leftover;
mod name;
mod option;
mod payload;
mod plain;
mod rendezvous;
mod settings;

use std::collections::BTreeMap;

pub use buffers::{BUFFERS, COLD, MOST_BUFFER_BYTES};
pub use definition::{
    Availability, Capabilities, Carrier, DeclaredCarrier, Definition, FanOut, MOST_ENDS, NOTICES,
    Pattern, Span, Wait,
};
pub use endpoint::{Endpoint, Step};
pub use error::{Error, remedy_in};
pub use leftover::Leftover;
pub use name::{RunId, SessionName};
pub use option::{OptionSpec, number};
pub use payload::{MAX_PAYLOAD, MIN_PAYLOAD};
pub use plain::plain;
pub use rendezvous::Rendezvous;
pub use settings::{HYBRID_POLLS, MAX_SLEEP, Role, Settings};

/// One way of moving messages between processes.
pub trait Transport: Send + Sync + 'static {
    /// One process's end.
    type Endpoint: Endpoint;

    /// Whether its ends copy messages from and into buffers of their own, of which there can be several: it has the
    /// option [`BUFFERS`] then, and [`Endpoint::next_source`] and [`Endpoint::next_target`] do something. A constant, so
    /// that loops that change buffers are built for no other transport.
    const CYCLES: bool = false;

    /// Whether messages can be lost at all, with whatever options: that of a transport which is not
    /// [`reliable`](Capabilities::reliable), or whose ends say [`Endpoint::may_lose`]. A constant, so that loops that look
    /// for losses are built for no other transport.
    const CAN_LOSE: bool = false;

    /// Whether one publication can reach several followers: it carries [`Pattern::FanOut`] by itself then, and with it
    /// [`Pattern::FanIn`]. A constant, so that the loops of a leader of many are built for no other transport; the others
    /// fan out by a send for each follower.
    const FANS_OUT: bool = false;

    /// What it is and what it can do; constant for the life of the process.
    fn definition(&self) -> &Definition;

    /// Whether what a user has set of its options can be used: files that they name, and how they go
    /// together. Each has been checked against its specification. Asked before anything is measured.
    fn check(&self, _options: &BTreeMap<String, String>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether it can run on this machine now. Called in the command: it must be quick, start
    /// nothing and leave nothing.
    fn probe(&self) -> Availability {
        Availability::Available { version: None }
    }

    /// Opens one end. Called once in the leader and once in every follower, at the same time; the
    /// ends exchange addresses and descriptors through `peers`.
    ///
    /// Every buffer is made, filled with zeros and touched here, so that the measured loop takes no
    /// page fault. A name in the file system lives no longer than the exchange needs it.
    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error>;

    /// What killed sessions of these names can have left elsewhere than in their directories and, under
    /// names that begin with their own, in `/dev/shm`, `/dev/mqueue`, `/tmp` and `/var/tmp`. A library
    /// that makes up names adds those of any dead session. It only names them: the engine removes what
    /// this user owns and nobody uses.
    fn leftovers(&self, _sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        Ok(Vec::new())
    }

    /// The library that is asked for leftovers: transports of one library leave the same, and one of them
    /// is asked for all.
    fn library(&self) -> &str {
        &self.definition().name
    }
}

/// Makes one item of each transport of a list.
///
/// A list of transports of different types cannot be an array, and a trait object would put a
/// dynamic call into the measured loop. So a crate that offers transports offers a function that
/// hands each of them to a collector, which can build code for exactly that type.
pub trait Collect {
    /// What becomes of a transport.
    type Item;
    /// Makes the item of one transport.
    fn item<T: Transport>(&mut self, transport: T) -> Self::Item;
}
