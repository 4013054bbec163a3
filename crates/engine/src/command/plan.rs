//! The plan: all cases of one run, in sessions, in their order.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_results::Status;
use ipcmark_transport::{Availability, Capabilities, Pattern, Span, Wait};

use crate::{
    patterns::PATTERNS,
    registry::Registry,
    wire::{Budget, Touch},
};

/// What a user asks to be measured.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// Transports, by their place in the registry.
    pub transports: Vec<usize>,
    /// Patterns; each is measured where the transport has it.
    pub patterns: Vec<Pattern>,
    /// Payloads in bytes, each with the ways it is touched.
    pub payloads: Vec<(usize, Vec<Touch>)>,
    /// Waits; `None` stands for all that a transport has.
    pub waits: Option<Vec<Wait>>,
    /// What is set of transports, by their place in the registry: keys and values, checked.
    pub options: BTreeMap<usize, BTreeMap<String, String>>,
    /// Followers of one leader.
    pub subscribers: u32,
    /// How many of them only listen: fewer than all.
    pub silent: u32,
    /// Where the followers are.
    pub location: FollowerLocation,
    /// How often everything is repeated in fresh processes.
    pub trials: u32,
    /// How long each case is measured.
    pub budget: Budget,
    /// What the order is made from.
    pub seed: u64,
}

/// Nothing to measure yet, with what each option is where a user says nothing: one follower of this command,
/// one trial of 200 ms a case.
impl Default for PlanRequest {
    fn default() -> Self {
        Self {
            transports: Vec::new(),
            patterns: Vec::new(),
            payloads: Vec::new(),
            waits: None,
            options: BTreeMap::new(),
            subscribers: 1,
            silent: 0,
            location: FollowerLocation::default(),
            trials: 1,
            budget: Budget::Time(Duration::from_millis(200)),
            seed: 1,
        }
    }
}

/// Where the followers of a run are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FollowerLocation {
    /// Processes of this command.
    #[default]
    ThisCommand,
    /// Processes of other commands on this machine.
    OtherCommands,
    /// On other hosts.
    OtherHosts,
}

/// All cases of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sessions, in the order in which they run.
    pub sessions: Vec<PlannedSession>,
    /// Followers of one leader.
    pub subscribers: u32,
    /// How many of them only listen: fewer than all.
    pub silent: u32,
    /// How long each case is measured.
    pub budget: Budget,
    /// What the order was made from.
    pub seed: u64,
}

/// The cases that the same processes serve, one after another.
#[derive(Clone, Debug)]
pub struct PlannedSession {
    /// Place in the registry.
    pub transport: usize,
    /// How its ends wait.
    pub wait: Wait,
    /// Number of the repetition, from 1.
    pub trial: u32,
    /// Version of the library.
    pub library_version: Option<String>,
    /// What the user has set of its options.
    pub options: BTreeMap<String, String>,
    /// What is measured.
    pub cases: Vec<PlannedCase>,
}

/// One case.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// Shape of the traffic.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub payload: usize,
    /// Which bytes are touched.
    pub touch: Touch,
    /// Why it will not be measured, if it will not.
    pub verdict: Option<(Status, String)>,
}

impl Plan {
    /// Makes the plan of a request. Transports are asked whether they can run.
    pub fn new(registry: &Registry, request: &PlanRequest) -> Self {
        let mut sessions = Vec::new();
        for trial in 1..=request.trials {
            let mut round: Vec<PlannedSession> = request
                .transports
                .iter()
                .flat_map(|t| sessions_of(registry, *t, trial, request))
                .collect();
            // A machine that gets slower or faster during a run would favour one end of a list.
            shuffle(&mut round, request.seed.wrapping_add(u64::from(trial)));
            sessions.extend(round);
        }
        let PlanRequest { subscribers, silent, budget, seed, .. } = *request;
        Self { sessions, subscribers, silent, budget, seed }
    }

