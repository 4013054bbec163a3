//! What a row costs: processors, threads, calls of the system, and the time to start.

use ipcmark_transport::{Pattern, Wait};

use crate::{
    model::{Counted, Identity, Load, Trial},
    rows::Row,
    stats::median,
};

impl Row<'_> {
    /// CPU time of all processes per message.
    pub fn cpu_per_message(&self) -> f64 {
        self.median(Trial::cpu_ns_per_message)
    }

    /// Context switches of the processes that serve the ends per message.
    pub fn switches_per_message(&self) -> f64 {
        self.median(Trial::switches_per_message)
    }

    /// The time from the start of opening its ends to the first answer; none if it was not timed.
    pub fn start_ns(&self) -> Option<f64> {
        let start = |trial: &Trial| {
            let first_ns = trial.session.first_round_trip_ns?;
            Some(trial.session.setup_ns.saturating_add(first_ns) as f64)
        };
        median(&self.trials.iter().filter_map(start).collect::<Vec<_>>())
    }

    /// System calls of all processes per message that did something; none if they were not counted.
    pub fn calls_per_message(&self) -> Option<f64> {
        self.counted()?.calls.as_ref()?.calls_per_message()
    }

    /// Instructions of all processes per message; none if they were not counted.
    pub fn instructions_per_message(&self) -> Option<f64> {
        self.counted()?.processor.as_ref()?.instructions_per_message()
    }

    /// Cycles of all processes per message; none if they were not counted.
    pub fn cycles_per_message(&self) -> Option<f64> {
        self.counted()?.processor.as_ref()?.cycles_per_message()
    }

    fn counted(&self) -> Option<&Counted> {
        self.case.measurement()?.counted()
    }

    /// The mean number of processors that all its processes together used: 2.0 is two that are always busy. Of a
    /// stream, that at its rate. None for a stream whose ends spin, and for messages one way of a closed loop: their
    /// CPU time also has waits for confirmations or the handling of stamps, and no time is known that covers the same.
    pub fn cores(&self) -> Option<f64> {
        let Identity { wait, pattern, load, .. } = self.case.identity;
        let of: fn(&Trial) -> Option<f64> = match load {
            Load::Closed if pattern.is_stream() && wait == Wait::Spin => |_| None,
            Load::Closed if pattern.is_stream() => Trial::cores_at_its_rate,
            Load::Closed if pattern == Pattern::OneWay => |_| None,
            _ => Trial::cores,
        };
        median(&self.trials.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// Threads of the processes that serve ends, without the measuring threads: the maximum over the trials; none if
    /// they were not counted.
    pub fn further_threads(&self) -> Option<u32> {
        let of_trial = |trial: &Trial| {
            let serving = trial.session.processes.iter().filter(|process| !process.ends.is_empty());
            serving.fold(None, |sum: Option<u32>, process| {
                let further = process.threads?.saturating_sub(process.ends.len() as u32);
                Some(sum.unwrap_or(0).saturating_add(further))
            })
        };
        self.trials.iter().filter_map(of_trial).max()
    }

    /// CPU time of the publisher's process for a publication to several followers and their answers: median over the
    /// trials; none if it has one follower, or one in its own process.
    pub fn publisher_cpu_ns(&self) -> Option<f64> {
        let identity = &self.case.identity;
        let of_trial = |trial: &Trial| {
            let leader = trial.session.leader()?;
            let is_alone = leader.ends.iter().all(|end| end.role.is_leader());
            let messages = trial.session.messages as f64;
            let publications = messages / identity.messages_per_publication() as f64;
            (is_alone && publications > 0.0).then(|| leader.cpu_ns as f64 / publications)
        };
        let has_several = identity.pattern == Pattern::FanOut && identity.subscribers > 1;
        let figures = self.trials.iter().filter(|_| has_several).filter_map(of_trial);
        median(&figures.collect::<Vec<_>>())
    }
}
