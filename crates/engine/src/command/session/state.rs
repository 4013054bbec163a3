//! The state of a session, and why it did not do what it was asked.

use std::{
    os::{fd::BorrowedFd, unix::net::UnixStream},
    time::Duration,
};

use ipcmark_fdpass::FrameSocket;
use ipcmark_transport::Error;

use super::worker::Worker;
use crate::{
    command::keeper_process::KeeperProcess,
    wire::{KeeperReport, Order, PlainText},
};

/// A keeper with its workers, and the keepers of followers elsewhere. Dropping it ends them all.
pub(crate) struct Session<'a> {
    pub(super) keeper: KeeperProcess,
    pub(super) followers: Vec<FrameSocket>,
    pub(super) workers: Vec<Worker>,
    /// Readable as soon as the user wants to stop.
    pub(super) interrupt: &'a UnixStream,
    pub(super) timeout: Duration,
    /// What is being done, for the reason of a failure.
    pub(super) phase: String,
    /// Whether the system calls of its workers are counted.
    pub(super) counts_calls: bool,
}

impl Session<'_> {
    /// The connection to a keeper: our own is the first, then those of the followers.
    pub(super) fn frames(&self, keeper: usize) -> &FrameSocket {
        match keeper.checked_sub(1) {
            None => &self.keeper.frames,
            Some(follower) => &self.followers[follower],
        }
    }
}

/// Why a session did not do what it was asked.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// It went wrong, and why.
    Failed(String),
    /// The sandbox was refused, and why.
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
