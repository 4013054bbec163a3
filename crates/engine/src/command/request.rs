//! What a user asks to be measured.

use std::{collections::BTreeMap, time::Duration};

use ipcmark_results::{Load, Touch};
use ipcmark_transport::{BUFFERS, Capabilities, Definition, Pattern, Wait};

use crate::wire::{Length, Trace};

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
    /// Those of a transport.
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

impl PlanRequest {
    /// What is set of a transport.
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

    /// Every pattern with every payload, each touched in its ways, and every load.
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
    fn without_a_word_hybrid_is_measured_only_where_there_is_nothing_else() {
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
