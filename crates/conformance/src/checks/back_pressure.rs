//! `back-pressure`: the sender runs ahead of a receiver that does nothing for a while. A full queue
//! makes it wait; then everything arrives, once, in order and whole.

use std::{thread, time::Duration};

use ipcmark_transport::{Definition, Step, Wait};

use crate::check::{Check, one_scene};
use crate::{checks::varied::Lengths, end::End, failure::Failure, stage::Stage, stamp::Side};

/// How many messages at most, and how long they are.
const ROUNDS: [(u32, Lengths); 4] = [
    (2000, Lengths::All(64)),
    (400, Lengths::Varied(5000)),
    (150, Lengths::Varied(65_536)),
    (4, Lengths::All(1 << 20)),
];
/// How long a receiver of a blocking sender does nothing, so that the sender falls asleep.
const SLOW: Duration = Duration::from_millis(20);
/// How long it does nothing after each of the first messages.
const PAUSE: Duration = Duration::from_micros(500);
/// How many these are.
const SLOW_MESSAGES: u32 = 8;
/// How long to look for a message that must be there, or be on its way through the threads of a library.
const PATIENCE: Duration = Duration::from_secs(5);
/// When nothing has come for so long, what may be lost is lost.
const QUIET: Duration = Duration::from_millis(150);

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    for (count, lengths) in ROUNDS {
        let lengths = lengths.at_most(stage.capabilities().max_payload);
        let mut end = stage.open(lengths.payload())?;
        for sender in [Side::Leader, Side::Follower] {
            match (stage.is_alone(), stage.part().side == sender) {
                (true, _) => alone(&mut end, lengths, count)?,
                (false, true) => send(stage, &mut end, lengths, count)?,
                (false, false) => receive(stage, &mut end)?,
            }
            stage.meet("one direction is done")?;
        }
        drop(end);
        stage.meet("both are closed")?;
    }
    Ok(())
}

fn send(stage: &mut Stage<'_>, end: &mut End, lengths: Lengths, count: u32) -> Result<(), Failure> {
    if stage.part().wait == Wait::Spin {
        let sent = fill(end, lengths, count)?;
        stage.tell(sent + 1)?;
        // The message that would not go has perhaps gone in part; it goes on where it stopped.
        return end.send(lengths.of(end.sent()));
    }
    stage.tell(count)?;
    (0..count).try_for_each(|_| end.send(lengths.of(end.sent())))
}

fn receive(stage: &mut Stage<'_>, end: &mut End) -> Result<(), Failure> {
    let count = stage.hear()?;
    if stage.part().wait != Wait::Spin {
        thread::sleep(SLOW);
    }
    for index in 0..count {
        match (stage.capabilities().reliable, stage.part().wait) {
            (true, Wait::Spin) => receive_unless_lost(stage, end, index, count)?,
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

/// Until the first one came, the sender may not have run yet.
fn quiet(index: u32) -> Duration {
    if index == 0 { PATIENCE } else { QUIET }
}

/// Receives the next message, or finds that it is lost: the sender is done and nothing comes.
fn receive_unless_lost(
    stage: &Stage<'_>,
    end: &mut End,
    index: u32,
    count: u32,
) -> Result<(), Failure> {
    while end.receive_within(PATIENCE)?.is_none() {
        // The sender waits at the next point, and so all has been published.
        if stage.hears_something()? && end.receive_within(PATIENCE)?.is_none() {
            return Err(Failure::expected(
                format_args!("message {index} of {count}"),
                "nothing, though all of them were published",
            ));
        }
    }
    Ok(())
}

/// Where no message leaves the process, an end fills its own queue and then empties it.
fn alone(end: &mut End, lengths: Lengths, count: u32) -> Result<(), Failure> {
    let sent = fill(end, lengths, count)?;
    (0..sent).try_for_each(|_| end.receive().map(drop))?;
    end.send(lengths.of(end.sent()))?;
    end.receive().map(drop)
}

/// Publishes until the queue is full, or `count` messages are in it: how many are.
pub fn fill(end: &mut End, lengths: Lengths, count: u32) -> Result<u32, Failure> {
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
    Check { name: "back-pressure", exempt, play, direct: one_scene, kills: false };
