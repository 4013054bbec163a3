//! What a module offers, found out in a process that may die of it.

use std::path::Path;

use ipcmark_transport::Error;
use serde::{Deserialize, Serialize};

use crate::{
    c,
    description::{Description, Verdict},
    failure,
    library::Library,
};

/// What a module offers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Offer {
    pub family: String,
    pub transports: Vec<(Description, Verdict)>,
    /// What is wrong with transports that are left out.
    pub faults: Vec<String>,
}

/// What the process says of a module: what it offers, or why it cannot be loaded.
pub(crate) type Answer = Result<Offer, String>;

/// Loads the module at `path` and says what it offers.
pub(crate) fn answer(path: &Path) -> Answer {
    examine(path).map_err(|error| error.to_string())
}

fn examine(path: &Path) -> Result<Offer, Error> {
    let library = Library::load(path.as_os_str(), path)?;
    let (mut transports, mut faults) = (Vec::new(), Vec::new());
    for transport in library.transports() {
        match transport {
            Ok(transport) => transports.push((Description::of(transport), probe(transport))),
            Err(fault) => faults.push(fault),
        }
    }
    // After probe, for a library may not know its version before it has been set up.
    let version = library.version_text();
    for (_, verdict) in &mut transports {
        if let Verdict::Available { version: unknown } = verdict {
            unknown.clone_from(&version);
        }
    }
    Ok(Offer { family: library.family.into(), transports, faults })
}

fn probe(transport: &'static c::Transport) -> Verdict {
    let Some(probe) = transport.probe else { return Verdict::Available { version: None } };
    let mut error = failure::blank();
    // SAFETY: the contract's call.
    match unsafe { probe(transport, &mut error) } {
        c::DONE => Verdict::Available { version: None },
        code => {
            let install = crate::text::read_array(&error.remedy);
            error.remedy[0] = 0;
            let reason = failure::read(code, &error, "use", "it").to_string();
            Verdict::Unavailable { reason, install: (!install.is_empty()).then_some(install) }
        }
    }
}
