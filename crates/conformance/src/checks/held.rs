//! `held`: a taken message stays unchanged until it is released, whatever its sender and its receiver do meanwhile; a
//! loaned one until it is published.

use ipcmark_transport::{Definition, Step, Wait};

use crate::check::{Check, one_scenario};
use crate::{
    checks::{back_pressure::fill, varied::Lengths},
    context::CheckContext,
    end::CheckedEndpoint,
    failure::Failure,
    stamp::Side,
};

/// The number of messages, and their lengths.
const ROUNDS: [(u32, Lengths); 3] =
    [(100, Lengths::All(64)), (100, Lengths::Varied(65_536)), (3, Lengths::All(1 << 20))];
/// The number of attempts to loan while an answer is due. A transport may have no room left.
const TRIES: u32 = 500;

fn run_process(context: &mut CheckContext<'_>) -> Result<(), Failure> {
    for (count, lengths) in ROUNDS {
        let lengths = lengths.at_most(context.capabilities().max_payload);
        let mut end = context.open(lengths.payload())?;
        context.meet("both are open")?;
        for number in 0..count {
            let more = number + 1 < count;
            if context.sends_first() {
                ask(context, &mut end, lengths, more)
            } else {
                answer(&mut end)
            }?;
        }
        context.meet("all were answered")?;
        if context.part().wait == Wait::Spin && !context.capabilities().alternating {
            overrun(context, &mut end, lengths, count)?;
        }
        drop(end);
        context.meet("both are closed")?;
    }
    Ok(())
}

/// Takes the answer while the next message is already on loan.
fn ask(
    context: &CheckContext<'_>,
    end: &mut CheckedEndpoint,
    lengths: Lengths,
    more: bool,
) -> Result<(), Failure> {
    end.send(lengths.of(end.sent()))?;
    if more && context.part().wait == Wait::Spin {
        loan_early(end, lengths)?;
    }
    end.take()?;
    end.check_held()?;
    end.release()
}

fn loan_early(end: &mut CheckedEndpoint, lengths: Lengths) -> Result<(), Failure> {
    for _ in 0..TRIES {
        if end.try_loan(lengths.of(end.sent()))? == Step::Done {
            break;
        }
        end.pause();
    }
    Ok(())
}

/// Answers a message before it releases it.
fn answer(end: &mut CheckedEndpoint) -> Result<(), Failure> {
    let len = end.take()?;
    end.send(len)?;
    end.check_held()?;
    end.release()
}

/// Fills the queue while a message from it is held.
fn overrun(
    context: &mut CheckContext<'_>,
    end: &mut CheckedEndpoint,
    lengths: Lengths,
    count: u32,
) -> Result<(), Failure> {
    for sender in [Side::Leader, Side::Follower] {
        match (context.is_alone(), context.part().side == sender) {
            (true, _) => overrun_alone(end, lengths, count)?,
            (false, true) => {
                end.send(lengths.of(end.sent()))?;
                context.meet("a message is held")?;
                let sent = fill(end, lengths, count)?;
                context.tell(sent)?;
                context.meet("it was looked at")?;
                end.send(lengths.of(end.sent()))?;
            }
            (false, false) => {
                end.take()?;
                context.meet("a message is held")?;
                let sent = context.receive_number_from_peer()?;
                end.check_held()?;
                end.release()?;
                context.meet("it was looked at")?;
                (0..=sent).try_for_each(|_| end.receive().map(drop))?;
            }
        }
        context.meet("one direction is done")?;
    }
    Ok(())
}

fn overrun_alone(end: &mut CheckedEndpoint, lengths: Lengths, count: u32) -> Result<(), Failure> {
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
pub const HELD: Check =
    Check { name: "held", exempt, run_process, run_test: one_scenario, kills: false };
