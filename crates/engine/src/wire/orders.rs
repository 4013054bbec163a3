//! What the command orders of a keeper, and what that reports.

use std::path::PathBuf;

use ipcmark_transport::{Role, RunId};
use serde::{Deserialize, Serialize};

/// The descriptor on which a keeper finds its way to the command.
pub(crate) const COMMAND_FD: i32 = 3;

/// The command to its keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Make ready, with a sandbox or without, for the run of this id. The sandbox hides none of the
    /// paths that must be `visible`. Without one a keeper that is deserted removes the run's names,
    /// if it `cleans`: if nobody else on this host does.
    Start { sandbox: bool, run: RunId, visible: Vec<PathBuf>, cleans: bool },
    /// Fork a process with these workers. Descriptors, for each in turn: its control channel, its
    /// standard error, then one socket a peer.
    Spawn { workers: Vec<WorkerSpec>, transport: Option<String> },
    /// Tell what the workers are doing.
    Inspect,
    /// The session is over.
    End,
}

/// One worker to start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerSpec {
    pub role: Role,
    pub cpu: Option<u32>,
    /// How many other ends its own has to meet.
    pub peers: usize,
}

/// A keeper to its command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum KeeperReport {
    Ready,
    Refused {
        reason: String,
    },
    Spawned,
    Exited {
        role: Role,
        how: String,
    },
    /// A companion: the session is over, and nothing of it is left.
    Ended,
    /// The state of each worker that is not running as it should, in words.
    States(Vec<String>),
}
