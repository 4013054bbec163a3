//! The state of a session, and its errors.

use std::{
    os::{fd::BorrowedFd, unix::net::UnixStream},
    time::Duration,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;

use super::worker::SessionWorker;
use crate::{
    command::keeper_process::KeeperProcess,
    wire::{Counting, KeeperReport, Order, PlainText},
};

/// A keeper with its workers, and the keepers of followers elsewhere. Dropping it ends them all.
pub(crate) struct Session<'a> {
    pub(super) keeper: KeeperProcess,
    pub(super) followers: Vec<FrameSocket>,
    /// Those that have started, the leader first.
    pub(super) workers: Vec<SessionWorker>,
    /// The number of its followers, also of those that have not started yet.
    pub(super) planned_followers: usize,
    /// Becomes readable when the user wants to stop.
    pub(super) interrupt: &'a UnixStream,
    pub(super) timeout: Duration,
    /// The current phase, for the reason of a failure.
    pub(super) phase: String,
    /// The counts that its workers take.
    pub(super) counting: Counting,
}

impl Session<'_> {
    /// The process from which the followers descend; none where another command starts them.
    pub(crate) fn keeper_of_followers(&self) -> Option<i32> {
        self.followers.is_empty().then(|| self.keeper.id())
    }

    /// The connection to a keeper: our own is the first, then those of the followers.
    pub(super) fn frames(&self, keeper: usize) -> &FrameSocket {
        match keeper.checked_sub(1) {
            None => &self.keeper.frames,
            Some(follower) => &self.followers[follower],
        }
    }
}

/// The reason why a session did not do what it was asked.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// The reason of a failure.
    Failed(String),
    /// The reason why the sandbox was refused.
    Refused(String),
    /// The user wants to stop.
    Interrupted,
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        SessionError::Failed(PlainText::from(error.to_string()).into())
    }
}

pub(super) fn unexpected(report: &KeeperReport) -> SessionError {
    SessionError::Failed(format!("a keeper of the session reported {report:?} out of turn"))
}

pub(super) fn send(to: &FrameSocket, order: &Order, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let bytes = serde_json::to_vec(order).map_err(|e| Error::new("write", "an order", e))?;
    to.send(&bytes, fds)
}
