//! A transport as the engine keeps it: type-erased outside, with its concrete type in the loops.

use std::collections::BTreeMap;

use ipcmark_transport::{
    Availability, Collect, Definition, Error, Leftover, SessionName, Transport,
};

use crate::worker::{self, WorkerContext};

/// A transport of any type. Dynamic dispatch happens once a session; the loops inside [`AnyTransport::serve`] are
/// built for the transport's own type.
pub trait AnyTransport: Send + Sync {
    /// The transport's definition and capabilities.
    fn definition(&self) -> &Definition;
    /// Checks the option values that a user has set.
    fn check(&self, options: &BTreeMap<String, String>) -> Result<(), Error>;
    /// Checks whether the transport can run here.
    fn probe(&self) -> Availability;
    /// Serves a session as one of its workers, until the command is gone.
    #[doc(hidden)]
    fn serve(&self, context: &mut WorkerContext) -> Result<(), Error>;
    /// Resources that killed sessions with these names may have left under names that do not begin with a session's
    /// name.
    fn leftovers(&self, sessions: &[SessionName]) -> Result<Vec<Leftover>, Error>;
    /// The library that is asked for leftovers, once for all of its transports.
    fn library(&self) -> &str;
}

/// The transports of a command, in listing order.
pub type Registry = Vec<Box<dyn AnyTransport>>;

/// Turns each transport of a list into an [`AnyTransport`].
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
