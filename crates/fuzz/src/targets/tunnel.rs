//! The input of either side through the encrypted tunnel.

use ipcmark_remote::fuzzing;

use crate::target::Target;

pub const TARGET: Target = Target { name: "tunnel", run: fuzzing::tunnel };
