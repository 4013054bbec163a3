//! `two-sessions`: two pairs run concurrently under different names. Every message carries the mark
//! of its session, so a message in the wrong session is detected.

use std::{fs, thread, time::Duration};

use ipcmark_transport::{Definition, Wait};

use crate::check::Check;
use crate::{
    checks::varied::lengths, context::CheckContext, failure::Failure, runner::CheckRunner,
};

const SESSIONS: usize = 2;
const PAYLOAD: usize = 16_384;
const MESSAGES: u64 = 300;

fn run_test(runner: &CheckRunner<'_>) -> Result<(), Failure> {
    let one = runner.session()?;
    let other = runner.session()?;
    let (first, second) = (runner.start(&one, 0)?, runner.start(&other, 0)?);
    let (first, second) = (first.wait()?, second.wait()?);
    runner.check_clean_exit(&one, &first)?;
    runner.check_clean_exit(&other, &second)
}

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let payload = context.at_most(PAYLOAD);
    let mut end = context.open(payload)?;
    context.meet("both are open")?;
    wait_for_all(context, "open")?;
    context.echo(&mut end, &lengths(payload, MESSAGES))?;
    wait_for_all(context, "done")?;
    context.meet("both are done")
}

/// Waits until both processes of every session have reached this point; each reports it with a
/// file.
fn wait_for_all(context: &CheckContext<'_>, point: &str) -> Result<(), Failure> {
    let part = context.part();
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
pub const TWO_SESSIONS: Check =
    Check { name: "two-sessions", exempt, run_process, run_test, kills: false };
