//! The time between two processors through a transport: a run of one row for each pair.

use std::time::Duration;

use ipcmark_report::MatrixPart;
use ipcmark_results::{RunResult, groups};

use crate::{
    arguments::run::RunArguments,
    definition::Rejection,
    interrupts::Interrupts,
    measurement::{ResultRecorder, RunRequest, recorded},
    registry::Transports,
};

/// The transport and the conditions to measure for each pair.
pub(super) struct TransportMeasurement<'a> {
    pub transport: String,
    pub size: String,
    pub wait: Option<String>,
    pub duration: Duration,
    pub transports: &'a Transports,
    pub interrupts: &'a Interrupts,
}

impl TransportMeasurement<'_> {
    /// The run of a pair; an error is one of the command line.
    pub(super) fn request(&self, (a, b): (u32, u32)) -> Result<RunRequest, Rejection> {
        let mut words = vec![
            format!("--transports={}", self.transport),
            format!("--sizes={}", self.size),
            format!("--cpus={a},{b}"),
            format!("--duration={}ns", self.duration.as_nanos()),
            "--trials=1".into(),
        ];
        words.extend(self.wait.iter().map(|wait| format!("--waits={wait}")));
        let words: Vec<std::ffi::OsString> = words.into_iter().map(Into::into).collect();
        let arguments = RunArguments::of_words(&words)?;
        let request = RunRequest::new(&arguments, &self.transports.registry)?;
        if request.plan.transports.len() != 1 || request.plan.payloads.len() != 1 {
            let why = "a map is of one transport and one size: name one of each with -t and -s";
            return Err(Rejection::Refused(why.into()));
        }
        Ok(request)
    }

    /// The transport's times between two processors, one for each of their distances, or the reason why it cannot
    /// be measured.
    pub(super) fn measure(&self, pair: (u32, u32)) -> Result<Vec<MatrixPart>, String> {
        let request = self.request(pair).map_err(|_| "the command line is wrong".to_owned())?;
        let found = recorded(
            &request,
            &self.transports.registry,
            self.interrupts,
            ResultRecorder::new(None),
        );
        parts(&found.map_err(|error| error.to_string())?)
    }
}

/// The times of its first row, at each distance.
fn parts(result: &RunResult) -> Result<Vec<MatrixPart>, String> {
    let groups = groups(result);
    let Some(row) = groups.first().and_then(|group| group.rows.first()) else {
        let reason = result.cases.iter().find_map(|case| case.reason());
        return Err(reason.map_or_else(|| "nothing was measured".into(), |why| why.to_string()));
    };
    let trial = &row.trials[0];
    let distances = result.distances.iter().flat_map(|distances| &distances.all).enumerate();
    let at_each: Vec<MatrixPart> = distances
        .filter_map(|(at, distance)| {
            let at = trial.at(Some(at as u32))?;
            let time_ns = at.location_ns.filter(|_| !distance.apart);
            // A distance at which no block counts has no time, and its processors are not apart.
            let is_known = distance.apart || time_ns.is_some();
            is_known.then_some(MatrixPart { time_ns, share: distance.share })
        })
        .collect();
    Ok(match at_each.is_empty() {
        false => at_each,
        true => vec![MatrixPart { time_ns: Some(trial.clock_free_mean_ns), share: 1.0 }],
    })
}
