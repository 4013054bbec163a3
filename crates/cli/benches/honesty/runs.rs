//! Runs of the operating system's transports through the engine.

use std::{os::unix::net::UnixStream, time::Duration};

use ipcmark_engine::{Length, Observer, Plan, PlanRequest, Registry, RunOptions, Trials, Waits};
use ipcmark_results::{RunResult, Touch};
use ipcmark_transport::{Error, Pattern, Wait};

/// The transports of the operating system.
pub(crate) fn registry() -> Registry {
    ipcmark_registry::native()
}

/// The rows to measure.
pub(crate) struct Measurement<'a> {
    pub names: &'a [&'a str],
    pub wait: Wait,
    pub trials: u32,
    pub length: Duration,
    pub seed: u64,
}

/// The registry of the transports to run.
pub(crate) struct Runs(Registry);

impl Runs {
    pub(crate) fn new() -> Self {
        Self(registry())
    }

    /// Measures a payload of 64 bytes.
    pub(crate) fn measure(&self, question: &Measurement<'_>) -> RunResult {
        let place = |name: &&str| {
            let at = self.0.iter().position(|known| known.definition().name == *name);
            at.expect("the transport is in the list")
        };
        let request = PlanRequest {
            transports: question.names.iter().map(place).collect(),
            patterns: vec![Pattern::Latency],
            payloads: vec![(64, vec![Touch::All])],
            waits: Waits::These(vec![question.wait]),
            trials: Trials::Fixed(question.trials),
            length: Some(Length::Time(question.length)),
            seed: question.seed,
            ..PlanRequest::default()
        };
        let plan = Plan::new(&self.0, &request);
        let (interrupt, _writer) = UnixStream::pair().expect("a pair of sockets");
        ipcmark_engine::run(&self.0, &plan, &RunOptions::default(), &interrupt, &mut Silent)
            .expect("the engine runs")
    }
}

struct Silent;

impl Observer for Silent {
    fn begun(&mut self, _: &RunResult) {}
    fn progress(&mut self, _: &str, _: f64) {}
    fn recorded(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
}
