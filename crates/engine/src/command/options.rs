//! The options by which a run measures its plan.

use std::{path::PathBuf, time::Duration};

use ipcmark_machine::placement::Pinning;

use super::followers::FollowerSource;
use crate::wire::{CONNECT_TIMES, Counting};

/// The options by which a run measures its plan; the defaults measure in a sandbox, pinned, with a timeout of 10 s.
pub struct RunOptions {
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of the command, for the record.
    pub version: String,
    /// The placement of the workers.
    pub pinning: Pinning,
    /// True to try namespaces.
    pub sandbox: bool,
    /// Files and directories that the transports' options name: a sandbox must not hide them.
    pub visible: Vec<PathBuf>,
    /// The source of the followers, if this command does not start them.
    pub followers: Option<Box<dyn FollowerSource>>,
    /// The floor round trip of the distance at which rows are compared; by default, the distance with most blocks.
    pub distance: Option<Duration>,
    /// The counts besides the usual costs.
    pub counting: Counting,
    /// The time that a case may take beyond its expected length.
    pub timeout: Duration,
}

impl RunOptions {
    /// The time in which the endpoints must find each other: four fifths of the timeout, so that the library's own
    /// error arrives before the case is overdue.
    pub(crate) fn connect_within(&self) -> Duration {
        (self.timeout / 5 * 4).clamp(*CONNECT_TIMES.start(), *CONNECT_TIMES.end())
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            version: String::new(),
            pinning: Pinning::Auto,
            sandbox: true,
            visible: Vec::new(),
            followers: None,
            distance: None,
            counting: Counting::Nothing,
            timeout: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_reports_before_its_case_is_overdue() {
        let within = |timeout| RunOptions { timeout, ..RunOptions::default() }.connect_within();
        assert_eq!(within(Duration::from_secs(10)), Duration::from_secs(8));
        assert_eq!(within(Duration::from_secs(300)), Duration::from_secs(240));
        // What a follower accepts.
        assert_eq!(within(Duration::from_millis(1)), Duration::from_millis(1));
        assert_eq!(within(Duration::MAX), Duration::from_secs(3600));
    }
}
