//! `both-full`: both ends publish as much as they can at the same time. Each takes whenever it
//! cannot publish, and so neither is ever stuck.

use std::time::{Duration, Instant};

use ipcmark_transport::Step;

use crate::{end::End, failure::Failure, stage::Stage};

/// Length of the messages, how many each end sends.
const ROUNDS: [(usize, u32); 3] = [(64, 2000), (30_000, 100), (1 << 20, 4)];
/// When nothing has come for so long, what may be lost is lost.
const QUIET: Duration = Duration::from_millis(150);

pub fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    for (len, count) in ROUNDS {
        let len = stage.at_most(len);
        let mut end = stage.open(len)?;
        stage.meet("both are open")?;
        exchange(&mut end, len, count, stage.capabilities().reliable)?;
        stage.meet("both are done")?;
        drop(end);
        stage.meet("both are closed")?;
    }
    Ok(())
}

/// Sends and receives `count` messages, in whatever order that works.
fn exchange(end: &mut End, len: usize, count: u32, reliable: bool) -> Result<(), Failure> {
    let mut last = Instant::now();
    while end.sent() < count || end.received() < count {
        let published = end.sent() < count && end.try_send(len)? == Step::Done;
        let taken = !published && end.try_receive()?.is_some();
        if published || taken {
            last = Instant::now();
        } else if !reliable && end.sent() == count && last.elapsed() > QUIET {
            return Ok(());
        }
        end.pause();
    }
    Ok(())
}
