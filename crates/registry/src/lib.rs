//! The transports of the command, with the measured loops that are built for each of them.
//!
//! The loops of the engine are generic: they become machine code here, once for every type of transport. So this crate
//! alone takes the time of that, is compiled while those of the command's other work are, and is optimized in
//! development builds too.

use ipcmark_abi::Found;
use ipcmark_engine::{Register, Registry};

/// The transports of the operating system.
pub fn native() -> Registry {
    ipcmark_native::transports(&mut Register)
}

/// The transports that the command knows by itself, of modules too, none of which is looked for.
pub fn known() -> Registry {
    of(&Found::default())
}

/// Those of the operating system, then those of the modules that were found; of two transports with one name the first
/// counts.
pub fn of(found: &Found) -> Registry {
    let mut registry = native();
    for candidate in ipcmark_abi::modules(&mut Register, found) {
        let name = &candidate.definition().name;
        if registry.iter().all(|other| other.definition().name != *name) {
            registry.push(candidate);
        }
    }
    registry
}
