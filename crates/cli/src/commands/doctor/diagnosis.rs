//! All that is found of a machine, whatever shows it.

use std::{cmp::Reverse, time::Duration};

use ipcmark_machine::facts::{self, Effect, Finding, Question, System, Weight};

use super::{
    examination::{self, Examination},
    measured,
    verdict::Verdict,
};

/// All that is found of a machine.
pub(super) struct Diagnosis {
    /// What was measured; `None` where the system does not let us.
    pub examination: Option<Examination>,
    /// The facts, the weightiest first; those without an effect stand last, in their own order.
    pub findings: Vec<Finding>,
    /// What the machine is fit for.
    pub verdict: Verdict,
}

impl Diagnosis {
    /// Reads the facts, measures for `duration`, and judges. What is measured would show in the facts: it takes all
    /// processors.
    pub(super) fn of(system: &System, duration: Duration) -> Self {
        let facts = facts::findings(system);
        let (examination, measured) = match examination::examine(&system.cpus, duration) {
            Ok(examination) => {
                let findings = measured::findings(&examination, system);
                (Some(examination), findings)
            }
            Err(error) => (None, vec![unmeasured(error.to_string())]),
        };
        Self::new(examination, [measured, facts].concat())
    }

    /// Judges.
    pub(super) fn new(examination: Option<Examination>, mut findings: Vec<Finding>) -> Self {
        findings
            .sort_by_key(|finding| Reverse(finding.effect.as_ref().map(|effect| effect.weight)));
        Self { examination, verdict: Verdict::of(&findings), findings }
    }
}

fn unmeasured(reason: String) -> Finding {
    Finding {
        name: "measurement",
        source: "threads pinned to each processor",
        value: "not possible".into(),
        effect: Some(Effect::new(Weight::Unfit, &Question::ALL, reason)),
    }
}
