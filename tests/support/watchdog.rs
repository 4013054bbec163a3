//! The time limit of a test.

use std::time::Duration;

/// A command that takes longer hangs, however busy the machine is.
pub const WATCHDOG: Duration = Duration::from_secs(600);
