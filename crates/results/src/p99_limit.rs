//! Cases judged by a limit of their 99th percentile.

use crate::{
    model::{Case, Load, Status},
    rows::{Figure, Row},
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
    /// True if the interval of its 99th percentile does not contain the limit, or if it failed.
    pub is_certain: bool,
}

impl JudgedRate {
    /// A case at a rate, judged by a limit, at any distance: messages that were not sent by the end have no distance.
    /// None if the case has no rate or was not tried.
    pub fn of(case: &Case, limit_ns: f64) -> Option<Self> {
        let Load::Rate { per_second, .. } = case.identity.load else { return None };
        let p99 = Row::of(case, None).and_then(|row| row.percentile(0.99));
        let verdict = match case.status() {
            Status::Ok => LimitVerdict::of(p99, limit_ns),
            Status::Failed => LimitVerdict::Failed,
            Status::Unavailable | Status::Unsupported => return None,
        };
        let is_clear = p99.is_some_and(|p99| p99.is_clear_of(limit_ns));
        let is_certain = is_clear || verdict == LimitVerdict::Failed;
        Some(Self { per_second, verdict, is_certain })
    }
}

impl LimitVerdict {
    fn of(p99: Option<Figure>, limit_ns: f64) -> Self {
        match p99 {
            None => LimitVerdict::Unknown,
            Some(p99) if p99.value <= limit_ns => LimitVerdict::Within,
            Some(_) => LimitVerdict::Beyond,
        }
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
