//! Single cases through the engine.

use std::{os::unix::net::UnixStream, time::Duration};

use ipcmark_engine::{
    Budget, Observer, Plan, PlanRequest, PlannedCase, PlannedSession, Registry, RunOptions, Touch,
};
use ipcmark_results::{Figures, RunResult};
use ipcmark_transport::{Error, Pattern, Wait};

/// The engine with its transports.
pub(crate) struct Engine(Registry);

/// A case's round trip and what it is compared with, in ns.
pub(crate) struct Latency {
    pub p50: f64,
    pub bulk_mean: f64,
    pub floor: f64,
    pub clock: f64,
    /// The processors of leader and follower.
    pub cpus: (u32, u32),
}

impl Engine {
    pub(crate) fn new(registry: Registry) -> Self {
        Self(registry)
    }

    /// Measures one case for as long as a default run does.
    pub(crate) fn latency(&self, name: &str, wait: Wait, payload: usize, touch: Touch) -> Latency {
        self.latency_within(Duration::from_millis(200), name, wait, payload, touch)
    }

    /// Measures one case, spinning, for no longer than a scheduler's slice or two.
    pub(crate) fn short(&self, name: &str, payload: usize) -> Latency {
        self.latency_within(Duration::from_millis(20), name, Wait::Spin, payload, Touch::Head)
    }

    fn latency_within(
        &self,
        time: Duration,
        name: &str,
        wait: Wait,
        payload: usize,
        touch: Touch,
    ) -> Latency {
        let (result, figures) = self.measure(name, wait, payload, touch, Budget::Time(time));
        let placement = &figures.placement;
        Latency {
            p50: figures.round_trip_ns.p50 as f64,
            bulk_mean: figures.round_trip_ns.bulk_mean,
            floor: figures.floor_round_trip_ns,
            clock: result.clock.read_ns,
            cpus: (placement.leader_cpu.unwrap_or(0), placement.follower_cpus[0]),
        }
    }

    /// The most memory that the leader had by the end of so many round trips.
    pub(crate) fn leader_peak_bytes(&self, name: &str, round_trips: u64) -> f64 {
        let budget = Budget::RoundTrips(round_trips);
        let (_, figures) = self.measure(name, Wait::Spin, 64, Touch::Head, budget);
        figures.peak_memory_bytes.leader as f64
    }

    fn measure(
        &self,
        name: &str,
        wait: Wait,
        payload: usize,
        touch: Touch,
        budget: Budget,
    ) -> (RunResult, Figures) {
        let at = self.0.iter().position(|candidate| candidate.definition().name == name);
        let request = PlanRequest {
            transports: vec![at.expect("the transport is in the list")],
            patterns: vec![Pattern::Latency],
            payloads: vec![(payload, vec![touch])],
            waits: Some(vec![wait]),
            budget,
            ..PlanRequest::default()
        };
        let plan = Plan::new(&self.0, &request);
        let (interrupt, _writer) = UnixStream::pair().expect("a pair of sockets");
        let result =
            ipcmark_engine::run(&self.0, &plan, &RunOptions::default(), &interrupt, &mut Silent)
                .expect("the engine runs");
        let case = &result.cases[0];
        let figures = case.figures.clone();
        let figures = figures.unwrap_or_else(|| panic!("{name}: {:?}", case.reason));
        (result, figures)
    }
}

struct Silent;

impl Observer for Silent {
    fn begun(&mut self, _: &RunResult) {}
    fn starting(&mut self, _: &str, _: &PlannedSession, _: &PlannedCase) {}
    fn finished(&mut self, _: &RunResult) -> Result<(), Error> {
        Ok(())
    }
}

/// The middle of sorted values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
