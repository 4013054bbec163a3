//! A transport as the engine keeps it: without its type on the outside, with it in the loops.

use std::collections::BTreeMap;

use ipcmark_transport::{
    Availability, Collect, Definition, Error, Leftover, SessionName, Transport,
};

use crate::worker::{self, WorkerContext};

/// A transport of any type. Everything dynamic happens once a session; the loops inside
/// [`AnyTransport::serve`] are built for the transport's own type.
pub trait AnyTransport: Send + Sync {
    /// What it is and what it can do.
    fn definition(&self) -> &Definition;
    /// Whether what a user has set of its options can be used.
    fn check(&self, options: &BTreeMap<String, String>) -> Result<(), Error>;
    /// Whether it can run here.
    fn probe(&self) -> Availability;
    /// Serves a session as one of its workers, until the command is gone.
    #[doc(hidden)]
    fn serve(&self, context: &mut WorkerContext) -> Result<(), Error>;
    /// What killed sessions of these names can have left beyond names that begin with theirs.
    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error>;
    /// The library that is asked for leftovers, once for all transports of it.
    fn library(&self) -> &str;
}

/// The transports of a command, in the order in which they are listed.
pub type Registry = Vec<Box<dyn AnyTransport>>;

/// Makes a [`AnyTransport`] of each transport of a list.
pub struct Register;

struct Registered<T>(T);

impl Collect for Register {
    type Item = Box<dyn AnyTransport>;

    fn item<T: Transport>(&mut self, transport: T) -> Self::Item {
        Box::new(Registered(transport))
    }
}

impl<T: Transport> AnyTransport for Registered<T> {
    fn definition(&self) -> &Definition {
        self.0.definition()
    }

    fn check(&self, options: &BTreeMap<String, String>) -> Result<(), Error> {
        self.0.check(options)
    }

    fn probe(&self) -> Availability {
        self.0.probe()
    }

    fn serve(&self, context: &mut WorkerContext) -> Result<(), Error> {
        worker::serve(&self.0, context)
    }

    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error> {
        self.0.leftovers(sessions)
    }

    fn library(&self) -> &str {
        self.0.library()
    }
}
