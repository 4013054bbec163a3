//! What the workers of a row reported, before anybody judges it.

use crate::wire::Reply;

/// What the workers of one row reported in one trial, the leader's first in each list.
pub(crate) struct RowReports {
    pub opened: Vec<Reply>,
    pub measured: Vec<Reply>,
    pub seen: Vec<Reply>,
    /// The same of the other pairs, which ran beside it.
    pub others: Vec<RowReports>,
}
