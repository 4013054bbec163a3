//! Every other rank: it follows the rounds of rank 0, until rank 0 publishes the overall status.

use std::{process::ExitCode, thread, time::Duration};

use super::{
    super::{
        launcher::JobRank,
        status::{EXIT_TIMEOUT, ended, left, overall_status},
    },
    halt::HaltCause,
    heartbeat::Heartbeat,
    leader::slot,
    pair::{PairContext, PairOrder},
};
use crate::output;

/// The interval at which a rank checks for its next order. It is long, because another pair on its machine may
/// be measured meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// The attempts to remove the rendezvous directory if rank 0 did not, while others still write to
/// it.
const REMOVALS: u32 = 20;

/// Serves until the end and returns rank 0's status.
pub(super) fn serve(work: &PairContext<'_>, rank: &JobRank, heartbeat: &Heartbeat<'_>) -> ExitCode {
    let _ = heartbeat.watched.set(vec![(0, "which leads".into())]);
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
    end(work, rank, heartbeat)
}

/// Waits for the orders of a slot; None if there will be no more.
fn next(work: &PairContext<'_>, number: usize) -> Option<Vec<PairOrder>> {
    loop {
        if work.halt.is_set() || overall_status(work.rendezvous).is_some() {
            return None;
        }
        if let Some(text) = work.rendezvous.read(&slot(number)) {
            return Some(PairOrder::all(&text));
        }
        thread::sleep(LOOK);
    }
}

fn end(work: &PairContext<'_>, rank: &JobRank, heartbeat: &Heartbeat<'_>) -> ExitCode {
    match work.halt.cause() {
        Some(HaltCause::Signal) => {
            let _ = work.rendezvous.put(&left(rank.number), "");
            heartbeat.interrupts.exit_status()
        }
        Some(HaltCause::Deserted(why)) => {
            clean_up(work);
            output::failed(why)
        }
        _ => {
            // The rank's halt is set, so this rendezvous must not stop on it.
            let never = || heartbeat.interrupts.signal().is_some();
            let rendezvous = work.rendezvous.apart(2 * EXIT_TIMEOUT, &never);
            ended(&rendezvous, rank.number, "rank 0 has ended without a result")
        }
    }
}

/// Removes the rendezvous directory in place of rank 0; other ranks that still run notice that.
fn clean_up(work: &PairContext<'_>) {
    for _ in 0..REMOVALS {
        work.rendezvous.remove();
        if !work.rendezvous.is_there() {
            return;
        }
        thread::sleep(LOOK / 2);
    }
}
