//! Cases judged by a limit of their 99th percentile.

use crate::{
    model::{Case, Status},
    rows::Row,
};

/// The verdict on a case whose 99th percentile should stay within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitVerdict {
    /// It does.
    Within,
    /// It does not.
    Beyond,
    /// The case was tried, and failed.
    Failed,
    /// There are too few samples.
    Unknown,
}

/// A rate at which a row was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedRate {
    /// Messages a second.
    pub per_second: u64,
    /// The verdict there.
    pub verdict: LimitVerdict,
}

impl LimitVerdict {
    /// The verdict on a case, at any distance: messages that were not sent by the end have no distance. None if the case
    /// was not tried.
    pub fn of(case: &Case, limit_ns: f64) -> Option<Self> {
        match case.status() {
            Status::Failed => return Some(LimitVerdict::Failed),
            Status::Unavailable | Status::Unsupported => return None,
            Status::Ok => {}
        }
        let p99 = Row::of(case, None).and_then(|row| row.percentile(0.99));
        Some(match p99 {
            None => LimitVerdict::Unknown,
            Some(p99) if p99.value <= limit_ns => LimitVerdict::Within,
            Some(_) => LimitVerdict::Beyond,
        })
    }

    /// True if the limit holds, false if it does not, a failed case among them; none if that is unknown.
    pub fn holds(self) -> Option<bool> {
        match self {
            LimitVerdict::Within => Some(true),
            LimitVerdict::Beyond | LimitVerdict::Failed => Some(false),
            LimitVerdict::Unknown => None,
        }
    }
}
