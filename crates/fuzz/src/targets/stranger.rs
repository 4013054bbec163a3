//! A leader's input from a peer that it has not accepted: at its Unix socket, over TCP without the secret, and with
//! it.

use ipcmark_remote::fuzzing;

use crate::target::Target;

pub const TARGET: Target = Target { name: "stranger", run: fuzzing::stranger };
