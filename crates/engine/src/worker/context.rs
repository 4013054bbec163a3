//! A worker's state.

use std::net::IpAddr;

use ipcmark_fdpass::SocketRendezvous;
use ipcmark_machine::pin::Pin;
use ipcmark_transport::{Role, RunId};

use crate::{
    patterns::ProbePages,
    wire::{Channel, Isolation, PathOptions, Request},
};

/// A worker: its role, its channel to the command and its sockets to the other workers.
pub struct WorkerContext {
    pub(crate) role: Role,
    /// The address at which endpoints on other hosts reach this one.
    pub(crate) address: Option<IpAddr>,
    pub(crate) control: Channel<Request>,
    pub(crate) peers: SocketRendezvous,
    pub(crate) pin: Option<Pin>,
    /// The probe pages, once the session is prepared.
    pub(crate) probe: Option<ProbePages>,
    /// True if the other workers are threads of this process.
    pub(crate) shares_process: bool,
    /// True if system calls are counted: none is made that a block does not need.
    pub(crate) counts_calls: bool,
    pub(crate) session: SessionContext,
    pub(crate) paths: PathOptions,
}

/// The session that a worker belongs to.
#[derive(Clone)]
pub(crate) struct SessionContext {
    pub run: RunId,
    pub isolation: Isolation,
}
