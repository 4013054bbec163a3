//! The transports under test, each as something that can be run.

use ipcmark_transport::{
    Availability, Collect, Definition, Endpoint, Error, Rendezvous, Settings, Transport,
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

    /// Removes what a killed session left.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        self.0.remove(name)
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
    fn remove(&self, name: &str) -> Result<(), Error>;
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

    fn remove(&self, name: &str) -> Result<(), Error> {
        Transport::remove(self, name)
    }
}
