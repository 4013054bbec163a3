//! The cleaner of a command without a sandbox: it outlives one that is killed, ends what that has started, and
//! removes what its run has left.

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

/// The cleaner's whole life: waits for the end of the command `owner`, and cleans up unless it was
/// dismissed before. Without a run it only ends processes.
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
    // Nobody is there to be told what was removed, and what could not be.
    run.map(|run| clean_run(registry, run));
}

/// What ends a terminal's processes, or a service's in order, is not to end this one: it ends by itself as
/// soon as the command has.
fn outlive_session() {
    let _ = setsid();
    for ending in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: no code of ours runs in a handler.
        let _ = unsafe { signal(ending, SigHandler::SigIgn) };
    }
}
