//! What comes to a follower from somebody who says that it is a leader, before the handshake is over.

use ipcmark_remote::fuzzing;

use crate::target::Target;

pub const TARGET: Target = Target { name: "leader", run: fuzzing::leader };
