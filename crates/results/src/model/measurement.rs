//! The measurement of a case: its kind follows from the pattern.

use ipcmark_transport::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    counted::{CountKind, Counted, CountedPass},
    session::SessionRecord,
    trial::Trial,
};

/// The measurement of a case; its kind defines the event that its times describe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// The patterns `latency` and `fan-out`: from the publication to the last answer.
    RoundTrips(Trials),
    /// The pattern `one-way`: from the sender's clock to the receiver's.
    OneWay(Trials),
    /// The patterns `throughput` and `fan-in`: the time per message of a stream, as received.
    Stream(Trials),
}

/// The measurements, trial by trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// Independent repetitions in fresh processes, in the order in which they ran; at least one.
    #[schemars(length(min = 1))]
    pub trials: Vec<Trial>,
    /// What passes of their own after the trials counted; absent if nothing was to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

impl Measurement {
    /// The measurement of one trial of this pattern.
    pub fn of(pattern: Pattern, trial: Trial) -> Self {
        let trials = Trials { trials: vec![trial], counted: None };
        match pattern {
            Pattern::Latency | Pattern::FanOut => Measurement::RoundTrips(trials),
            Pattern::OneWay => Measurement::OneWay(trials),
            Pattern::Throughput | Pattern::FanIn => Measurement::Stream(trials),
        }
    }

    /// Its trials, in their order.
    pub fn trials(&self) -> &[Trial] {
        &self.all().trials
    }

    /// Its trials, mutable.
    pub fn trials_mut(&mut self) -> &mut Vec<Trial> {
        &mut self.all_mut().trials
    }

    /// What was counted besides; none if nothing was.
    pub fn counted(&self) -> Option<&Counted> {
        self.all().counted.as_ref()
    }

    /// Takes over what the session of another measurement of the same case counted; false if that counted nothing of
    /// this kind.
    pub fn take_counts(&mut self, kind: CountKind, counting: &Measurement) -> bool {
        let pass = counting.sessions().next().and_then(|session| CountedPass::of(kind, session));
        let is_counted = pass.is_some();
        if let Some(pass) = pass {
            self.all_mut().counted.get_or_insert_default().put(kind, pass);
        }
        is_counted
    }

    fn all(&self) -> &Trials {
        let (Measurement::RoundTrips(all) | Measurement::OneWay(all) | Measurement::Stream(all)) =
            self;
        all
    }

    fn all_mut(&mut self) -> &mut Trials {
        let (Measurement::RoundTrips(all) | Measurement::OneWay(all) | Measurement::Stream(all)) =
            self;
        all
    }

    /// The sessions of its trials, in their order.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionRecord> {
        self.trials().iter().map(|trial| &trial.session)
    }

    /// Adds the trials of another measurement of the same case.
    pub(super) fn append(&mut self, mut more: Self) {
        self.trials_mut().append(more.trials_mut());
        let counted = more.all_mut().counted.take();
        let all = self.all_mut();
        all.counted = all.counted.take().or(counted);
    }

    /// True if this is the kind of measurement for a pattern.
    pub fn is_of(&self, pattern: Pattern) -> bool {
        let patterns: &[Pattern] = match self {
            Measurement::RoundTrips(_) => &[Pattern::Latency, Pattern::FanOut],
            Measurement::OneWay(_) => &[Pattern::OneWay],
            Measurement::Stream(_) => &[Pattern::Throughput, Pattern::FanIn],
        };
        patterns.contains(&pattern)
    }

    /// Checks that every figure is valid, that counts add up, and that each trial has the fields of its kind.
    pub fn check(&self) -> Result<(), String> {
        if self.trials().is_empty() {
            return Err("it was measured, but it has no trial".into());
        }
        let is_whole = |trial: &Trial| match self {
            Measurement::RoundTrips(_) => trial.one_way.is_none() && trial.stream.is_none(),
            Measurement::OneWay(_) => trial.one_way.is_some() && trial.stream.is_none(),
            Measurement::Stream(_) => trial.one_way.is_none() && trial.stream.is_some(),
        };
        for trial in self.trials() {
            let checked = trial.check().and_then(|()| match is_whole(trial) {
                true => Ok(()),
                false => Err("its parts are those of another pattern".into()),
            });
            checked.map_err(|cause| format!("trial {}: {cause}", trial.number))?;
        }
        Ok(())
    }
}
