//! How a run measures its plan.

use std::{path::PathBuf, time::Duration};

use ipcmark_machine::placement::Pinning;

use super::followers::FollowerSource;

/// How a run measures its plan; the defaults measure in a sandbox, pinned, with 10 s of patience.
pub struct RunOptions {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of the command, for the record.
    pub version: String,
    /// Where the workers run.
    pub pinning: Pinning,
    /// Whether to try namespaces.
    pub sandbox: bool,
    /// Files and directories that the transports' options name: a sandbox must not hide them.
    pub visible: Vec<PathBuf>,
    /// Where the followers come from, if this command does not start them.
    pub followers: Option<Box<dyn FollowerSource>>,
    /// The floor round trip of the distance at which rows are compared; where nothing is said, the one with most blocks.
    pub distance: Option<Duration>,
    /// Whether system calls are counted: exactly, and at such a price that times mean nothing.
    pub counts_calls: bool,
    /// How long a case may take beyond its expected length.
    pub timeout: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            version: String::new(),
            pinning: Pinning::Auto,
            sandbox: true,
            visible: Vec::new(),
            followers: None,
            distance: None,
            counts_calls: false,
            timeout: Duration::from_secs(10),
        }
    }
}
