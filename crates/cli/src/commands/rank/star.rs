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
    meeting::{Missing, RankRendezvous},
    status::{EXIT_TIMEOUT, dismiss, ended, gather, here, leave, told},
    whereabouts::{RankHost, leader, listen, reaches},
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
    let meeting = RankRendezvous::open(directory, arguments.meet_within, &is_stopped)?;
    let outcome = meet_and_lead(&meeting, arguments, rank, interrupts);
    dismiss(&meeting, rank.count, &outcome, &[]);
    outcome
}

fn meet_and_lead(
    meeting: &RankRendezvous<'_>,
    arguments: &RankArguments,
    rank: &JobRank,
    interrupts: &Interrupts,
) -> CommandOutcome {
    let Some(lines) = gather(meeting, rank.count)? else {
        return Ok(interrupts.exit_status());
    };
    let own = RankHost::here();
    let are_beside = lines.iter().all(|line| RankHost::of_line(line).is_beside(&own));
    let place = listen(meeting, are_beside, arguments.address.as_deref())?;
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
    let meeting = RankRendezvous::join(directory, arguments.meet_within, &is_stopped)?;
    meeting.put(&here(rank.number), &RankHost::here().line())?;
    // This rank waits longer than rank 0, so rank 0 stops waiting for the others first.
    let patience = arguments.meet_within + EXIT_TIMEOUT;
    let patient = meeting.within(patience);
    let said = || match told(&meeting) {
        Some(status) => Some(Err(status)),
        None => leader(&meeting).map(Ok),
    };
    let leader = match patient.until(LOOK, &said) {
        Ok(Ok(leader)) => leader,
        Ok(Err(status)) => {
            output::say(format_args!(
                "rank {}: rank 0 has ended before it led: see what it says",
                rank.number
            ));
            leave(&meeting, rank.number, status)
        }
        Err(Missing::Interrupted) => return Ok(interrupts.exit_status()),
        Err(Missing::Late) => {
            let why = "rank 0 did not say in time where it is: see what it says";
            return Ok(ended(&meeting.within(Duration::ZERO), rank.number, why));
        }
    };
    let follower = reaches(leader, &meeting, FollowerArguments::plain(&arguments.run.module));
    let is_served = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_served, watched) = (&is_served, meeting.within(patience));
        // Without this thread, a leader that ends before it has served any follower would be
        // awaited for ever.
        scope.spawn(move || leave_with(&watched, rank, is_served));
        let outcome =
            by_hand::follow_telling(&follower, &|_| is_served.store(true, Ordering::Relaxed));
        is_served.store(true, Ordering::Relaxed);
        outcome
    })?;
    if interrupts.signal().is_some() {
        leave(&meeting, rank.number, 128 + interrupts.signal().unwrap_or_default());
    }
    let why = "rank 0 has ended without a result";
    Ok(ended(&meeting.within(EXIT_TIMEOUT), rank.number, why))
}

/// Ends this process if rank 0 has ended or is silent, and no session has begun.
fn leave_with(meeting: &RankRendezvous<'_>, rank: &JobRank, is_served: &AtomicBool) {
    let waits = || !is_served.load(Ordering::Relaxed);
    while waits() {
        match told(meeting) {
            Some(status) if waits() => leave(meeting, rank.number, status),
            None if waits() && meeting.is_over() => {
                output::say(format_args!(
                    "rank {}: the leader was not reached in time",
                    rank.number
                ));
                leave(meeting, rank.number, 1)
            }
            _ => thread::sleep(LOOK),
        }
    }
}
