//! The transports of the command: those of the operating system, then those of modules.

use std::{fs::File, path::PathBuf};

use ipcmark_abi::Found;
use ipcmark_engine::{Register, Registry};

use crate::output;

/// Looks for modules and lists everything. An error is one of the command line.
pub(crate) fn look(named: &[PathBuf]) -> Result<Registry, String> {
    for file in named {
        File::open(file).map_err(|e| format!("cannot read the module {}: {e}", file.display()))?;
    }
    let found = Found::look(named);
    for (path, fault) in found.faults() {
        output::say(format_args!("the module {}: {fault}", path.display()));
    }
    let (variable, value) = found.to_inherit();
    // SAFETY: the command has one thread as yet, so nobody reads the environment meanwhile.
    unsafe { std::env::set_var(variable, value) };
    Ok(of(&found))
}

/// The list; of two transports with one name the first counts.
pub(crate) fn of(found: &Found) -> Registry {
    let mut registry = ipcmark_native::transports(&mut Register);
    for candidate in ipcmark_abi::modules(&mut Register, found) {
        let name = &candidate.definition().name;
        if registry.iter().all(|other| other.definition().name != *name) {
            registry.push(candidate);
        }
    }
    registry
}
