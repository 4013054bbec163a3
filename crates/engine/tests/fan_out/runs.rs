//! Runs of the broadcast transport in this program, and access to their results.

use std::{os::unix::net::UnixStream, time::Duration};

use ipcmark_engine::{
    Length, Observer, Pinning, Plan, PlanRequest, Register, Registry, RunOptions, Trials,
};
use ipcmark_results::{Case, Identity, RunResult, Status, Touch, Trial};
use ipcmark_transport::{Collect, Error, Pattern, Span};
use libtest_mimic::Failed;

use crate::broadcast::{Broadcast, Fault};

pub const ROUND_TRIPS: u64 = 1000;

/// The transport that never reaches its last follower.
pub const FORGETS_ONE: &str = "forgets-one";

pub fn registry() -> Registry {
    let mut collect = Register;
    vec![
        collect.item(Broadcast::new("right", Fault::Nothing, Span::Process)),
        collect.item(Broadcast::new("threads", Fault::Nothing, Span::Thread)),
        collect.item(Broadcast::new("loses", Fault::Loses, Span::Process)),
        collect.item(Broadcast::new("loses-back", Fault::LosesBack, Span::Process)),
        collect.item(Broadcast::new("loses-many", Fault::LosesMany, Span::Process)),
        collect.item(Broadcast::new("wears-out", Fault::WearsOut, Span::Process)),
        collect.item(Broadcast::new("repeats", Fault::Repeats, Span::Process)),
        collect.item(Broadcast::new(FORGETS_ONE, Fault::ForgetsOne, Span::Process)),
    ]
}

/// A measurement of a transport.
#[derive(Clone, Copy)]
pub struct MeasurementRequest {
    pub name: &'static str,
    pub pattern: Pattern,
    pub followers: u32,
    pub silent: u32,
    pub trials: u32,
    pub round_trips: u64,
    /// Another transport beside it, in a run with a final.
    pub beside: Option<&'static str>,
}

impl MeasurementRequest {
    /// One trial in which all followers take part.
    pub fn of(pattern: Pattern, name: &'static str, followers: u32) -> Self {
        Self {
            name,
            pattern,
            followers,
            silent: 0,
            trials: 1,
            round_trips: ROUND_TRIPS,
            beside: None,
        }
    }

    pub fn case(self) -> Case {
        self.run(&mut Starts::default()).cases.remove(0)
    }

    /// Measures it, and checks that it fails for this reason.
    pub fn fails(self, reason: &str) -> Result<(), Failed> {
        let case = self.case();
        assert_eq!(case.status(), Status::Failed);
        let words = case.reason().unwrap_or_default();
        assert!(words.contains(reason), "{words}");
        Ok(())
    }

    pub fn run(self, observer: &mut dyn Observer) -> RunResult {
        // Only a transport that never reaches a follower is detected by its silence.
        let timeout = Duration::from_secs(if self.name == FORGETS_ONE { 2 } else { 300 });
        let registry = registry();
        let place = |name| registry.iter().position(|one| one.definition().name == name);
        let names = [self.name].into_iter().chain(self.beside);
        let request = PlanRequest {
            transports: names.map(|name| place(name).expect("it is in the list")).collect(),
            patterns: vec![self.pattern],
            payloads: vec![(64, vec![Touch::All])],
            subscribers: self.followers,
            silent: self.silent,
            trials: Trials::Fixed(self.trials),
            length: Some(Length::RoundTrips(self.round_trips)),
            has_final: self.beside.is_some(),
            ..PlanRequest::default()
        };
        let options = RunOptions { pinning: Pinning::Off, timeout, ..RunOptions::default() };
        let (interrupt, _writer) = UnixStream::pair().expect("a pair of sockets");
        let plan = Plan::new(&registry, &request);
        ipcmark_engine::run(&registry, &plan, &options, &interrupt, observer).expect("the run ends")
    }
}

/// The number of slots begun, one per trial.
#[derive(Default)]
pub struct Starts(pub u32);

impl Observer for Starts {
    fn begun(&mut self, _: &RunResult) {}
    fn progress(&mut self, _: &str, _: f64) {
        self.0 += 1;
    }
    fn recorded(&mut self, result: &RunResult) -> Result<(), Error> {
        result.check().map_err(|cause| Error::new("check", "the result", cause))
    }
}

/// Makes one transport the only finalist, once all have had their trials.
pub struct Finalist(pub &'static str);

impl Observer for Finalist {
    fn begun(&mut self, _: &RunResult) {}
    fn progress(&mut self, _: &str, _: f64) {}
    fn recorded(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
    fn finalists(&mut self, result: &RunResult) -> Vec<Identity> {
        let identities = result.cases.iter().map(|case| case.identity.clone());
        identities.filter(|identity| identity.transport == self.0).collect()
    }
}

/// The only trial of a case.
pub fn only(case: &Case) -> Result<&Trial, Failed> {
    match case.trials() {
        [trial] => Ok(trial),
        trials => Err(format!("{} trials: {:?}", trials.len(), case.reason()).into()),
    }
}

/// The messages that each endpoint published and took.
pub fn traffic(trial: &Trial) -> Vec<(u64, u64)> {
    let ends = trial.session.processes.iter().flat_map(|process| &process.ends);
    ends.map(|end| (end.sent, end.received)).collect()
}
