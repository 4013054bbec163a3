//! The plan: all cases of one run, in sessions, in their order.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_machine::cache;
use ipcmark_results::{Load, Outcome, Touch};
use ipcmark_transport::{
    Availability, BUFFERS, COLD, Capabilities, Definition, FanOut, Pattern, Span, Wait,
};

use crate::{
    buffers,
    registry::Registry,
    wire::{Length, Trace},
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
    /// How the ends wait.
    pub waits: Waits,
    /// How those of some transports wait instead, by their place in the registry.
    pub waits_of: BTreeMap<usize, Waits>,
    /// What is set of transports, by their place in the registry: keys and values, checked.
    pub options: BTreeMap<usize, BTreeMap<String, String>>,
    /// How many buffers the ends of all transports change, a value of the option [`BUFFERS`]; rows that cannot are not
    /// measured.
    pub buffers: Option<String>,
    /// Followers of one leader.
    pub subscribers: u32,
    /// How many of them only listen: fewer than all.
    pub silent: u32,
    /// How many leaders with their followers run at once; one of them is measured.
    pub pairs: u32,
    /// The ways in which messages are offered.
    pub loads: Vec<Load>,
    /// The messages of the one load that is a trace.
    pub trace: Option<Trace>,
    /// Where the followers are.
    pub location: FollowerLocation,
    /// How many trials there are.
    pub trials: Trials,
    /// The number of the first: with the seed it decides every order, and which processor leads.
    pub first_trial: u32,
    /// What one trial measures of a row; where nothing is said, as much as the trials leave time for.
    pub length: Option<Length>,
    /// What every order is made from.
    pub seed: u64,
}

/// Which waits of each transport are measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// `spin` and `block`, where it has them; else those it has.
    #[default]
    Usual,
    /// All that it has.
    All,
    /// These, whether it has them or not.
    These(Vec<Wait>),
}

impl Waits {
    fn of(&self, capabilities: &Capabilities) -> Vec<Wait> {
        let all = capabilities.waits.to_vec();
        match self {
            Waits::All => all,
            Waits::These(waits) => waits.clone(),
            Waits::Usual => {
                let usual = |wait: &&Wait| **wait != Wait::Hybrid;
                let usual: Vec<Wait> = all.iter().filter(usual).copied().collect();
                if usual.is_empty() { all } else { usual }
            }
        }
    }
}

/// How many trials a run has: repetitions of everything in fresh processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trials {
    /// So many.
    Fixed(u32),
    /// As many as fit into this time, at least [`FEWEST_TRIALS`].
    Within(Duration),
    /// As many as it takes until the mean of every row is known to this part of it, at least [`FEWEST_TRIALS`], for this
    /// time at most.
    Until {
        /// Half the 95 % interval, as a part of the mean.
        half_width: f64,
        /// The time for it.
        most: Duration,
    },
    /// The same, in a time that suits what there is to measure: half a second a row, from 5 s to 2 min.
    Usual,
}

impl Trials {
    /// The time for so many rows, where there is one.
    pub(crate) fn budget(self, rows: usize) -> Option<Duration> {
        match self {
            Trials::Fixed(_) => None,
            Trials::Within(budget) | Trials::Until { most: budget, .. } => Some(budget),
            Trials::Usual => {
                let time = Duration::from_millis(500) * rows as u32;
                Some(time.clamp(Duration::from_secs(5), Duration::from_secs(120)))
            }
        }
    }
}

/// Fewer trials give no interval worth the name.
pub const FEWEST_TRIALS: u32 = 3;

