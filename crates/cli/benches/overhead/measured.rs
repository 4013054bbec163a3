//! Single cases through the engine.

use std::{os::unix::net::UnixStream, time::Duration};

use ipcmark_engine::{Length, Observer, Plan, PlanRequest, Registry, RunOptions, Waits};
use ipcmark_results::{Blocks, Role, RunResult, Touch, Trial};
use ipcmark_transport::{Availability, Error, Pattern, Wait};

/// The measured time of a case.
const TIME: Duration = Duration::from_millis(200);

/// The same for one of many rounds.
pub(crate) const BRIEF: Duration = Duration::from_millis(60);

/// The registry of the transports to run.
pub(crate) struct Engine(Registry);

/// A case's round trip and the figures to compare it with, in ns.
pub(crate) struct Latency {
    pub p50: f64,
    pub clock_free_mean: f64,
    /// Each clock-free block divided by the probes around it, if most blocks were measured at one distance.
    pub floor_multiple: Option<f64>,
    pub clock: f64,
    pub blocks: Blocks,
    /// The processors of leader and follower.
    pub cpus: (u32, u32),
}

/// The times of a case's messages one way and of their round trips, in ns.
pub(crate) struct OneWay {
    pub p50: f64,
    pub round_trip_p50: f64,
    pub blocks: Blocks,
}

impl Engine {
    pub(crate) fn new(registry: Registry) -> Self {
        Self(registry)
    }

    /// Why a transport cannot run here, if it cannot.
    pub(crate) fn lacks(&self, name: &str) -> Option<String> {
        let transport = self.0.iter().find(|one| one.definition().name == name)?;
        match transport.probe() {
            Availability::Available { .. } => None,
            Availability::Unavailable { reason, .. } => Some(reason),
        }
    }

    /// Measures one case for [`TIME`].
    pub(crate) fn latency(&self, name: &str, wait: Wait, payload: usize, touch: Touch) -> Latency {
        self.latency_in(TIME, name, wait, payload, touch)
    }

    /// Measures one case for [`BRIEF`], with the heads of messages touched.
    pub(crate) fn brief_latency(&self, name: &str, wait: Wait, payload: usize) -> Latency {
        self.latency_in(BRIEF, name, wait, payload, Touch::Head)
    }

    fn latency_in(
        &self,
        time: Duration,
        name: &str,
        wait: Wait,
        payload: usize,
        touch: Touch,
    ) -> Latency {
        let request = self.request(Pattern::Latency, name, wait, payload, touch);
        let result = self.run(request, Length::Time(time));
        let trial = only(&result);
        let cpu = |role| trial.session.end(role).and_then(|(_, end)| end.cpu).unwrap_or(0);
        let reference = result.distances.as_ref().and_then(|distances| distances.reference);
        Latency {
            p50: trial.times_ns.p50 as f64,
            clock_free_mean: trial.clock_free_mean_ns,
            floor_multiple: trial.at(reference).and_then(|at| at.floor_multiple),
            clock: result.clock.read_ns,
            blocks: trial.blocks.clone(),
            cpus: (cpu(Role::Leader), cpu(Role::Follower(0))),
        }
    }

    /// The blocks of a stream.
    pub(crate) fn stream(&self, name: &str, wait: Wait, payload: usize) -> Blocks {
        let request = self.request(Pattern::Throughput, name, wait, payload, Touch::Head);
        only(&self.run(request, Length::Time(TIME))).blocks.clone()
    }

    /// Measures messages one way, with the processors of the two ends exchanged or not.
    pub(crate) fn one_way(&self, name: &str, payload: usize, is_swapped: bool) -> OneWay {
        let request = PlanRequest {
            // The ends of every second trial are exchanged.
            first_trial: if is_swapped { 2 } else { 1 },
            ..self.request(Pattern::OneWay, name, Wait::Spin, payload, Touch::All)
        };
        let result = self.run(request, Length::Time(TIME));
        let trial = only(&result);
        let parts = trial.one_way.as_ref().expect("it is one way");
        let round_trips = parts.round_trip_ns.as_ref().expect("each message is answered");
        OneWay {
            p50: trial.times_ns.p50 as f64,
            round_trip_p50: round_trips.p50 as f64,
            blocks: trial.blocks.clone(),
        }
    }

    /// The leader's peak memory after `round_trips` round trips.
    pub(crate) fn leader_peak_bytes(&self, name: &str, round_trips: u64) -> f64 {
        let request = self.request(Pattern::Latency, name, Wait::Spin, 64, Touch::Head);
        let result = self.run(request, Length::RoundTrips(round_trips));
        let leader = only(&result).session.leader().expect("the leader reports");
        leader.peak_memory_bytes as f64
    }

    /// One case.
    fn request(
        &self,
        pattern: Pattern,
        name: &str,
        wait: Wait,
        payload: usize,
        touch: Touch,
    ) -> PlanRequest {
        let at = self.0.iter().position(|candidate| candidate.definition().name == name);
        PlanRequest {
            transports: vec![at.expect("the transport is in the list")],
            patterns: vec![pattern],
            payloads: vec![(payload, vec![touch])],
            waits: Waits::These(vec![wait]),
            ..PlanRequest::default()
        }
    }

    fn run(&self, request: PlanRequest, length: Length) -> RunResult {
        let request = PlanRequest { length: Some(length), ..request };
        let plan = Plan::new(&self.0, &request);
        let (interrupt, _writer) = UnixStream::pair().expect("a pair of sockets");
        ipcmark_engine::run(&self.0, &plan, &RunOptions::default(), &interrupt, &mut Silent)
            .expect("the engine runs")
    }
}

/// The one trial of the one case.
fn only(result: &RunResult) -> &Trial {
    let case = &result.cases[0];
    match case.trials() {
        [trial] => trial,
        _ => panic!("{}: {:?}", case.identity.transport, case.reason()),
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

/// The middle one of sorted values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}
