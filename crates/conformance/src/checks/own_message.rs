//! `own-message`: an endpoint never takes its own message. With one queue for both directions it
//! would, and its times would be meaningless.

use std::{thread, time::Duration};

use ipcmark_transport::{Definition, Span, Wait};

use crate::check::{Check, one_scene};
use crate::{end::End, failure::Failure, stage::Stage, stamp::Side};

/// The number of polls while no message may arrive.
const POLLS: u32 = 3000;
/// The time for which the peer leaves a message in the queue, where a sleeping sender could take it
/// back.
const SLOW: Duration = Duration::from_millis(10);

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let mut end = stage.open(64)?;
    stage.meet("both are open")?;
    // In alternating transports the leader sends first and the follower answers.
    for speaker in [Side::Leader, Side::Follower] {
        let speaks = stage.part().side == speaker;
        if stage.part().wait == Wait::Spin {
            if speaks { speak_and_look(stage, &mut end)? } else { listen(stage, &mut end)? }
        } else if speaker == Side::Leader || !stage.capabilities().alternating {
            if speaks { speak_and_sleep(&mut end)? } else { answer_late(&mut end)? }
        }
        stage.meet("the other one's turn")?;
    }
    drop(end);
    stage.meet("both are closed")
}

fn listen(stage: &mut Stage<'_>, end: &mut End) -> Result<(), Failure> {
    stage.meet("a message lies there")?;
    end.receive()?;
    stage.meet("it was taken")
}

/// Sleeps until the answer while its own message is still queued; the message taken must be the
/// answer.
fn speak_and_sleep(end: &mut End) -> Result<(), Failure> {
    end.send(64)?;
    end.receive().map(drop)
}

fn answer_late(end: &mut End) -> Result<(), Failure> {
    thread::sleep(SLOW);
    end.receive()?;
    end.send(64)
}

/// Polls while its own message is queued, and after it was taken.
fn speak_and_look(stage: &mut Stage<'_>, end: &mut End) -> Result<(), Failure> {
    end.send(64)?;
    nothing_comes(end)?;
    stage.meet("a message lies there")?;
    stage.meet("it was taken")?;
    nothing_comes(end)
}

fn nothing_comes(end: &mut End) -> Result<(), Failure> {
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
    Check { name: "own-message", exempt, play, direct: one_scene, kills: false };