/// Nothing to measure yet, with what each option is where a user says nothing: one follower of this command,
/// one trial.
impl Default for PlanRequest {
    fn default() -> Self {
        Self {
            transports: Vec::new(),
            patterns: Vec::new(),
            payloads: Vec::new(),
            waits: Waits::default(),
            waits_of: BTreeMap::new(),
            options: BTreeMap::new(),
            buffers: None,
            subscribers: 1,
            silent: 0,
            pairs: 1,
            loads: vec![Load::Closed],
            trace: None,
            location: FollowerLocation::default(),
            trials: Trials::Fixed(1),
            first_trial: 1,
            length: None,
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

/// All rows of a run, and the sessions that serve them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is measured, or cannot be.
    pub rows: Vec<PlannedRow>,
    /// The processes that serve them, in every trial anew.
    pub sessions: Vec<PlannedSession>,
    /// Followers of one leader.
    pub subscribers: u32,
    /// How many of them only listen: fewer than all.
    pub silent: u32,
    /// How many leaders with their followers run at once; one of them is measured.
    pub pairs: u32,
    /// The messages of the one load that is a trace.
    pub trace: Option<Trace>,
    /// How many trials there are.
    pub trials: Trials,
    /// The number of the first.
    pub first_trial: u32,
    /// What one trial measures of a row.
    pub length: Option<Length>,
    /// What every order is made from.
    pub seed: u64,
}

/// The processes that serve the rows of one transport and wait, one row after another.
#[derive(Clone, Debug)]
pub struct PlannedSession {
    /// Place in the registry.
    pub transport: usize,
    /// How its ends wait.
    pub wait: Wait,
    /// Version of the library.
    pub library_version: Option<String>,
    /// What the user has set of its options.
    pub options: BTreeMap<String, String>,
}

/// One row.
#[derive(Clone, Debug)]
pub struct PlannedRow {
    /// Which of the plan's sessions serves it.
    pub session: usize,
    /// What it measures.
    pub slot: Slot,
    /// What is known to become of it, if it will not be tried.
    pub verdict: Option<Outcome>,
}

/// What the rows of a group have in common beside how they wait: they are measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Shape of the traffic.
    pub pattern: Pattern,
    /// Bytes of a message.
    pub payload: usize,
    /// Which bytes are touched.
    pub touch: Touch,
    /// How messages are offered.
    pub load: Load,
}

impl Plan {
    /// Makes the plan of a request. Transports are asked whether they can run.
    pub fn new(registry: &Registry, request: &PlanRequest) -> Self {
        let mut plan = Self {
            rows: Vec::new(),
            sessions: Vec::new(),
            subscribers: request.subscribers,
            silent: request.silent,
            pairs: request.pairs,
            trace: request.trace.clone(),
            trials: request.trials,
            first_trial: request.first_trial,
            length: request.length,
            seed: request.seed,
        };
        for transport in &request.transports {
            plan.add(registry, *transport, request);
        }
        plan
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many rows will be measured.
    pub fn measurable(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_none()).count()
    }

    /// The row of a session that belongs to the slot and can be measured.
    pub(crate) fn row(&self, session: usize, slot: Slot) -> Option<usize> {
        let fits =
            |row: &PlannedRow| row.session == session && row.slot == slot && row.verdict.is_none();
        self.rows.iter().position(fits)
    }

    fn add(&mut self, registry: &Registry, transport: usize, request: &PlanRequest) {
        let candidate = &registry[transport];
        let capabilities = &candidate.definition().capabilities;
        let availability = candidate.probe();
        let waits = request.waits_of.get(&transport).unwrap_or(&request.waits);
        for wait in waits.of(capabilities) {
            self.sessions.push(PlannedSession {
                transport,
                wait,
                library_version: match &availability {
                    Availability::Available { version } => version.clone(),
                    Availability::Unavailable { .. } => None,
                },
                options: request.options_of(transport, candidate.definition()),
            });
            self.add_rows(candidate.definition(), &availability, wait, request);
        }
    }

    /// The rows of the last session.
    fn add_rows(
        &mut self,
        definition: &Definition,
        availability: &Availability,
        wait: Wait,
        request: &PlanRequest,
    ) {
        let capabilities = &definition.capabilities;
        let session = self.sessions.len() - 1;
        let options = &self.sessions[session].options;
        let buffers = options.get(BUFFERS.key.as_ref()).or(request.buffers.as_ref());
        for slot in request.slots() {
            let followers = (request.subscribers, request.silent);
            let verdict = unavailable(availability)
                .or_else(|| out_of_reach(capabilities, request.location, slot))
                .or_else(|| unsupported(capabilities, slot, wait, followers))
                .or_else(|| without_buffers(definition, slot, buffers?));
            self.rows.push(PlannedRow { session, slot, verdict });
        }
    }
}

impl PlanRequest {
    /// What is set of a transport.
    fn options_of(&self, transport: usize, definition: &Definition) -> BTreeMap<String, String> {
        let mut options = self.options.get(&transport).cloned().unwrap_or_default();
        if let Some(buffers) =
            self.buffers.as_ref().filter(|_| definition.options.contains(&BUFFERS))
        {
            options.entry(BUFFERS.key.to_string()).or_insert_with(|| buffers.clone());
        }
        options
    }

