//! What the command orders of a keeper, and what that reports.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::{Path, PathBuf},
};

use ipcmark_transport::{Role, RunId};
use serde::{Deserialize, Serialize};

use super::text::PlainText;

/// The descriptor on which a keeper finds its way to the command.
pub(crate) const COMMAND_FD: i32 = 3;

/// The command to a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Prepare a session.
    Start {
        /// The run that it belongs to.
        run: RunId,
        /// Where its processes run; a follower's command decides that itself.
        isolation: Option<Isolation>,
    },
    /// Fork a process with these workers. Descriptors, for each in turn: its control channel, its
    /// standard error, then one socket a peer.
    Spawn {
        /// The workers of the process; the first one's exit is reported.
        workers: Vec<WorkerSpec>,
        /// The transport that they serve; without one they serve what needs none.
        transport: Option<String>,
        /// Where the values of options that name files come from.
        paths: PathOptions,
        /// Whether its system calls are counted, which makes its times worthless.
        #[serde(default)]
        counts_calls: bool,
    },
    /// Report the state of the workers.
    Inspect,
    /// The session is over.
    End,
}

/// What separates the processes of a session from the rest of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Isolation {
    /// Namespaces of its own.
    Namespaces {
        /// Paths that they must not hide.
        visible: Vec<PathBuf>,
    },
    /// Nothing but names that carry the run's id.
    Names {
        /// The directory of the run.
        directory: PathBuf,
    },
}

impl Isolation {
    /// The directory in which the run's session of this number has its files.
    pub(crate) fn session_directory(&self, number: u64) -> PathBuf {
        match self {
            Self::Namespaces { .. } => Path::new("/tmp").to_owned(),
            Self::Names { directory } => directory.join(number.to_string()),
        }
    }
}

/// Where a worker takes the values of options from that name files: whoever chooses the other values can be
/// on another host, or another user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PathOptions {
    /// From the request, as all others.
    Requested,
    /// From the user who started the worker's command: only these, by key.
    Local(BTreeMap<String, String>),
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
    /// The address at which the ends on other hosts reach its own.
    pub address: Option<IpAddr>,
}

/// A keeper to the command.
#[derive(Debug, Serialize, Deserialize)]
pub enum KeeperReport {
    /// The session is prepared.
    Ready,
    /// The system refuses the sandbox.
    Refused {
        /// The reason.
        reason: PlainText,
    },
    /// The process is forked.
    Spawned,
    /// A worker's process has ended.
    Exited {
        /// Its role.
        role: Role,
        /// Its exit status or signal, in words.
        how: PlainText,
    },
    /// Reported by a follower's command: the session is over, and none of its processes is left.
    Ended,
    /// The state of each worker that is not running as it should, in words.
    States(Vec<PlainText>),
}
