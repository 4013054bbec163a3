//! `held`: a taken message stays unchanged until it is released, whatever its sender and its receiver do meanwhile; a
//! loaned one until it is published.

use ipcmark_transport::{Definition, Step, Wait};

use crate::check::{Check, one_scene};
use crate::{
    checks::{back_pressure::fill, varied::Lengths},
    end::End,
    failure::Failure,
    stage::Stage,
    stamp::Side,
};

/// The number of messages, and their lengths.
const ROUNDS: [(u32, Lengths); 3] =
    [(100, Lengths::All(64)), (100, Lengths::Varied(65_536)), (3, Lengths::All(1 << 20))];
/// The number of attempts to loan while an answer is due. A transport may have no room left.
const TRIES: u32 = 500;

fn play(stage: &mut Stage<'_>) -> Result<(), Failure> {
    for (count, lengths) in ROUNDS {
        let lengths = lengths.at_most(stage.capabilities().max_payload);
        let mut end = stage.open(lengths.payload())?;
        stage.meet("both are open")?;
        for number in 0..count {
            let more = number + 1 < count;
            if stage.speaks_first() {
                ask(stage, &mut end, lengths, more)
            } else {
                answer(&mut end)
            }?;
        }
        stage.meet("all were answered")?;
        if stage.part().wait == Wait::Spin && !stage.capabilities().alternating {
            overrun(stage, &mut end, lengths, count)?;
        }
        drop(end);
        stage.meet("both are closed")?;
    }
    Ok(())
}

/// Takes the answer while the next message is already on loan.
fn ask(stage: &Stage<'_>, end: &mut End, lengths: Lengths, more: bool) -> Result<(), Failure> {
    end.send(lengths.of(end.sent()))?;
    if more && stage.part().wait == Wait::Spin {
        loan_early(end, lengths)?;
    }
    end.take()?;
    end.check_held()?;
    end.release()
}

fn loan_early(end: &mut End, lengths: Lengths) -> Result<(), Failure> {
    for _ in 0..TRIES {
        if end.try_loan(lengths.of(end.sent()))? == Step::Done {
            break;
        }
        end.pause();
    }
    Ok(())
}

/// Answers a message before it releases it.
fn answer(end: &mut End) -> Result<(), Failure> {
    let len = end.take()?;
    end.send(len)?;
    end.check_held()?;
    end.release()
}

/// Fills the queue while a message from it is held.
fn overrun(
    stage: &mut Stage<'_>,
    end: &mut End,
    lengths: Lengths,
    count: u32,
) -> Result<(), Failure> {
    for sender in [Side::Leader, Side::Follower] {
        match (stage.is_alone(), stage.part().side == sender) {
            (true, _) => overrun_alone(end, lengths, count)?,
            (false, true) => {
                end.send(lengths.of(end.sent()))?;
                stage.meet("a message is held")?;
                let sent = fill(end, lengths, count)?;
                stage.tell(sent)?;
                stage.meet("it was looked at")?;
                end.send(lengths.of(end.sent()))?;
            }
            (false, false) => {
                end.take()?;
                stage.meet("a message is held")?;
                let sent = stage.hear()?;
                end.check_held()?;
                end.release()?;
                stage.meet("it was looked at")?;
                (0..=sent).try_for_each(|_| end.receive().map(drop))?;
            }
        }
        stage.meet("one direction is done")?;
    }
    Ok(())
}

fn overrun_alone(end: &mut End, lengths: Lengths, count: u32) -> Result<(), Failure> {
    end.send(lengths.of(end.sent()))?;
    end.take()?;
    let sent = fill(end, lengths, count)?;
    end.check_held()?;
    end.release()?;
    (0..sent).try_for_each(|_| end.receive().map(drop))?;
    end.send(lengths.of(end.sent()))?;
    end.receive().map(drop)
}

fn exempt(definition: &Definition, _: Wait) -> Option<&'static str> {
    (!definition.capabilities.reliable).then_some("it may lose what is waited for")
}

/// A taken message stays unchanged until it is released.
pub const HELD: Check = Check { name: "held", exempt, play, direct: one_scene, kills: false };
