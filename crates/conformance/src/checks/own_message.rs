//! `own-message`: an endpoint never takes its own message. With one queue for both directions it
//! would, and its times would be meaningless.

use std::{thread, time::Duration};

use ipcmark_transport::{Definition, Span, Wait};

use crate::check::{Check, one_scenario};
use crate::{context::CheckContext, end::CheckedEndpoint, failure::Failure, stamp::Side};

/// The number of polls while no message may arrive.
const POLLS: u32 = 3000;
/// The time for which the peer leaves a message in the queue, where a sleeping sender could take it
/// back.
const SLOW: Duration = Duration::from_millis(10);

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    let mut end = context.open(64)?;
    context.meet("both are open")?;
    // In alternating transports the leader sends first and the follower answers.
    for speaker in [Side::Leader, Side::Follower] {
        let speaks = context.part().side == speaker;
        if context.part().wait == Wait::Spin {
            if speaks { send_and_poll(context, &mut end)? } else { listen(context, &mut end)? }
        } else if speaker == Side::Leader || !context.capabilities().alternating {
            if speaks { send_and_sleep(&mut end)? } else { answer_late(&mut end)? }
        }
        context.meet("the other one's turn")?;
    }
    drop(end);
    context.meet("both are closed")
}

fn listen(context: &mut CheckContext<'_>, end: &mut CheckedEndpoint) -> Result<(), Failure> {
    context.meet("a message lies there")?;
    end.receive()?;
    context.meet("it was taken")
}

/// Sleeps until the answer while its own message is still queued; the message taken must be the
/// answer.
fn send_and_sleep(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    end.send(64)?;
    end.receive().map(drop)
}

fn answer_late(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    thread::sleep(SLOW);
    end.receive()?;
    end.send(64)
}

/// Polls while its own message is queued, and after it was taken.
fn send_and_poll(context: &mut CheckContext<'_>, end: &mut CheckedEndpoint) -> Result<(), Failure> {
    end.send(64)?;
    expect_nothing(end)?;
    context.meet("a message lies there")?;
    context.meet("it was taken")?;
    expect_nothing(end)
}

fn expect_nothing(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    for _ in 0..POLLS {
        if end.try_receive()?.is_some() {
            return Err(Failure::expected("no message, for none was sent", "one"));
        }
        end.pause();
    }
    Ok(())
}

fn exempt(definition: &Definition, _: Wait) -> Option<&'static str> {
    (definition.capabilities.span == Span::None)
        .then_some("its own messages are all that an end ever takes")
}

/// An endpoint never takes its own message.
pub const OWN_MESSAGE: Check =
    Check { name: "own-message", exempt, run_process, run_test: one_scenario, kills: false };
