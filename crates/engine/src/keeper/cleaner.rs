//! The cleaner of a command without a sandbox: if the command is killed, the cleaner outlives it, ends the
//! processes that it started, and removes what its run has left.

use std::io::{self, Read};

use ipcmark_machine::mark::{self, Owner};
use nix::{
    sys::{
        prctl,
        signal::{SigHandler, Signal, signal},
    },
    unistd::setsid,
};

use crate::{
    command::DISMISSED,
    leftovers::{ENDS_WITHIN, clean_run},
    registry::Registry,
};

/// The cleaner's whole life: waits for the end of the command `owner`, and cleans up unless it was dismissed
/// before. Without a run it only ends processes.
pub(super) fn live(registry: &Registry, owner: &str, run: Option<&str>) {
    let Some(owner) = Owner::parse(owner) else { return };
    let Ok(run) = run.map(str::parse).transpose() else { return };
    let _ = prctl::set_name(c"ipcmark-cleaner");
    outlive_session();
    let mut told = [0];
    if io::stdin().read_exact(&mut told).is_ok() && told == [DISMISSED] {
        return;
    }
    mark::end_of(owner, ENDS_WITHIN);
    // The results of the removal are dropped, because no process is left to report them to.
    run.map(|run| clean_run(registry, run));
}

/// Ignores the signals that end a terminal's processes, or stop a service: the cleaner ends by itself as soon as
/// the command has.
fn outlive_session() {
    let _ = setsid();
    for ending in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: no code of ours runs in a handler.
        let _ = unsafe { signal(ending, SigHandler::SigIgn) };
    }
}
