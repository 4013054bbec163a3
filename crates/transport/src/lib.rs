//! The contract between ipcmark and a *transport*: one way of moving messages between processes.
//!
//! A transport describes itself ([`Definition`]), reports if it can run here ([`Transport::probe`]) and
//! opens one of its ends ([`Transport::open`]). An [`Endpoint`] is that end: it only moves messages.
//! The clock, pacing, sequence numbers and checks belong to the engine.
//!
//! Requirements on every transport, each tested by the conformance suite:
//!
//! - two ends in two processes, with a separate channel for each direction: an end never takes a
//!   message that it published itself;
//! - a message arrives once, in order, whole, with the length it was published with, for every
//!   length from [`MIN_PAYLOAD`] to the `payload` the ends were opened with;
//! - a full queue is [`Step::WouldBlock`], never a drop and never an error;
//! - our code allocates, logs, times and locks nothing between open and close;
//! - after close no file, queue or segment remains; after a crash, only those that carry the session's name
//!   or are listed by [`Transport::leftovers`].

mod buffers;
mod deadline;
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
pub use deadline::Deadline;
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
pub use rendezvous::{MAX_FRAME_BYTES, MAX_FRAME_FDS, Rendezvous};
pub use settings::{HYBRID_POLLS, MAX_SLEEP, Role, Settings};

/// One way of moving messages between processes.
pub trait Transport: Send + Sync + 'static {
    /// One process's end.
    type Endpoint: Endpoint;

    /// True if its ends copy messages from and into their own buffers, of which there can be several. It then has the
    /// option [`BUFFERS`], and implements [`Endpoint::next_source`] and [`Endpoint::next_target`]. A constant, so
    /// that loops that change buffers are built for no other transport.
    const CYCLES: bool = false;

    /// True if messages can be lost with some options: the transport is not [`reliable`](Capabilities::reliable), or
    /// its ends can return true from [`Endpoint::may_lose`]. A constant, so that loops that look for losses are built
    /// for no other transport.
    const CAN_LOSE: bool = false;

    /// True if one publication can reach several followers: it then carries [`Pattern::FanOut`] natively, and
    /// [`Pattern::FanIn`] too. A constant, so that the loops of a leader with many followers are built for no other
    /// transport; the others fan out by a send to each follower.
    const FANS_OUT: bool = false;

    /// Its name, options and capabilities; constant for the life of the process.
    fn definition(&self) -> &Definition;

    /// Checks that the options set by the user are usable: the files that they name, and their combination.
    /// Each has been checked against its specification. Called before anything is measured.
    fn check(&self, _options: &BTreeMap<String, String>) -> Result<(), Error> {
        Ok(())
    }

    /// Reports if it can run on this machine now. Called in the command's process: it must be quick,
    /// start nothing and leave nothing.
    fn probe(&self) -> Availability {
        Availability::Available { version: None }
    }

    /// Opens one end. Called once in the leader and once in every follower, at the same time; the
    /// ends exchange addresses and descriptors through `peers`.
    ///
    /// It creates every buffer, fills it with zeros and touches it, so that the measured loop takes no
    /// page fault. A name in the file system exists no longer than the exchange needs it.
    ///
    /// If the ends must find each other by other means than `peers`, they wait no longer than
    /// [`Settings::connect_within`].
    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Self::Endpoint, Error>;

    /// The objects that killed sessions of these names may have left outside their directories, except those
    /// whose names begin with the session's in `/dev/shm`, `/dev/mqueue`, `/tmp` and `/var/tmp`. A library that
    /// generates names adds those of any dead session. It only lists them: the engine removes those that this
    /// user owns and no process uses.
    fn leftovers(&self, _sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        Ok(Vec::new())
    }

    /// The library to ask for leftovers: transports of one library report the same leftovers, so only one of
    /// them is asked.
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
    /// The item made from a transport.
    type Item;
    /// Makes the item of one transport.
    fn item<T: Transport>(&mut self, transport: T) -> Self::Item;
}
