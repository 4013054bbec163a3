//! A follower's input from a peer that claims to be a leader, before the handshake is complete.

use ipcmark_remote::fuzzing;

use crate::target::Target;

pub const TARGET: Target = Target { name: "leader", run: fuzzing::leader };
