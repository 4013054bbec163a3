//! Every other rank: it does what the rounds of rank 0 say, until that tells the status of the whole.

use std::{process::ExitCode, thread, time::Duration};

use super::{
    super::{
        launcher::Rank,
        status::{FAREWELL, ended, left, told},
    },
    halt::Cause,
    leader::slot,
    pair::{Order, Work},
    pulse::Pulse,
};
use crate::output;

/// How often a rank looks for its next order: seldom, for another pair on its machine may be measured meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// How often the meeting is removed where rank 0 did not, while others still write to it.
const REMOVALS: u32 = 20;

/// Serves until the end; the status is that of rank 0.
pub(super) fn serve(work: &Work<'_>, rank: &Rank, pulse: &Pulse<'_>) -> ExitCode {
    let _ = pulse.watched.set(vec![(0, "which leads".into())]);
    for number in 0.. {
        let Some(orders) = next(work, number) else { break };
        for order in orders {
            let ended = match order.pair {
                (leader, _) if leader == rank.number => work.lead(&order),
                (_, follower) if follower == rank.number => work.follow(&order),
                _ => continue,
            };
            if let Err(error) = ended {
                output::say(error);
            }
        }
    }
    end(work, rank, pulse)
}

/// The orders of a slot, once there are any; nothing where there are to be none any more.
fn next(work: &Work<'_>, number: usize) -> Option<Vec<Order>> {
    loop {
        if work.halt.is_set() || told(work.meeting).is_some() {
            return None;
        }
        if let Some(text) = work.meeting.read(&slot(number)) {
            return Some(Order::all(&text));
        }
        thread::sleep(LOOK);
    }
}

fn end(work: &Work<'_>, rank: &Rank, pulse: &Pulse<'_>) -> ExitCode {
    match work.halt.cause() {
        Some(Cause::Signal) => {
            let _ = work.meeting.put(&left(rank.number), "");
            pulse.interrupts.exit_status()
        }
        Some(Cause::Deserted(why)) => {
            clear_up(work);
            output::failed(why)
        }
        _ => {
            // Its halt is set: a meeting that is not stopped by it.
            let never = || pulse.interrupts.signal().is_some();
            let meeting = work.meeting.apart(2 * FAREWELL, &never);
            ended(&meeting, rank.number, "rank 0 has ended without a result")
        }
    }
}

/// Removes the meeting in the place of rank 0; whoever of the others is still there sees that it is gone.
fn clear_up(work: &Work<'_>) {
    for _ in 0..REMOVALS {
        work.meeting.remove();
        if !work.meeting.is_there() {
            return;
        }
        thread::sleep(LOOK / 2);
    }
}
