//! What killed sessions leave that cannot be found by the session's name.

use std::{fmt, path::PathBuf};

/// Something that a killed session can have left elsewhere than in its directory and, under names that
/// begin with its own, in the places for temporary files. It need not be there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leftover {
    /// A file of a library's own in `/dev/shm`, `/tmp` or `/var/tmp`; in use if a process has it open.
    File(PathBuf),
    /// A POSIX message queue: its names cannot be listed where `/dev/mqueue` is not mounted.
    MessageQueue(String),
    /// A System V message queue under a key that only this session has.
    SystemVQueue(i32),
    /// A System V segment under a key that only this session has.
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
