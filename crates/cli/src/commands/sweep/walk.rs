//! The runs of a sweep: one a point, all rows side by side, then one a step of each row's bisection.

use std::{ffi::OsString, time::Duration};

use ipcmark_engine::Plan;
use ipcmark_report::{SweepFinding, duration};
use ipcmark_results::{Identity, Load, Row, RunResult, groups};
use ipcmark_transport::Error;

use super::{arguments::Over, knee::Knee};
use crate::{
    arguments::run::RunArguments,
    definition::Failure,
    interrupts::Interrupts,
    measurement::{Recorder, RunRequest},
    registry::Transports,
};

/// What is walked over, and with what.
pub(super) struct Walk<'a> {
    pub over: Over,
    /// The flags of `ipcmark run` that the user has written.
    pub given: Vec<OsString>,
    pub transports: &'a Transports,
    pub interrupts: &'a Interrupts,
    /// All that was measured.
    pub result: Option<RunResult>,
    pub recorder: Recorder,
}

impl Walk<'_> {
    /// What is measured at a point, of rows that further words narrow down.
    pub(super) fn request(
        &self,
        point: &str,
        more: &[String],
    ) -> Result<(RunArguments, RunRequest), Failure> {
        let mut words = self.given.clone();
        // One follower is a point of the curve too.
        match self.over {
            Over::Subscribers => words.push("--patterns=fan-out".into()),
            Over::Publishers => words.push("--patterns=fan-in".into()),
            Over::Rate | Over::Interval | Over::Payload | Over::Pairs => {}
        }
        words.extend(more.iter().map(OsString::from));
        words.push(format!("--{}={point}", self.over.flag()).into());
        let arguments = RunArguments::of_words(&words)?;
        let mut request = RunRequest::new(&arguments, &self.transports.registry)?;
        request.measure_enough_for_p99();
        Ok((arguments, request))
    }

    /// Measures it; what it found, alone. Nothing where the user interrupts.
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

    /// Finds the knee of every row that was measured at some rate.
    pub(super) fn knees(&mut self, limit: Duration) -> Result<Vec<SweepFinding>, Failure> {
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

    /// Whether a row holds a rate; nothing where it could not be measured.
    fn step(
        &mut self,
        row: &Identity,
        rate: u64,
        limit: Duration,
    ) -> Result<Option<bool>, Failure> {
        let narrowed = [
            format!("--transports={}", row.transport),
            format!("--waits={}", row.wait),
            format!("--sizes={}", row.payload_bytes),
            format!("--patterns={}", row.pattern),
        ];
        let (_, request) = self.request(&format!("{rate}/s"), &narrowed)?;
        let found = self.measure(&request).map_err(|error| error.to_string())?;
        let judged = found.iter().flat_map(|found| rows(found, limit)).next();
        Ok(judged.and_then(|(_, points)| points.first().map(|(_, held)| *held)))
    }
}

/// Each row of a result, whatever its rate, with the rates at which it was measured and whether it held them.
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

/// Whether 99 of 100 messages were answered in this time, wherever the processors stood: those that were not sent by the end
/// stand at no distance. None where the samples cannot tell.
fn holds(row: &Row, limit: Duration) -> Option<bool> {
    let p99 = row.overall().percentile(0.99)?;
    Some(p99.value <= limit.as_nanos() as f64)
}

/// A limit in words.
pub(super) fn limit_in_words(limit: Duration) -> String {
    duration(limit.as_nanos() as f64)
}
