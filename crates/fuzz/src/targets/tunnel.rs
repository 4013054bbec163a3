//! What comes through the encrypted tunnel, to either side.

use ipcmark_remote::fuzzing;

use crate::target::Target;

pub const TARGET: Target = Target { name: "tunnel", run: fuzzing::tunnel };
