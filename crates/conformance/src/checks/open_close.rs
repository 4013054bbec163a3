//! `open-close`: opens and closes ten times under one name, with every payload, and leaves nothing
//! behind: no name once the endpoints are open, no descriptor, mapping or thread once they are
//! closed. What a library keeps must not grow when it does the same again.

use std::time::Duration;

use crate::check::{Check, none_exempt, one_scenario};
use crate::{
    context::CheckContext, failure::Failure, footprint::Footprint, suite::is_all_ours, traces,
};

const ROUNDS: usize = 10;

/// The time after which resources of our own code count as leaked: a joined thread may still be ending.
const OWN_PATIENCE: Duration = Duration::from_secs(10);
/// The time after which a library's resources count as kept, so that ten more rounds follow: a library may release a
/// mapping only once a second, and its idle threads with their resources only after ten seconds. What it released later,
/// during those rounds, could hide as much that they leak.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);
/// The time after which they count as leaked.
const LAST_PATIENCE: Duration = Duration::from_secs(30);

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    // The first round loads everything that is loaded once per process.
    once(context, 64)?;
    let ours = is_all_ours(context.suite().definition());
    let patience = if ours { OWN_PATIENCE } else { FIRST_PATIENCE };
    let kept = ten_times(context)?.unchanged_after(ROUNDS, ours, patience);
    if ours {
        return kept;
    }
    // A library may make something for the life of the process later, like a thread pool at the first
    // delay. That is made once; what is leaked is there again after ten more rounds.
    context.tell(u32::from(kept.is_err()))?;
    let peer_kept = context.receive_number_from_peer()? != 0;
    if kept.is_ok() && !peer_kept {
        return Ok(());
    }
    ten_times(context)?.unchanged_after(ROUNDS, ours, LAST_PATIENCE)
}

/// Opens and closes ten times, and returns what the process had before.
fn ten_times(context: &mut CheckContext<'_>) -> Result<Footprint, Failure> {
    let before = Footprint::take()?;
    let payloads: Vec<usize> = context.payloads().collect();
    for payload in payloads.into_iter().cycle().take(ROUNDS) {
        once(context, payload)?;
    }
    Ok(before)
}

fn once(context: &mut CheckContext<'_>, payload: usize) -> Result<(), Failure> {
    let mut end = context.open(payload)?;
    context.meet("both are open")?;
    no_name_stays(context)?;
    context.echo(&mut end, &[payload])?;
    context.meet("both are done")?;
    drop(end);
    context.meet("both are closed")
}

/// A library may need its names while it runs: for libraries only names left after close count.
fn no_name_stays(context: &CheckContext<'_>) -> Result<(), Failure> {
    if !is_all_ours(context.suite().definition()) {
        return Ok(());
    }
    let part = context.part();
    let names = traces::names(&part.name, &part.directory())?;
    if names.is_empty() {
        return Ok(());
    }
    let seen = names.join(", ");
    Err(Failure::expected("no name in the file system once both ends are open", seen))
}

/// Opening and closing ten times leaves nothing behind.
pub const OPEN_CLOSE: Check = Check {
    name: "open-close",
    exempt: none_exempt,
    run_process,
    run_test: one_scenario,
    kills: false,
};
