//! The runs of a sweep: one per point, with all rows side by side, then one per step of each row's
//! bisection.

use std::{ffi::OsString, time::Duration};

use ipcmark_engine::Plan;
use ipcmark_report::{SweepFinding, duration};
use ipcmark_results::{Identity, Load, Row, RunResult, groups};
use ipcmark_transport::Error;

use super::{arguments::Over, knee::Knee};
use crate::{
    arguments::run::RunArguments,
    definition::Rejection,
    interrupts::Interrupts,
    measurement::{ResultRecorder, RunRequest},
    registry::Transports,
};

/// The context of a sweep.
pub(super) struct SweepState<'a> {
    pub over: Over,
    /// The flags of `ipcmark run` that the user has written.
    pub given: Vec<OsString>,
    pub transports: &'a Transports,
    pub interrupts: &'a Interrupts,
    /// All results so far, joined.
    pub result: Option<RunResult>,
    pub recorder: ResultRecorder<'static>,
}

impl SweepState<'_> {
    /// The run at a point.
    pub(super) fn request(&self, point: &str) -> Result<RunRequest, Rejection> {
        let mut words = self.given.clone();
        words.push(format!("--{}={point}", self.over.flag()).into());
        let mut arguments = RunArguments::of_words(&words)?;
        if let Some(pattern) = self.over.pattern() {
            arguments.patterns = Some(vec![pattern]);
        }
        let mut request = RunRequest::new(&arguments, &self.transports.registry)?;
        request.measure_enough_for_p99(&arguments);
        Ok(request)
    }

    /// Measures a request and returns its own result. None if the user interrupts.
    pub(super) fn measure(&mut self, request: &RunRequest) -> Result<Option<RunResult>, Error> {
        if self.interrupts.signal().is_some() {
            return Ok(None);
        }
        let registry = &self.transports.registry;
        let plan = Plan::new(registry, &request.plan);
        let readable = &self.interrupts.readable;
        let found =
            ipcmark_engine::run(registry, &plan, &request.options, readable, &mut self.recorder)?;
        match &mut self.result {
            Some(result) => result.join(found.clone()),
            None => self.result = Some(found.clone()),
        }
        Ok(Some(found))
    }

    /// Finds the knee of every row that was measured at a rate.
    pub(super) fn knees(&mut self, limit: Duration) -> Result<Vec<SweepFinding>, Rejection> {
        let result = self.result.clone();
        let mut findings = Vec::new();
        for (identity, points) in result.iter().flat_map(|result| rows(result, limit)) {
            let mut knee = Knee::of(&points);
            while let Some(rate) = knee.next() {
                let Some(held) = self.step(&identity, rate, limit)? else { break };
                knee.found(rate, held);
            }
            findings.push(SweepFinding { row: identity, holds: knee.holds, fails: knee.fails });
        }
        Ok(findings)
    }

    /// True if a row holds a rate; None if it could not be measured.
    fn step(
        &mut self,
        row: &Identity,
        rate: u64,
        limit: Duration,
    ) -> Result<Option<bool>, Rejection> {
        let mut request = self.request(&format!("{rate}/s"))?;
        request.narrow_to(row, &self.transports.registry);
        let found = self.measure(&request).map_err(|error| error.to_string())?;
        let mut rows = found.iter().flat_map(|found| rows(found, limit));
        let judged = rows.find(|(identity, _)| identity == row);
        Ok(judged.and_then(|(_, points)| points.first().map(|(_, held)| *held)))
    }
}

/// The rows of a result, without their rates; each with the rates at which it was measured, and true for
/// those that it held.
fn rows(result: &RunResult, limit: Duration) -> Vec<(Identity, Vec<(u64, bool)>)> {
    let mut found: Vec<(Identity, Vec<(u64, bool)>)> = Vec::new();
    for row in groups(result).iter().flat_map(|group| &group.rows) {
        let identity = &row.case.identity;
        let Load::Rate { per_second, .. } = identity.load else { continue };
        let Some(held) = holds(row, limit) else { continue };
        let any = Identity { load: Load::Closed, ..identity.clone() };
        match found.iter_mut().find(|(known, _)| *known == any) {
            Some((_, points)) => points.push((per_second, held)),
            None => found.push((any, vec![(per_second, held)])),
        }
    }
    found
}

/// True if 99 of 100 messages were answered within this time, at any distance: messages that were not sent by the end
/// have no distance. None if the samples cannot decide.
fn holds(row: &Row, limit: Duration) -> Option<bool> {
    let p99 = row.overall().percentile(0.99)?;
    Some(p99.value <= limit.as_nanos() as f64)
}

/// A limit in words.
pub(super) fn limit_in_words(limit: Duration) -> String {
    duration(limit.as_nanos() as f64)
}
