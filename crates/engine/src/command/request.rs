//! A user's request for measurements.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_results::{Load, Touch};
use ipcmark_transport::{BUFFERS, Capabilities, Definition, Pattern, Wait};

use crate::wire::{Length, Trace};

/// A user's request for measurements.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// Transports, by their index in the registry.
    pub transports: Vec<usize>,
    /// Patterns; each is measured if the transport carries it.
    pub patterns: Vec<Pattern>,
    /// Payloads in bytes, each with its touches.
    pub payloads: Vec<(usize, Vec<Touch>)>,
    /// The waits of the endpoints.
    pub waits: Waits,
    /// The waits of particular transports instead, by index in the registry.
    pub waits_of: BTreeMap<usize, Waits>,
    /// The options of transports, by index in the registry: keys and values, checked.
    pub options: BTreeMap<usize, BTreeMap<String, String>>,
    /// The number of buffers that the endpoints of all transports change, as a value of the option [`BUFFERS`];
    /// rows that cannot change them are not measured.
    pub buffers: Option<String>,
    /// The number of followers of one leader.
    pub subscribers: u32,
    /// The number of followers that only listen: fewer than all.
    pub silent: u32,
    /// The number of leaders with their followers that run at once; one of them is measured.
    pub pairs: u32,
    /// The loads to measure.
    pub loads: Vec<Load>,
    /// The messages of the one load that is a trace.
    pub trace: Option<Trace>,
    /// The location of the followers.
    pub location: FollowerLocation,
    /// The number of trials.
    pub trials: Trials,
    /// The number of the first trial: with the seed it decides every order, and the leader's processor.
    pub first_trial: u32,
    /// The length of one trial's measurement of a row; by default, as much as the trials leave time for.
    pub length: Option<Length>,
    /// True if the [observer](super::Observer::finalists) names rows for further trials after those of all rows.
    pub has_final: bool,
    /// The seed of all random orders.
    pub seed: u64,
}

/// The waits to measure for each transport.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// `spin` and `block`, if it supports them; otherwise all that it supports.
    #[default]
    Usual,
    /// All waits that it supports.
    All,
    /// These waits, supported or not.
    These(Vec<Wait>),
}

impl Waits {
    /// The waits for a transport.
    pub(super) fn of(&self, capabilities: &Capabilities) -> Vec<Wait> {
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

/// The number of trials of a run: repetitions of everything in fresh processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trials {
    /// This many.
    Fixed(u32),
    /// As many as fit into this time, at least [`FEWEST_TRIALS`].
    Within(Duration),
    /// As many as needed to know the mean of every row to this precision, at least [`FEWEST_TRIALS`], for at most
    /// this time.
    Until {
        /// Half the 95 % interval, as a share of the mean.
        half_width: f64,
        /// The time limit.
        most: Duration,
    },
    /// As many as fit into a time that depends on the number of rows: half a second a row, from 5 s to 2 min.
    Usual,
}

impl Trials {
    /// The time budget for this many rows, if there is one.
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

/// Fewer trials give no useful interval.
pub const FEWEST_TRIALS: u32 = 3;

/// Nothing to measure yet, with the default of each option: one follower of this command, one trial.
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
            has_final: false,
            seed: 1,
        }
    }
}

/// The location of a run's followers.
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

/// The common properties of a group's rows, apart from their wait: such rows are measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The shape of the traffic.
    pub pattern: Pattern,
    /// The bytes of a message.
    pub payload: usize,
    /// The bytes that are touched.
    pub touch: Touch,
    /// The load: how messages are offered.
    pub load: Load,
}

impl PlanRequest {
    /// The options of a transport.
    pub(super) fn options_of(
        &self,
        transport: usize,
        definition: &Definition,
    ) -> BTreeMap<String, String> {
        let mut options = self.options.get(&transport).cloned().unwrap_or_default();
        if let Some(buffers) =
            self.buffers.as_ref().filter(|_| definition.options.contains(&BUFFERS))
        {
            options.entry(BUFFERS.key.to_string()).or_insert_with(|| buffers.clone());
        }
        options
    }

    /// Every pattern with every payload, each of its touches, and every load.
    pub(super) fn slots(&self) -> Vec<Slot> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use ipcmark_results::Arrivals;
    use std::borrow::Cow;

    #[test]
    fn by_default_hybrid_is_measured_only_if_no_other_wait_exists() {
        let waits = |waits: &Waits, has: &'static [Wait]| {
            waits.of(&Capabilities { waits: Cow::Borrowed(has), ..Capabilities::usual() })
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
    fn a_usual_run_takes_more_time_for_more_rows_within_bounds() {
        let seconds = |trials: Trials, rows| trials.budget(rows).map(|time| time.as_secs());
        let usual = [1, 100, 10_000].map(|rows| seconds(Trials::Usual, rows));
        assert_eq!(usual, [Some(5), Some(50), Some(120)]);
        assert_eq!(seconds(Trials::Within(Duration::from_secs(7)), 10_000), Some(7));
        assert_eq!(seconds(Trials::Fixed(4), 1), None);
    }
}