    /// How many cases there are.
    pub fn len(&self) -> usize {
        self.sessions.iter().map(|session| session.cases.len()).sum()
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many cases will be measured.
    pub fn measurable(&self) -> usize {
        let cases = self.sessions.iter().flat_map(|session| &session.cases);
        cases.filter(|case| case.verdict.is_none()).count()
    }
}

fn sessions_of(
    registry: &Registry,
    transport: usize,
    trial: u32,
    request: &PlanRequest,
) -> Vec<PlannedSession> {
    let candidate = &registry[transport];
    let capabilities = &candidate.definition().capabilities;
    let availability = candidate.probe();
    let waits = request.waits.clone().unwrap_or_else(|| capabilities.waits.to_vec());
    let version = match &availability {
        Availability::Available { version } => version.clone(),
        Availability::Unavailable { .. } => None,
    };
    let session = |wait| PlannedSession {
        transport,
        wait,
        trial,
        library_version: version.clone(),
        options: request.options.get(&transport).cloned().unwrap_or_default(),
        cases: cases_of(capabilities, &availability, wait, request),
    };
    waits.into_iter().map(session).collect()
}

fn cases_of(
    capabilities: &Capabilities,
    availability: &Availability,
    wait: Wait,
    request: &PlanRequest,
) -> Vec<PlannedCase> {
    let mut cases = Vec::new();
    for pattern in &request.patterns {
        for (payload, touches) in &request.payloads {
            let verdict = unavailable(availability)
                .or_else(|| out_of_reach(capabilities, request.location))
                .or_else(|| {
                    unsupported(capabilities, *pattern, *payload, wait, request.subscribers)
                });
            cases.extend(touches.iter().map(|touch| PlannedCase {
                pattern: *pattern,
                payload: *payload,
                touch: *touch,
                verdict: verdict.clone(),
            }));
        }
    }
    cases
}

fn unavailable(availability: &Availability) -> Option<(Status, String)> {
    match availability {
        Availability::Available { .. } => None,
        Availability::Unavailable { reason, install: None } => {
            Some((Status::Unavailable, reason.clone()))
        }
        Availability::Unavailable { reason, install: Some(install) } => {
            Some((Status::Unavailable, format!("{reason}; install it with: {install}")))
        }
    }
}

fn out_of_reach(
    capabilities: &Capabilities,
    location: FollowerLocation,
) -> Option<(Status, String)> {
    let reason = match location {
        FollowerLocation::OtherHosts if !capabilities.crosses_hosts => {
            "its ends must be on one host"
        }
        FollowerLocation::OtherCommands if capabilities.span == Span::Thread => {
            "its ends are in one process"
        }
        _ => return None,
    };
    Some((Status::Unsupported, reason.into()))
}

fn unsupported(
    capabilities: &Capabilities,
    pattern: Pattern,
    payload: usize,
    wait: Wait,
    subscribers: u32,
) -> Option<(Status, String)> {
    let list = |words: Vec<&str>| words.join(", ");
    let reason = if !capabilities.waits.contains(&wait) {
        let waits = list(capabilities.waits.iter().map(|wait| wait.as_str()).collect());
        format!("it cannot wait by {wait}; it has {waits}")
    } else if !capabilities.patterns.contains(&pattern) || !PATTERNS.contains(&pattern) {
        let patterns = list(capabilities.patterns.iter().map(|p| p.as_str()).collect());
        format!("it does not carry the pattern {pattern}; it has {patterns}")
    } else if payload > capabilities.max_payload {
        format!("its messages end at {} bytes", capabilities.max_payload)
    } else if subscribers > capabilities.max_subscribers {
        format!("{} followers are the most it has", capabilities.max_subscribers)
    } else {
        return None;
    };
    Some((Status::Unsupported, reason))
}

/// How long a case takes, about: what it is measured for, and a little for setting up.
pub fn expected_length(budget: Budget) -> Duration {
    match budget {
        Budget::Time(time) => time + Duration::from_millis(40),
        Budget::RoundTrips(n) => Duration::from_micros(20 * n) + Duration::from_millis(40),
    }
}

/// Fisher and Yates' shuffle with a xorshift generator: an order, not a secret.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for last in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn capabilities() -> Capabilities {
        Capabilities {
            waits: Cow::Borrowed(&[Wait::Spin]),
            patterns: Cow::Borrowed(&[Pattern::Latency]),
            max_payload: 1024,
            loans: false,
            max_subscribers: 1,
            crosses_hosts: false,
            reliable: true,
            alternating: false,
            span: Span::Process,
            exclusive: false,
        }
    }

    #[test]
    fn what_a_transport_lacks_is_said_with_what_it_has() {
        let capabilities = capabilities();
        let reason = |pattern, payload, wait| unsupported(&capabilities, pattern, payload, wait, 1);
        assert!(reason(Pattern::Latency, 64, Wait::Spin).is_none());
        let (status, text) = reason(Pattern::Latency, 64, Wait::Block).unwrap();
        assert_eq!(status, Status::Unsupported);
        assert!(text.contains("it has spin"), "{text}");
        assert!(reason(Pattern::OneWay, 64, Wait::Spin).unwrap().1.contains("it has latency"));
        assert!(reason(Pattern::Latency, 2048, Wait::Spin).unwrap().1.contains("1024 bytes"));
        let three = unsupported(&capabilities, Pattern::Latency, 64, Wait::Spin, 3);
        assert!(three.unwrap().1.contains("1 followers are the most"));
    }

    #[test]
    fn a_shuffle_keeps_everything_and_repeats_with_its_seed() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(9));
        let mut sorted = shuffled(7);
        sorted.sort();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
