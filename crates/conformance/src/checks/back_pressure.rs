//! `back-pressure`: the sender runs ahead of a receiver that pauses. A full queue makes the sender wait; then
//! everything arrives once, in order and complete.

use std::{thread, time::Duration};

use ipcmark_transport::{Definition, Step, Wait};

use crate::check::{Check, one_scenario};
use crate::{
    checks::varied::Lengths, context::CheckContext, end::CheckedEndpoint, failure::Failure,
    stamp::Side,
};

/// The maximum number of messages, and their lengths.
const ROUNDS: [(u32, Lengths); 4] = [
    (2000, Lengths::All(64)),
    (400, Lengths::Varied(5000)),
    (150, Lengths::Varied(65_536)),
    (4, Lengths::All(1 << 20)),
];
/// The pause of a blocking sender's receiver, long enough for the sender to fall asleep.
const SLOW: Duration = Duration::from_millis(20);
/// The receiver's pause after each of the first messages.
const PAUSE: Duration = Duration::from_micros(500);
/// The number of these first messages.
const SLOW_MESSAGES: u32 = 8;
/// The time limit for a message that must be there, or is in transit through a library's threads.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// After this time without a message, the rest counts as lost on an unreliable transport.
const QUIET: Duration = Duration::from_millis(150);

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    for (count, lengths) in ROUNDS {
        let lengths = lengths.at_most(context.capabilities().max_payload);
        let mut end = context.open(lengths.payload())?;
        for sender in [Side::Leader, Side::Follower] {
            match (context.is_alone(), context.part().side == sender) {
                (true, _) => alone(&mut end, lengths, count)?,
                (false, true) => send(context, &mut end, lengths, count)?,
                (false, false) => receive(context, &mut end)?,
            }
            context.meet("one direction is done")?;
        }
        drop(end);
        context.meet("both are closed")?;
    }
    Ok(())
}

fn send(
    context: &mut CheckContext<'_>,
    end: &mut CheckedEndpoint,
    lengths: Lengths,
    count: u32,
) -> Result<(), Failure> {
    if context.part().wait == Wait::Spin {
        let sent = fill(end, lengths, count)?;
        context.tell(sent + 1)?;
        // The blocked message may have been sent in part; this call completes it.
        return end.send(lengths.of(end.sent()));
    }
    context.tell(count)?;
    (0..count).try_for_each(|_| end.send(lengths.of(end.sent())))
}

fn receive(context: &mut CheckContext<'_>, end: &mut CheckedEndpoint) -> Result<(), Failure> {
    let count = context.receive_number_from_peer()?;
    if context.part().wait != Wait::Spin {
        thread::sleep(SLOW);
    }
    for index in 0..count {
        match (context.capabilities().reliable, context.part().wait) {
            (true, Wait::Spin) => receive_unless_lost(context, end, index, count)?,
            (true, _) => drop(end.receive()?),
            (false, _) if end.receive_within(quiet(index))?.is_some() => {}
            (false, _) => return something_came(index),
        }
        if index < SLOW_MESSAGES {
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Before the first message, the sender may not have run yet.
fn quiet(index: u32) -> Duration {
    if index == 0 { MESSAGE_TIMEOUT } else { QUIET }
}

/// Receives the next message, or finds that it is lost: the sender is done and nothing arrives.
fn receive_unless_lost(
    context: &CheckContext<'_>,
    end: &mut CheckedEndpoint,
    index: u32,
    count: u32,
) -> Result<(), Failure> {
    while end.receive_within(MESSAGE_TIMEOUT)?.is_none() {
        // The sender waits at the next meeting point, so all messages have been published.
        if context.has_message_from_peer()? && end.receive_within(MESSAGE_TIMEOUT)?.is_none() {
            return Err(Failure::expected(
                format_args!("message {index} of {count}"),
                "nothing, though all of them were published",
            ));
        }
    }
    Ok(())
}

/// For messages that stay in the process: an endpoint fills its own queue and then empties it.
fn alone(end: &mut CheckedEndpoint, lengths: Lengths, count: u32) -> Result<(), Failure> {
    let sent = fill(end, lengths, count)?;
    (0..sent).try_for_each(|_| end.receive().map(drop))?;
    end.send(lengths.of(end.sent()))?;
    end.receive().map(drop)
}

/// Publishes until the queue is full or contains `count` messages; returns their number.
pub fn fill(end: &mut CheckedEndpoint, lengths: Lengths, count: u32) -> Result<u32, Failure> {
    for sent in 0..count {
        if end.try_send(lengths.of(end.sent()))? == Step::WouldBlock {
            return Ok(sent);
        }
    }
    Ok(count)
}

fn something_came(count: u32) -> Result<(), Failure> {
    match count {
        0 => Err(Failure::expected("some of the messages to arrive", "all of them lost")),
        _ => Ok(()),
    }
}

fn exempt(definition: &Definition, _: Wait) -> Option<&'static str> {
    definition.capabilities.alternating.then_some("its ends take turns")
}

/// A full queue makes the sender wait, and loses nothing.
pub const BACK_PRESSURE: Check =
    Check { name: "back-pressure", exempt, run_process, run_test: one_scenario, kills: false };
