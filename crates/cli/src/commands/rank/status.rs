//! The end of a job: rank 0 publishes the overall status, and all other ranks exit with it.

use std::{process, process::ExitCode, time::Duration};

use super::rendezvous::{Missing, RankRendezvous};
use crate::{definition::CommandOutcome, output};

/// The time that the ranks wait for each other's last message.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The file with the status.
const STATUS: &str = "status";

/// The file with which a rank announces itself and its location.
pub(super) fn here(rank: u32) -> String {
    format!("here-{rank}")
}

/// The file with which a rank reports that it has ended, or is about to.
pub(super) fn left(rank: u32) -> String {
    format!("left-{rank}")
}

/// Waits for all other ranks and returns each rank's location. None if the user interrupts.
pub(super) fn gather(
    rendezvous: &RankRendezvous<'_>,
    count: u32,
) -> Result<Option<Vec<String>>, String> {
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for number in 1..count {
        match rendezvous.get(&here(number)) {
            Ok(line) => lines.push(line),
            Err(Missing::Late) => missing.push(number.to_string()),
            Err(Missing::Interrupted) => return Ok(None),
        }
    }
    match missing.is_empty() {
        true => Ok(Some(lines)),
        false => Err(format!("rank {} of {count} did not come in time", missing.join(", "))),
    }
}

/// Publishes rank 0's status, waits until all ranks that joined and are alive have read it, and removes the
/// rendezvous directory.
pub(super) fn end_job(
    rendezvous: &RankRendezvous<'_>,
    count: u32,
    outcome: &CommandOutcome,
    gone: &[u32],
) {
    let status = match outcome {
        Ok(status) if *status == ExitCode::SUCCESS => 0,
        Ok(_) => 1,
        Err(_) => 2,
    };
    if rendezvous.put(STATUS, &status.to_string()).is_ok() {
        let until_left = rendezvous.within(EXIT_TIMEOUT);
        let came = (1..count).filter(|rank| rendezvous.has(&here(*rank)) && !gone.contains(rank));
        came.for_each(|rank| drop(until_left.get(&left(rank))));
    }
    rendezvous.remove();
}

/// The overall status, if rank 0 has published it.
pub(super) fn overall_status(rendezvous: &RankRendezvous<'_>) -> Option<u8> {
    rendezvous.read(STATUS)?.parse().ok()
}

/// Exits with the overall status, once rank 0 has published it. If rank 0 never does, this rank removes the
/// rendezvous directory.
pub(super) fn ended(rendezvous: &RankRendezvous<'_>, rank: u32, why: &str) -> ExitCode {
    match rendezvous.get(STATUS).map(|status| status.parse::<u8>()) {
        Ok(Ok(status)) => {
            let _ = rendezvous.put(&left(rank), "");
            ExitCode::from(status)
        }
        Err(Missing::Late) => {
            rendezvous.remove();
            output::failed(why)
        }
        _ => output::failed(why),
    }
}

/// Reports that this rank has left, and ends this process at once.
pub(super) fn leave(rendezvous: &RankRendezvous<'_>, rank: u32, status: u8) -> ! {
    let _ = rendezvous.put(&left(rank), "");
    process::exit(status.into())
}
