//! `open-close`: opens and closes ten times under one name, with every payload, and leaves nothing
//! behind: no name once the endpoints are open, no descriptor, mapping or thread once they are
//! closed.

use crate::check::{Check, none_exempt, one_scene};
use crate::{failure::Failure, footprint::Footprint, stage::Stage, suite::is_all_ours, traces};

const ROUNDS: usize = 10;

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    // The first round loads everything that is loaded once per process.
    once(stage, 64)?;
    let before = Footprint::take()?;
    let payloads: Vec<usize> = stage.payloads().collect();
    for payload in payloads.into_iter().cycle().take(ROUNDS) {
        once(stage, payload)?;
    }
    before.unchanged_after(ROUNDS, is_all_ours(stage.suite().definition()))
}

fn once(stage: &mut Stage<'_>, payload: usize) -> Result<(), Failure> {
    let mut end = stage.open(payload)?;
    stage.meet("both are open")?;
    no_name_stays(stage)?;
    stage.echo(&mut end, &[payload])?;
    stage.meet("both are done")?;
    drop(end);
    stage.meet("both are closed")
}

/// A library may need its names while it runs: for libraries only names left after close count.
fn no_name_stays(stage: &Stage<'_>) -> Result<(), Failure> {
    if !is_all_ours(stage.suite().definition()) {
        return Ok(());
    }
    let part = stage.part();
    let names = traces::names(&part.name, &part.directory())?;
    if names.is_empty() {
        return Ok(());
    }
    let seen = names.join(", ");
    Err(Failure::expected("no name in the file system once both ends are open", seen))
}

/// Opening and closing ten times leaves nothing behind.
pub const OPEN_CLOSE: Check =
    Check { name: "open-close", exempt: none_exempt, play, direct: one_scene, kills: false };
