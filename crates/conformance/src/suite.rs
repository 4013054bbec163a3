//! The transports under test, each as something that can be run.

use ipcmark_machine::leftovers;
use ipcmark_transport::{
    Availability, Collect, Definition, Endpoint, Error, Leftover, Rendezvous, SessionName,
    Settings, Transport,
};

/// One transport under test.
pub struct Suite(Box<dyn Subject>);

/// Makes a [`Suite`] of every transport of a list.
pub struct Suites;

impl Collect for Suites {
    type Item = Suite;

    fn item<T: Transport>(&mut self, transport: T) -> Suite {
        Suite(Box::new(transport))
    }
}

impl Suite {
    /// What the transport says about itself.
    pub fn definition(&self) -> &Definition {
        self.0.definition()
    }

    /// Whether it can run here.
    pub fn probe(&self) -> Availability {
        self.0.probe()
    }

    /// Opens one end.
    pub(crate) fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Box<dyn Endpoint>, Error> {
        self.0.open(settings, peers)
    }

    /// Removes what a killed session left, as the engine does.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        let mut outcome = leftovers::remove(&self.0.leftovers(name)?);
        outcome.extend(leftovers::remove_named(name));
        outcome.faults.into_iter().next().map_or(Ok(()), Err)
    }
}

/// A transport whose type has been forgotten: nothing is timed here, and each check is compiled once
/// instead of once a transport.
trait Subject: Send + Sync {
    fn definition(&self) -> &Definition;
    fn probe(&self) -> Availability;
    fn open(
        &self,
        settings: &Settings,
        peers: &mut dyn Rendezvous,
    ) -> Result<Box<dyn Endpoint>, Error>;
    fn leftovers(&self, name: &str) -> Result<Vec<Leftover>, Error>;
}

impl<T: Transport> Subject for T {
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

/// Whether there is no library behind it: what a library keeps, allocates and prints is its own.
pub(crate) fn is_all_ours(definition: &Definition) -> bool {
    definition.family == "os"
}
