//! A transport as the list shows it.

use ipcmark_engine::AnyTransport;
use ipcmark_transport::{Availability, Capabilities, Definition};

/// A transport as the list shows it.
pub(super) struct ListRow<'a> {
    pub definition: &'a Definition,
    pub availability: Availability,
}

impl<'a> ListRow<'a> {
    /// Probes whether a transport can run here.
    pub(super) fn new(candidate: &'a dyn AnyTransport) -> Self {
        Self { definition: candidate.definition(), availability: candidate.probe() }
    }
}

/// The names of the waits.
pub(super) fn waits(capabilities: &Capabilities) -> Vec<&'static str> {
    capabilities.waits.iter().map(|wait| wait.as_str()).collect()
}