    /// Every pattern with every payload, each touched in its ways, and every load.
    fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        for pattern in self.patterns.iter().copied() {
            for (payload, touches) in &self.payloads {
                for touch in touches.iter().copied() {
                    let of = |load: &Load| Slot { pattern, payload: *payload, touch, load: *load };
                    slots.extend(self.loads.iter().map(of));
                }
            }
        }
        slots
    }
}

fn unavailable(availability: &Availability) -> Option<Outcome> {
    let reason = match availability {
        Availability::Available { .. } => return None,
        Availability::Unavailable { reason, install: None } => reason.clone(),
        Availability::Unavailable { reason, install: Some(install) } => {
            format!("{reason}; install it with: {install}")
        }
    };
    Some(Outcome::Unavailable { reason })
}

fn out_of_reach(
    capabilities: &Capabilities,
    location: FollowerLocation,
    slot: Slot,
) -> Option<Outcome> {
    let reason = match location {
        FollowerLocation::OtherHosts if slot.pattern == Pattern::OneWay => {
            "the clocks of two hosts differ by more than a message takes: measure latency instead"
        }
        FollowerLocation::OtherHosts if !capabilities.crosses_hosts => {
            "its ends must be on one host"
        }
        FollowerLocation::OtherCommands if capabilities.span == Span::Thread => {
            "its ends are in one process"
        }
        _ => return None,
    };
    Some(Outcome::Unsupported { reason: reason.into() })
}

/// A row that cannot have so many buffers.
fn without_buffers(definition: &Definition, slot: Slot, word: &str) -> Option<Outcome> {
    let cache = (word == COLD).then(cache::last_level_bytes).flatten();
    let reason = buffers::obstacle(definition, slot.pattern)
        .or_else(|| buffers::count(word, slot.payload, cache).err())?;
    Some(Outcome::Unsupported { reason })
}

