//! What the command orders of a keeper, and what that reports.

use std::path::PathBuf;

use ipcmark_transport::{Role, RunId};
use serde::{Deserialize, Serialize};

/// The descriptor on which a keeper finds its way to the command.
pub(crate) const COMMAND_FD: i32 = 3;

/// The command to a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Prepare a session.
    Start {
        /// True if the session gets namespaces of its own.
        sandbox: bool,
        /// The run that it belongs to.
        run: RunId,
        /// Paths that the sandbox must not hide.
        visible: Vec<PathBuf>,
        /// True if a keeper whose command crashed removes the run's names: nobody else on this host does.
        cleans: bool,
    },
    /// Fork a process with these workers. Descriptors, for each in turn: its control channel, its
    /// standard error, then one socket a peer.
    Spawn {
        /// The workers of the process; the first one's exit is reported.
        workers: Vec<WorkerSpec>,
        /// The transport that they serve; without one they serve what needs none.
        transport: Option<String>,
    },
    /// Report the state of the workers.
    Inspect,
    /// The session is over.
    End,
}

/// One worker to start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// Its role.
    pub role: Role,
    /// The processor that it is pinned to.
    pub cpu: Option<u32>,
    /// The number of its rendezvous sockets.
    pub peers: usize,
}

/// A keeper to the command.
#[derive(Debug, Serialize, Deserialize)]
pub enum KeeperReport {
    /// The session is prepared.
    Ready,
    /// The system refuses the sandbox.
    Refused {
        /// The reason.
        reason: String,
    },
    /// The process is forked.
    Spawned,
    /// A worker's process has ended.
    Exited {
        /// Its role.
        role: Role,
        /// Its exit status or signal, in words.
        how: String,
    },
    /// Reported by a follower's command: the session is over, and none of its processes is left.
    Ended,
    /// The state of each worker that is not running as it should, in words.
    States(Vec<String>),
}
