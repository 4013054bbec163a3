//! `own-message`: an end never takes what it published itself. With one queue for both directions it
//! would, and its times would be worthless.

use std::{thread, time::Duration};

use ipcmark_transport::{Definition, Span, Wait};

use crate::check::{Check, one_scene};
use crate::{end::End, failure::Failure, stage::Stage, stamp::Side};

/// How often an end looks for a message when there must be none.
const POLLS: u32 = 3000;
/// How long the other end leaves a message lying, in which a sleeping end could take it back.
const SLOW: Duration = Duration::from_millis(10);

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let mut end = stage.open(64)?;
    stage.meet("both are open")?;
    // Where the ends take turns, the leader has the first word and the follower answers.
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

/// Sleeps for the answer while its own message lies there; what it takes must be the answer.
fn speak_and_sleep(end: &mut End) -> Result<(), Failure> {
    end.send(64)?;
    end.receive().map(drop)
}

fn answer_late(end: &mut End) -> Result<(), Failure> {
    thread::sleep(SLOW);
    end.receive()?;
    end.send(64)
}

/// Looks for a message while its own is on the way, and after it was taken.
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

/// An end never takes what it published.
pub const OWN_MESSAGE: Check =
    Check { name: "own-message", exempt, play, direct: one_scene, kills: false };
