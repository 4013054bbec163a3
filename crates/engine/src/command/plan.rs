//! The plan: all cases of one run, grouped in sessions, in their order.

use std::collections::BTreeMap;

use ipcmark_results::Outcome;
use ipcmark_transport::{Availability, BUFFERS, Definition, Wait};

use super::{
    request::{PlanRequest, Slot, Trials},
    verdicts,
};
use crate::{
    registry::Registry,
    wire::{Length, Trace},
};

/// All rows of a run, and the sessions that serve them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rows that are measured, or cannot be.
    pub rows: Vec<PlannedRow>,
    /// The sessions that serve them, started afresh in every trial.
    pub sessions: Vec<PlannedSession>,
    /// The number of followers of one leader.
    pub subscribers: u32,
    /// The number of followers that only listen: fewer than all.
    pub silent: u32,
    /// The number of leaders with their followers that run at once; one of them is measured.
    pub pairs: u32,
    /// The most bytes that the buffers of a row take in all its processes, if it changes them.
    pub buffer_bytes: u64,
    /// The messages of the one load that is a trace.
    pub trace: Option<Trace>,
    /// The number of trials.
    pub trials: Trials,
    /// The number of the first trial.
    pub first_trial: u32,
    /// The length of one trial's measurement of a row.
    pub length: Option<Length>,
    /// True if the observer names rows for further trials after those of all rows.
    pub has_final: bool,
    /// The seed of all random orders.
    pub seed: u64,
}

/// The processes that serve all rows with one transport and one wait, one row after another.
#[derive(Clone, Debug)]
pub struct PlannedSession {
    /// The index in the registry.
    pub transport: usize,
    /// The wait of its endpoints.
    pub wait: Wait,
    /// The version of the library.
    pub library_version: Option<String>,
    /// The user's values for its options.
    pub options: BTreeMap<String, String>,
}

/// One row of a plan.
#[derive(Clone, Debug)]
pub struct PlannedRow {
    /// The index of the plan's session that serves it.
    pub session: usize,
    /// Its pattern, payload, touch and load.
    pub slot: Slot,
    /// Its known outcome, if it will not be tried.
    pub verdict: Option<Outcome>,
}

impl Plan {
    /// Makes the plan of a request. Probes each transport for its availability.
    pub fn new(registry: &Registry, request: &PlanRequest) -> Self {
        let mut plan = Self {
            rows: Vec::new(),
            sessions: Vec::new(),
            subscribers: request.subscribers,
            silent: request.silent,
            pairs: request.pairs,
            buffer_bytes: 0,
            trace: request.trace.clone(),
            trials: request.trials,
            first_trial: request.first_trial,
            length: request.length,
            has_final: request.has_final,
            seed: request.seed,
        };
        for transport in &request.transports {
            plan.add(registry, *transport, request);
        }
        plan
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of rows that will be measured.
    pub fn measurable(&self) -> usize {
        self.rows.iter().filter(|row| row.verdict.is_none()).count()
    }

    /// The row of a session with this slot, if it can be measured.
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

    /// Adds the rows of the last session.
    fn add_rows(
        &mut self,
        definition: &Definition,
        availability: &Availability,
        wait: Wait,
        request: &PlanRequest,
    ) {
        let session = self.sessions.len() - 1;
        let options = &self.sessions[session].options;
        let buffers = options.get(BUFFERS.key.as_ref()).or(request.buffers.as_ref());
        for slot in request.slots() {
            let known = verdicts::verdict(definition, availability, wait, slot, request);
            let bytes = match (&known, buffers) {
                (None, Some(word)) => verdicts::buffer_bytes(definition, slot, word, request),
                _ => Ok(0),
            };
            self.buffer_bytes = self.buffer_bytes.max(*bytes.as_ref().unwrap_or(&0));
            self.rows.push(PlannedRow { session, slot, verdict: known.or(bytes.err()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipcmark_results::{Load, Touch};
    use ipcmark_transport::Pattern;

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
}
