//! The transports of the command, with the measured loops that are compiled for each of them.
//!
//! The loops of the engine are generic: they are instantiated here, once for every type of transport. So only this
//! crate takes that compile time, and it is compiled in parallel with the command's other crates.

use ipcmark_abi::ExaminedModules;
use ipcmark_engine::{Register, Registry};

/// The transports of the operating system.
pub fn native() -> Registry {
    ipcmark_native::transports(&mut Register)
}

/// The transports that the command knows by itself, including those of modules; no module is
/// searched for.
pub fn known() -> Registry {
    of(&ExaminedModules::default())
}

/// The transports of the operating system, then those of the modules that were found; of two transports with the same
/// name, the first wins.
pub fn of(found: &ExaminedModules) -> Registry {
    let mut registry = native();
    for candidate in ipcmark_abi::modules(&mut Register, found) {
        let name = &candidate.definition().name;
        if registry.iter().all(|other| other.definition().name != *name) {
            registry.push(candidate);
        }
    }
    registry
}