fn unsupported(
    capabilities: &Capabilities,
    slot: Slot,
    wait: Wait,
    (subscribers, silent): (u32, u32),
) -> Option<Outcome> {
    let Slot { pattern, payload, .. } = slot;
    let is_open = slot.load.is_open();
    let list = |words: Vec<&str>| words.join(", ");
    let reason = if !capabilities.waits.contains(&wait) {
        let waits = list(capabilities.waits.iter().map(|wait| wait.as_str()).collect());
        format!("it cannot wait by {wait}; it has {waits}")
    } else if !capabilities.carries(pattern) {
        let patterns = list(capabilities.carried().map(Pattern::as_str).collect());
        format!("it does not carry the pattern {pattern}; it has {patterns}")
    } else if pattern == Pattern::OneWay && capabilities.alternating && is_open {
        "its ends take turns, and one way at a rate nobody answers".into()
    } else if payload > capabilities.max_payload {
        format!("its messages end at {} bytes", capabilities.max_payload)
    } else if subscribers > capabilities.most_subscribers(pattern) {
        format!("{} followers are the most it has", capabilities.most_subscribers(pattern))
    } else if silent > 0 && capabilities.fan_out() == Some(FanOut::NSends) && wait != Wait::Spin {
        "its leader waits for each follower in turn, and those that are silent do not answer".into()
    } else {
        return None;
    };
    Some(Outcome::Unsupported { reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcmark_results::Arrivals;
    use std::borrow::Cow;

    fn capabilities() -> Capabilities {
        Capabilities { max_payload: 1024, ..Capabilities::waiting(&[Wait::Spin]) }
    }

    #[test]
    fn what_a_transport_lacks_is_said_with_what_it_has() {
        let capabilities = capabilities();
        let slot = |pattern, payload, load| Slot { pattern, payload, touch: Touch::All, load };
        let reason = |pattern, payload, wait| {
            unsupported(&capabilities, slot(pattern, payload, Load::Closed), wait, (1, 0))
        };
        assert!(reason(Pattern::Latency, 64, Wait::Spin).is_none());
        let says = |outcome: Option<Outcome>, words: &str| match outcome {
            Some(Outcome::Unsupported { reason }) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{other:?} does not say `{words}`"),
        };
        says(reason(Pattern::Latency, 64, Wait::Block), "it has spin");
        let turning = Capabilities { alternating: true, ..self::capabilities() };
        let fanned = slot(Pattern::FanOut, 64, Load::Closed);
        says(unsupported(&turning, fanned, Wait::Spin, (2, 0)), "it has latency, one-way");
        says(reason(Pattern::Latency, 2048, Wait::Spin), "1024 bytes");
        let three = unsupported(
            &capabilities,
            slot(Pattern::Latency, 64, Load::Closed),
            Wait::Spin,
            (3, 0),
        );
        says(three, "1 followers are the most");
        let alternating = Capabilities { alternating: true, ..capabilities };
        let rate = Load::Rate { per_second: 1, arrivals: Arrivals::Fixed };
        let at_a_rate =
            unsupported(&alternating, slot(Pattern::OneWay, 64, rate), Wait::Spin, (1, 0));
        says(at_a_rate, "nobody answers");
    }

    #[test]
    fn clocks_of_two_hosts_time_nothing_one_way() {
        let far = Capabilities { crosses_hosts: true, ..capabilities() };
        let reach = |pattern| {
            let slot = Slot { pattern, payload: 64, touch: Touch::All, load: Load::Closed };
            out_of_reach(&far, FollowerLocation::OtherHosts, slot)
        };
        assert_eq!((reach(Pattern::Latency), reach(Pattern::Throughput)), (None, None));
        assert!(reach(Pattern::OneWay).is_some());
    }

    #[test]
    fn without_a_word_hybrid_is_measured_only_where_there_is_nothing_else() {
        let waits = |waits: &Waits, has: &'static [Wait]| {
            waits.of(&Capabilities { waits: Cow::Borrowed(has), ..capabilities() })
        };
        let [spin, block, hybrid] = [Wait::Spin, Wait::Block, Wait::Hybrid];
        assert_eq!(waits(&Waits::Usual, &[Wait::Spin, Wait::Block, Wait::Hybrid]), [spin, block]);
        assert_eq!(waits(&Waits::Usual, &[Wait::Hybrid]), [hybrid]);
        assert_eq!(waits(&Waits::All, &[Wait::Block, Wait::Hybrid]), [block, hybrid]);
        let these = Waits::These(vec![hybrid]);
        assert_eq!(waits(&these, &[Wait::Spin]), [hybrid], "it is said that it has none");
    }

    #[test]
    fn a_request_is_every_pattern_with_every_payload_and_touch() {
        let request = PlanRequest {
            patterns: vec![Pattern::Latency, Pattern::FanOut],
            payloads: vec![(64, vec![Touch::Head]), (4096, vec![Touch::Head, Touch::All])],
            ..PlanRequest::default()
        };
        let slots = request.slots();
        assert_eq!(slots.len(), 6);
        let slot =
            Slot { pattern: Pattern::FanOut, payload: 4096, touch: Touch::All, load: Load::Closed };
        assert_eq!(slots.iter().filter(|one| **one == slot).count(), 1);
        let rates = [1, 2].map(|per_second| Load::Rate { per_second, arrivals: Arrivals::Fixed });
        assert_eq!(PlanRequest { loads: rates.to_vec(), ..request }.slots().len(), 12);
    }

    #[test]
    fn a_row_that_is_not_tried_is_in_no_slot() {
        let slot =
            Slot { pattern: Pattern::Latency, payload: 64, touch: Touch::All, load: Load::Closed };
        let verdict = Some(Outcome::Unsupported { reason: "it is too large".into() });
        let mut plan = Plan::new(&Registry::new(), &PlanRequest::default());
        assert!(plan.is_empty());
        plan.rows = vec![
            PlannedRow { session: 0, slot, verdict },
            PlannedRow { session: 1, slot, verdict: None },
        ];
        assert_eq!((plan.row(0, slot), plan.row(1, slot)), (None, Some(1)));
        assert_eq!(plan.row(1, Slot { payload: 65, ..slot }), None);
        assert_eq!((plan.len(), plan.measurable()), (2, 1));
    }

    #[test]
    fn a_usual_run_takes_more_time_for_more_rows_within_bounds() {
        let seconds = |trials: Trials, rows| trials.budget(rows).map(|time| time.as_secs());
        let usual = [1, 100, 10_000].map(|rows| seconds(Trials::Usual, rows));
        assert_eq!(usual, [Some(5), Some(50), Some(120)]);
        assert_eq!(seconds(Trials::Within(Duration::from_secs(7)), 10_000), Some(7));
        assert_eq!(seconds(Trials::Fixed(4), 1), None);
    }
}
