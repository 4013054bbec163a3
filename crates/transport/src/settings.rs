//! What an end is opened with.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{SessionName, Wait};

/// How often a `hybrid` end polls before it sleeps: a few tens of microseconds, about what a sleep
/// and a wake-up cost.
pub const HYBRID_POLLS: u32 = 2_000;

/// The longest that an unreliable transport sleeps in one call.
pub const MAX_SLEEP: Duration = Duration::from_millis(10);

/// Which end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The process that measures.
    Leader,
    /// A process that reflects or consumes, with its number from 0.
    Follower(u32),
}

impl Role {
    /// The word for it in sentences: `leader` or `follower`.
    pub fn as_str(self) -> &'static str {
        if self.is_leader() { "leader" } else { "follower" }
    }

    /// Whether this is the leader's end.
    pub fn is_leader(self) -> bool {
        self == Role::Leader
    }
}

/// What an end is opened with; the same on every end but for the role.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which end it is.
    pub role: Role,
    /// How it waits.
    pub wait: Wait,
    /// The largest message, in bytes, that this end will carry; smaller ones are carried as well.
    pub payload: usize,
    /// How many followers the leader has.
    pub subscribers: u32,
    /// A name that nothing else on the machine has: the start of the name of every object that is
    /// made.
    pub name: SessionName,
    /// A directory of this session alone, for what needs a path; the engine removes it.
    pub directory: PathBuf,
    /// Where the other ends reach this one, if they are on other hosts; nothing where all are on this
    /// one, in which case nobody else should be able to.
    pub address: Option<IpAddr>,
    /// What the user has set of the transport's options, by key, checked before.
    pub options: BTreeMap<String, String>,
}

impl Settings {
    /// The address to listen at: this end's own, or the loopback interface's where all ends are on
    /// this host.
    pub fn own_address(&self) -> IpAddr {
        self.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    /// What an option is set to, if it is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.options.get(key)?.parse().ok()
    }

    /// Whether an option is set to this word.
    pub fn is_set_to(&self, key: &str, word: &str) -> bool {
        self.options.get(key).is_some_and(|value| value == word)
    }
}
