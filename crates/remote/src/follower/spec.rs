//! The settings of a follower's command.

use std::{collections::BTreeMap, os::unix::net::UnixStream};

use ipcmark_engine::Registry;
use ipcmark_machine::placement::Pinning;

use crate::LeaderAddress;

/// A follower's command.
pub struct Follower<'a> {
    /// The address of the leader.
    pub leader: LeaderAddress,
    /// The transports that it can serve.
    pub registry: &'a Registry,
    /// The user's values of options that name files: by transport, then by key.
    pub paths: BTreeMap<String, BTreeMap<String, String>>,
    /// The processor of the worker, if the leader is on another host and cannot choose.
    pub pinning: Pinning,
    /// True if it does not answer measured messages.
    pub is_silent: bool,
    /// The user's options that must equal the leader's if the leader has them, by name.
    pub terms: BTreeMap<String, String>,
    /// Called with the name of the transport for each session that has a worker.
    pub served: &'a dyn Fn(&str),
    /// Readable once the user interrupts.
    pub interrupt: &'a UnixStream,
}
