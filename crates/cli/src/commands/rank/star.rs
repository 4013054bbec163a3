//! Rank 0 leads, and all others follow it at once.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use super::{
    arguments::RankArguments,
    launcher::JobRank,
    rank_host::{RankHost, leader, listen, reaches},
    rendezvous::{Missing, RankRendezvous},
    status::{EXIT_TIMEOUT, end_job, ended, gather, here, leave, overall_status},
};
use crate::{
    arguments::by_hand::FollowerArguments, by_hand, definition::CommandOutcome,
    interrupts::Interrupts, output,
};

/// The interval at which a follower checks for rank 0's messages.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for the others, and measures.
pub(super) fn lead(
    arguments: &RankArguments,
    rank: &JobRank,
    directory: PathBuf,
    interrupts: &Interrupts,
) -> CommandOutcome {
    let is_stopped = || interrupts.signal().is_some();
    let rendezvous = RankRendezvous::open(directory, arguments.meet_within, &is_stopped)?;
    let outcome = meet_and_lead(&rendezvous, arguments, rank, interrupts);
    end_job(&rendezvous, rank.count, &outcome, &[]);
    outcome
}

fn meet_and_lead(
    rendezvous: &RankRendezvous<'_>,
    arguments: &RankArguments,
    rank: &JobRank,
    interrupts: &Interrupts,
) -> CommandOutcome {
    let Some(lines) = gather(rendezvous, rank.count)? else {
        return Ok(interrupts.exit_status());
    };
    let own = RankHost::here();
    let are_beside = lines.iter().all(|line| RankHost::of_line(line).is_beside(&own));
    let place = listen(rendezvous, are_beside, arguments.address.as_deref())?;
    by_hand::lead_within(&place, &arguments.run, Some(arguments.meet_within))
}

/// Serves rank 0.
pub(super) fn follow(
    arguments: &RankArguments,
    rank: &JobRank,
    directory: PathBuf,
    interrupts: &Interrupts,
) -> CommandOutcome {
    let is_stopped = || interrupts.signal().is_some();
    let rendezvous = RankRendezvous::join(directory, arguments.meet_within, &is_stopped)?;
    rendezvous.put(&here(rank.number), &RankHost::here().line())?;
    // This rank waits longer than rank 0, so rank 0 stops waiting for the others first.
    let time_limit = arguments.meet_within + EXIT_TIMEOUT;
    let limited = rendezvous.within(time_limit);
    let said = || match overall_status(&rendezvous) {
        Some(status) => Some(Err(status)),
        None => leader(&rendezvous).map(Ok),
    };
    let leader = match limited.until(LOOK, &said) {
        Ok(Ok(leader)) => leader,
        Ok(Err(status)) => {
            output::say(format_args!(
                "rank {}: rank 0 has ended before it led: see its messages",
                rank.number
            ));
            leave(&rendezvous, rank.number, status)
        }
        Err(Missing::Interrupted) => return Ok(interrupts.exit_status()),
        Err(Missing::Late) => {
            let why = "rank 0 did not publish its address in time: see its messages";
            return Ok(ended(&rendezvous.within(Duration::ZERO), rank.number, why));
        }
    };
    let follower = reaches(leader, &rendezvous, FollowerArguments::plain(&arguments.run.module));
    let is_served = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_served, watched) = (&is_served, rendezvous.within(time_limit));
        // Without this thread, a leader that ends before it has served any follower would be
        // awaited for ever.
        scope.spawn(move || leave_with(&watched, rank, is_served));
        let outcome =
            by_hand::follow_and_report(&follower, &|_| is_served.store(true, Ordering::Relaxed));
        is_served.store(true, Ordering::Relaxed);
        outcome
    })?;
    if interrupts.signal().is_some() {
        leave(&rendezvous, rank.number, 128 + interrupts.signal().unwrap_or_default());
    }
    let why = "rank 0 has ended without a result";
    Ok(ended(&rendezvous.within(EXIT_TIMEOUT), rank.number, why))
}

/// Ends this process if rank 0 has ended or is silent, and no session has begun.
fn leave_with(rendezvous: &RankRendezvous<'_>, rank: &JobRank, is_served: &AtomicBool) {
    let waits = || !is_served.load(Ordering::Relaxed);
    while waits() {
        match overall_status(rendezvous) {
            Some(status) if waits() => leave(rendezvous, rank.number, status),
            None if waits() && rendezvous.is_over() => {
                output::say(format_args!(
                    "rank {}: the leader was not reached in time",
                    rank.number
                ));
                leave(rendezvous, rank.number, 1)
            }
            _ => thread::sleep(LOOK),
        }
    }
}
