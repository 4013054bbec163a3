//! The reports of a row's workers, before they are evaluated.

use super::receiver::KnownWakeUps;
use crate::wire::Reply;

/// The reports of one row's workers in one trial, the leader's first in each list.
pub(crate) struct RowReports {
    pub opened: Vec<Reply>,
    pub measured: Vec<Reply>,
    pub seen: Vec<Reply>,
    /// The wake-ups of its receiver, recorded by the command.
    pub wake_ups: Option<KnownWakeUps>,
    /// The same for the background pairs, which ran beside it.
    pub others: Vec<RowReports>,
}
