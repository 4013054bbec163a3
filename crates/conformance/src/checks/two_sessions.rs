//! `two-sessions`: two pairs run concurrently under different names. Every message carries the mark
//! of its session, so a message in the wrong session is detected.

use std::{fs, thread, time::Duration};

use ipcmark_transport::{Definition, Wait};

use crate::check::Check;
use crate::{checks::varied::lengths, director::Director, failure::Failure, stage::Stage};

const SESSIONS: usize = 2;
const PAYLOAD: usize = 16_384;
const MESSAGES: u64 = 300;

fn direct(director: &Director<'_>) -> Result<(), Failure> {
    let one = director.session()?;
    let other = director.session()?;
    let (first, second) = (director.start(&one, 0)?, director.start(&other, 0)?);
    let (first, second) = (first.wait()?, second.wait()?);
    director.passed_cleanly(&one, &first)?;
    director.passed_cleanly(&other, &second)
}

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let payload = stage.at_most(PAYLOAD);
    let mut end = stage.open(payload)?;
    stage.meet("both are open")?;
    wait_for_all(stage, "open")?;
    stage.echo(&mut end, &lengths(payload, MESSAGES))?;
    wait_for_all(stage, "done")?;
    stage.meet("both are done")
}

/// Waits until both processes of every session have reached this point; each reports it with a
/// file.
fn wait_for_all(stage: &Stage<'_>, point: &str) -> Result<(), Failure> {
    let part = stage.part();
    let ending = format!("-{point}");
    fs::write(part.root.join(format!("{}-{}{ending}", part.name, part.side)), "")?;
    loop {
        let files = fs::read_dir(&part.root)?.flatten();
        let there = files.filter(|file| file.file_name().to_string_lossy().ends_with(&ending));
        if there.count() >= 2 * SESSIONS {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn exempt(definition: &Definition, _: Wait) -> Option<&'static str> {
    definition
        .capabilities
        .exclusive
        .then_some("outside a sandbox one session of its family can run at a time")
}

/// Two concurrent sessions never receive each other's messages.
pub const TWO_SESSIONS: Check = Check { name: "two-sessions", exempt, play, direct, kills: false };
