//! The runs of a sweep: one per point, with all rows side by side, then one per step of each row's
//! bisection.

use std::{ffi::OsString, time::Duration};

use clap::error::ErrorKind;
use ipcmark_engine::Plan;
use ipcmark_report::SweepFinding;
use ipcmark_results::{GroupKey, Identity, JudgedRate, Load, RunResult};
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
    /// The limit of the 99th percentile, if the knee is wanted.
    pub limit: Option<Duration>,
    /// The flags of `ipcmark run` that the user has written.
    pub given: Vec<OsString>,
    pub transports: &'a Transports,
    pub interrupts: &'a Interrupts,
    /// All results so far, joined.
    pub result: Option<RunResult>,
    pub recorder: ResultRecorder<'static>,
}

/// A refused value as the user has written it: as one of `--at`.
fn at_point(why: clap::Error, flag: &str) -> Rejection {
    if why.kind() != ErrorKind::ValueValidation {
        return why.into();
    }
    let text = why.to_string();
    let sentence = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    Rejection::Refused(sentence.replace(flag, "--at"))
}

impl SweepState<'_> {
    /// The run at a point.
    pub(super) fn request(&self, point: &str) -> Result<RunRequest, Rejection> {
        let mut words = self.given.clone();
        let flag = format!("--{}", self.over.flag());
        words.push(format!("{flag}={point}").into());
        let mut arguments = RunArguments::of_words(&words).map_err(|why| at_point(why, &flag))?;
        if let Some(pattern) = self.over.pattern() {
            arguments.patterns = Some(vec![pattern]);
        }
        let mut request = RunRequest::new(&arguments, &self.transports.registry)
            .map_err(|why| why.replace(&flag, "--at"))?;
        request.measure_enough_for_p99(&arguments, self.limit.is_some());
        if self.limit.is_some() {
            request.refuse_too_few_for_p99()?;
        }
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

    /// Finds the knee of every row that was tried at a rate.
    pub(super) fn knees(&mut self, limit: Duration) -> Result<Vec<SweepFinding>, Rejection> {
        let result = self.result.clone();
        let mut findings = Vec::new();
        for (row, points) in result.iter().flat_map(|result| rows(result, limit)) {
            let mut knee = Knee::of(&points);
            while let Some(rate) = knee.next() {
                let Some(point) = self.step(&row, rate, limit)? else { break };
                knee.found(point);
            }
            findings.push(knee.finding(row));
        }
        Ok(findings)
    }

    /// The verdict on a row at a further rate; None if it was not tried.
    fn step(
        &mut self,
        row: &Identity,
        rate: u64,
        limit: Duration,
    ) -> Result<Option<JudgedRate>, Rejection> {
        let mut request = self.request(&format!("{rate}/s"))?;
        request.narrow_to(row, &self.transports.registry);
        let found = self.measure(&request).map_err(|error| error.to_string())?;
        let mut rows = found.iter().flat_map(|found| rows(found, limit));
        let judged = rows.find(|(identity, _)| identity == row);
        Ok(judged.and_then(|(_, points)| points.first().copied()))
    }
}

/// The rows of a result, without their rates; each with the rates at which it was tried.
fn rows(result: &RunResult, limit: Duration) -> Vec<(Identity, Vec<JudgedRate>)> {
    let mut found: Vec<(Identity, Vec<JudgedRate>)> = Vec::new();
    for case in &result.cases {
        let Some(point) = JudgedRate::of(case, limit.as_nanos() as f64) else { continue };
        let any = Identity { load: Load::Closed, ..case.identity.clone() };
        match found.iter_mut().find(|(known, _)| *known == any) {
            Some((_, points)) => points.push(point),
            None => found.push((any, vec![point])),
        }
    }
    // In the order of the tables, not in the random one in which rows were measured.
    found.sort_by_cached_key(|(row, _)| (GroupKey::of(row), row.transport.clone()));
    found
}
