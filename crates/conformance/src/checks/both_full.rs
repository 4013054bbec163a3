//! `both-full`: both endpoints publish as much as they can at the same time. Each takes messages
//! whenever it cannot publish, so neither gets stuck.

use std::time::{Duration, Instant};

use ipcmark_transport::{Definition, Step, Wait};

use crate::check::{Check, one_scenario};
use crate::{
    checks::varied::Lengths, context::CheckContext, end::CheckedEndpoint, failure::Failure,
};

/// The number of messages that each endpoint sends, and their lengths.
const ROUNDS: [(u32, Lengths); 4] = [
    (2000, Lengths::All(64)),
    (1000, Lengths::Varied(5000)),
    (200, Lengths::Varied(65_536)),
    (4, Lengths::All(1 << 20)),
];
/// After this time without a message, the rest counts as lost on an unreliable transport.
const QUIET: Duration = Duration::from_millis(150);

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    for (count, lengths) in ROUNDS {
        let lengths = lengths.at_most(context.capabilities().max_payload);
        let mut end = context.open(lengths.payload())?;
        context.meet("both are open")?;
        exchange(context, &mut end, lengths, count)?;
        context.meet("both are done")?;
        drop(end);
        context.meet("both are closed")?;
    }
    Ok(())
}

/// Sends and receives `count` messages, in any order that works.
fn exchange(
    context: &mut CheckContext<'_>,
    end: &mut CheckedEndpoint,
    lengths: Lengths,
    count: u32,
) -> Result<(), Failure> {
    let (mut has_told, mut last) = (false, Instant::now());
    while !has_told || end.received() < count {
        if !has_told && end.sent() == count {
            context.tell(count)?;
            has_told = true;
        }
        let published = end.sent() < count && end.try_send(lengths.of(end.sent()))? == Step::Done;
        let taken = !published && end.try_receive()?.is_some();
        if published || taken {
            last = Instant::now();
        } else if has_told && last.elapsed() > QUIET && is_all_there_is(context)? {
            break;
        }
        end.pause();
    }
    context.receive_number_from_peer().map(drop)
}

/// True if the rest is lost, once nothing arrives any more: the other process has sent everything, and may lose it.
/// Until then it may wait for room in the queue.
fn is_all_there_is(context: &CheckContext<'_>) -> Result<bool, Failure> {
    Ok(!context.capabilities().reliable && context.has_message_from_peer()?)
}

fn exempt(definition: &Definition, wait: Wait) -> Option<&'static str> {
    match definition.capabilities.alternating {
        true => Some("its ends take turns"),
        false => {
            (wait != Wait::Spin).then_some("an end that sleeps in publish cannot take in between")
        }
    }
}

/// Both endpoints publish into full queues and take in between.
pub const BOTH_FULL: Check =
    Check { name: "both-full", exempt, run_process, run_test: one_scenario, kills: false };
