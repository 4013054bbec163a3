//! The settings that an end is opened with.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Deadline, SessionName, Wait};

/// The number of polls before a `hybrid` end sleeps: a few tens of microseconds, about the cost of a
/// sleep and a wake-up.
pub const HYBRID_POLLS: u32 = 2_000;

/// The longest sleep of an unreliable transport in one call.
pub const MAX_SLEEP: Duration = Duration::from_millis(10);

/// The role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The measuring process.
    Leader,
    /// A process that reflects or consumes, with its number from 0.
    Follower(u32),
}

impl Role {
    /// The word for the role in sentences: `leader` or `follower`.
    pub fn as_str(self) -> &'static str {
        if self.is_leader() { "leader" } else { "follower" }
    }

    /// True for the leader.
    pub fn is_leader(self) -> bool {
        self == Role::Leader
    }
}

/// The settings that an end is opened with; all ends share them, except the role.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The role of this end.
    pub role: Role,
    /// The wait of this end.
    pub wait: Wait,
    /// The largest message in bytes; the end must carry smaller ones as well.
    pub payload: usize,
    /// The number of followers.
    pub subscribers: u32,
    /// A name that is unique on the machine: the prefix of the names of all objects that are created.
    pub name: SessionName,
    /// A directory of this session alone, for objects that need a path; the engine removes it.
    pub directory: PathBuf,
    /// The address where ends on other hosts reach this one; `None` if all ends are on this host, in
    /// which case no other host should reach it.
    pub address: Option<IpAddr>,
    /// The time that this end may wait for the others while it opens, except in the rendezvous, which has its own
    /// limit. It is shorter than the session's `--timeout`, so that the error of the end is the one that is reported.
    pub connect_within: Duration,
    /// The transport's options that the user has set, by key, already checked.
    pub options: BTreeMap<String, String>,
}

impl Settings {
    /// The address to listen at: this end's own, or the loopback interface's if all ends are on this
    /// host.
    pub fn own_address(&self) -> IpAddr {
        self.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// The deadline for finding the other ends, counted from now: an end that opens makes it once, first of all.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.connect_within)
    }

    /// The value of an option, if it is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.options.get(key)?.parse().ok()
    }

    /// True if the option is set to this word.
    pub fn is_set_to(&self, key: &str, word: &str) -> bool {
        self.options.get(key).is_some_and(|value| value == word)
    }
}
