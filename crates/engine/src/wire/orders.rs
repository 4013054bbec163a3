//! The command's orders to a keeper, and the keeper's reports.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    net::IpAddr,
    path::{Path, PathBuf},
};

use ipcmark_transport::{Role, RunId};
use serde::{Deserialize, Serialize};

use super::text::PlainText;

/// The descriptor of the keeper's socket to the command.
pub(crate) const COMMAND_FD: i32 = 3;

/// The name of the thread in which a follower measures.
pub(crate) const FOLLOWER_THREAD: &CStr = c"ipcmark-follow";

/// An order of the command to a keeper.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Prepare a session.
    Start {
        /// The run that it belongs to.
        run: RunId,
        /// The isolation of its processes; a follower's command decides that itself.
        isolation: Option<Isolation>,
    },
    /// Keep this worker for the process that the next [`Order::Spawn`] forks. It comes with its descriptors: its
    /// control channel, its standard error, then one socket per peer.
    Gather {
        /// The worker.
        worker: WorkerSpec,
    },
    /// Fork a process with the kept workers and this one, which comes with its descriptors too. The exit of the
    /// process is reported as that of its first worker.
    Spawn {
        /// The last worker of the process, or the only one.
        worker: WorkerSpec,
        /// The transport that they serve; without one, they serve only what needs none.
        transport: Option<String>,
        /// The source of the values of options that name files.
        paths: PathOptions,
        /// The counts besides its usual costs.
        #[serde(default)]
        counting: Counting,
    },
    /// Report the state of the workers.
    Inspect,
    /// The session is over.
    End,
}

/// Counts of a process besides the costs that every result has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counting {
    /// Nothing.
    #[default]
    Nothing,
    /// Its system calls: exact, at a cost that makes its times unusable.
    Calls,
    /// Its instructions and cycles, by the processor's own counters.
    Cycles,
}

/// The isolation of a session's processes from the rest of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Isolation {
    /// Namespaces of its own.
    Namespaces {
        /// Paths that the namespaces must not hide.
        visible: Vec<PathBuf>,
    },
    /// Only names with the run's id.
    Names {
        /// The directory of the run.
        directory: PathBuf,
    },
}

impl Isolation {
    /// The directory for the files of the run's session of this number.
    pub(crate) fn session_directory(&self, number: u64) -> PathBuf {
        match self {
            Self::Namespaces { .. } => Path::new("/tmp").to_owned(),
            Self::Names { directory } => directory.join(number.to_string()),
        }
    }
}

/// The source of the values of a worker's options that name files: the sender of the other values can be on another
/// host, or another user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PathOptions {
    /// The request, as for all other options.
    Requested,
    /// The user who started the worker's command: only these values, by key.
    Local(BTreeMap<String, String>),
}

/// One worker to start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// Its role.
    pub role: Role,
    /// The processor to pin it to.
    pub cpu: Option<u32>,
    /// The number of its rendezvous sockets.
    pub peers: usize,
    /// The address at which endpoints on other hosts reach its endpoint.
    pub address: Option<IpAddr>,
}

/// A report of a keeper to the command.
#[derive(Debug, Serialize, Deserialize)]
pub enum KeeperReport {
    /// The session is prepared.
    Ready,
    /// The system refuses to create the sandbox.
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
    /// Sent by a follower's command: the session is over, and none of its processes is left.
    Ended,
    /// The workers that are not running normally, each described in words.
    States(Vec<PlainText>),
}
