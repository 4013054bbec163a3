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
//! - after close, or after [`Transport::remove`] following a crash, no file, queue or segment stays.

mod definition;
mod endpoint;
mod error;
mod name;
mod option;
mod rendezvous;
mod settings;

use std::collections::BTreeMap;

pub use definition::{Availability, Capabilities, Carrier, Definition, Pattern, Span, Wait};
pub use endpoint::{Endpoint, Step};
pub use error::Error;
pub use name::{RunId, SessionName};
pub use option::{OptionSpec, number};
pub use rendezvous::Rendezvous;
pub use settings::{HYBRID_POLLS, MAX_PAYLOAD, MAX_SLEEP, MIN_PAYLOAD, Role, Settings};

/// One way of moving messages between processes.
pub trait Transport: Send + Sync + 'static {
    /// One process's end.
    type Endpoint: Endpoint;

    /// Name, family, summary and capabilities; constant for the life of the process.
    fn definition(&self) -> &Definition;

    /// What users can set of it; constant for the life of the process. What they set has been
    /// checked when it comes with the settings of an end.
    fn options(&self) -> &[OptionSpec] {
        &[]
    }

    /// Whether what a user has set of its options can be used: files that they name, and how they go
    /// together. Each has been checked against its specification. Asked before anything is measured.
    fn check(&self, _options: &BTreeMap<String, String>) -> Result<(), Error> {
        Ok(())
    }

    /// What carries its messages, where it is always the same: the result says what it really was, and
    /// the row is marked where that is something else.
    fn carrier(&self) -> Option<Carrier> {
        None
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

    /// Removes what a killed session named `name` may have left in the system's own tables. Called
    /// in the command, without a sandbox only. What lies in the session's directory is the
    /// engine's to remove.
    fn remove(&self, name: &str) -> Result<(), Error> {
        let _ = name;
        Ok(())
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
