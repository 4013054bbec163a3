//! The transports under test, in a form that the suite can run.

use ipcmark_machine::leftovers;
use ipcmark_transport::{
    Availability, Collect, Definition, Endpoint, Error, Leftover, Rendezvous, SessionName,
    Settings, Transport,
};

/// One transport under test.
pub struct Suite(Box<dyn ErasedTransport>);

/// Makes a [`Suite`] for every transport of a list.
pub struct Suites;

impl Collect for Suites {
    type Item = Suite;

    fn item<T: Transport>(&mut self, transport: T) -> Suite {
        Suite(Box::new(transport))
    }
}

impl Suite {
    /// The transport's description of itself.
    pub fn definition(&self) -> &Definition {
        self.0.definition()
    }

    /// Its availability on this machine.
    pub fn probe(&self) -> Availability {
        self.0.probe()
    }

    /// Opens one endpoint.
    pub(crate) fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Box<dyn Endpoint>, Error> {
        self.0.open(settings, peers)
    }

    /// Removes the leftovers of a killed session, as the engine does.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        let mut outcome = leftovers::remove(&self.0.leftovers(name)?);
        outcome.extend(leftovers::remove_named(name));
        outcome.faults.into_iter().next().map_or(Ok(()), Err)
    }
}

/// A type-erased transport: nothing is timed here, and each check is compiled once instead of once
/// per transport.
trait ErasedTransport: Send + Sync {
    fn definition(&self) -> &Definition;
    fn probe(&self) -> Availability;
    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Box<dyn Endpoint>, Error>;
    fn leftovers(&self, name: &str) -> Result<Vec<Leftover>, Error>;
}

impl<T: Transport> ErasedTransport for T {
    fn definition(&self) -> &Definition {
        Transport::definition(self)
    }

    fn probe(&self) -> Availability {
        Transport::probe(self)
    }

    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Box<dyn Endpoint>, Error> {
        Ok(Box::new(Transport::open(self, settings, peers)?))
    }

    fn leftovers(&self, name: &str) -> Result<Vec<Leftover>, Error> {
        Transport::leftovers(self, &[SessionName::new(name)?])
    }
}

/// True if it has no library behind it: a library's own memory, allocations and output are not
/// checked.
pub(crate) fn is_all_ours(definition: &Definition) -> bool {
    definition.family == "os"
}
