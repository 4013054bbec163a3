//! Objects that killed sessions leave behind and that the session's name does not identify.

use std::{fmt, path::PathBuf};

/// An object that a killed session may have left outside its directory, except those whose names begin with the
/// session's in the directories for temporary files. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// A file of a library in `/dev/shm`, `/tmp` or `/var/tmp`; in use if a process has it open.
    File(PathBuf),
    /// A POSIX message queue: queue names cannot be listed where `/dev/mqueue` is not mounted.
    MessageQueue(String),
    /// A System V message queue whose key only this session uses.
    SystemVQueue(i32),
    /// A System V segment whose key only this session uses.
    SystemVSegment(i32),
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::File(path) => write!(f, "{}", path.display()),
            Leftover::MessageQueue(name) => write!(f, "the message queue {name}"),
            Leftover::SystemVQueue(key) => write!(f, "the System V queue with the key {key:#010x}"),
            Leftover::SystemVSegment(key) => {
                write!(f, "the System V segment with the key {key:#010x}")
            }
        }
    }
}
