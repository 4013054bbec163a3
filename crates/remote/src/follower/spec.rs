//! A follower's command, as its user describes it.

use std::{collections::BTreeMap, os::unix::net::UnixStream};

use ipcmark_engine::Registry;
use ipcmark_machine::placement::Pinning;

use crate::LeaderAddress;

/// A follower's command.
pub struct Follower<'a> {
    /// Where the leader listens.
    pub leader: LeaderAddress,
    /// The transports that it can serve.
    pub registry: &'a Registry,
    /// What its user set of options that name files: by transport, then by key.
    pub paths: BTreeMap<String, BTreeMap<String, String>>,
    /// The processor of the worker, if the leader is on another host and cannot choose.
    pub pinning: Pinning,
    /// True if it answers nothing that is measured.
    pub is_silent: bool,
    /// Options that its user gave, and which must be the leader's where it has such: by their names.
    pub terms: BTreeMap<String, String>,
    /// Called with the name of the transport of each session that has a worker.
    pub served: &'a dyn Fn(&str),
    /// Readable as soon as the user wants to stop.
    pub interrupt: &'a UnixStream,
}
