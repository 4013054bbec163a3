//! How the ranks part: rank 0 leaves the status of the whole, and all others end with it.

use std::{process, process::ExitCode, time::Duration};

use super::meeting::{Meeting, Missing};
use crate::{definition::Outcome, output};

/// How long the ranks wait for the last words of each other.
pub(super) const FAREWELL: Duration = Duration::from_secs(10);

/// The file with the status.
const STATUS: &str = "status";

/// The file that says that a rank is there, and where.
pub(super) fn here(rank: u32) -> String {
    format!("here-{rank}")
}

/// The file that says that a rank has ended, or is about to.
pub(super) fn left(rank: u32) -> String {
    format!("left-{rank}")
}

/// Waits for all other ranks: what each says of where it is. Nothing where the user interrupts.
pub(super) fn gather(meeting: &Meeting<'_>, count: u32) -> Result<Option<Vec<String>>, String> {
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for number in 1..count {
        match meeting.get(&here(number)) {
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

/// Tells the others how rank 0 ends, waits until those that came and are alive have read it, and removes the meeting.
pub(super) fn dismiss(meeting: &Meeting<'_>, count: u32, outcome: &Outcome, gone: &[u32]) {
    let status = match outcome {
        Ok(status) if *status == ExitCode::SUCCESS => 0,
        Ok(_) => 1,
        Err(_) => 2,
    };
    if meeting.put(STATUS, &status.to_string()).is_ok() {
        let farewell = meeting.within(FAREWELL);
        let came = (1..count).filter(|rank| meeting.has(&here(*rank)) && !gone.contains(rank));
        came.for_each(|rank| drop(farewell.get(&left(rank))));
    }
    meeting.remove();
}

/// The status of the whole, if rank 0 has told it.
pub(super) fn told(meeting: &Meeting<'_>) -> Option<u8> {
    meeting.read(STATUS)?.parse().ok()
}

/// Ends with the status of the whole, once rank 0 has told it. Where it never does, nobody else removes the meeting.
pub(super) fn ended(meeting: &Meeting<'_>, rank: u32, why: &str) -> ExitCode {
    match meeting.get(STATUS).map(|status| status.parse::<u8>()) {
        Ok(Ok(status)) => {
            let _ = meeting.put(&left(rank), "");
            ExitCode::from(status)
        }
        Err(Missing::Late) => {
            meeting.remove();
            output::failed(why)
        }
        _ => output::failed(why),
    }
}

/// Ends this process at once.
pub(super) fn leave(meeting: &Meeting<'_>, rank: u32, status: u8) -> ! {
    let _ = meeting.put(&left(rank), "");
    process::exit(status.into())
}
