//! The complete diagnosis of a machine, independent of the output format.

use std::{cmp::Reverse, time::Duration};

use ipcmark_machine::facts::{self, Effect, Finding, Question, System, Weight};

use super::{
    examination::{self, Examination},
    measured,
    verdict::Fitness,
};

/// The complete diagnosis of a machine.
pub(super) struct Diagnosis {
    /// The measurements; `None` if the system does not allow them.
    pub examination: Option<Examination>,
    /// The facts, the weightiest first; those without an effect come last, in their own order.
    pub findings: Vec<Finding>,
    /// The questions that the machine can answer.
    pub verdict: Fitness,
}

impl Diagnosis {
    /// Reads the facts, then measures for `duration`, and judges. The facts come first, because the measurement
    /// uses all processors and would show in them.
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

    /// Derives the verdict from the findings.
    pub(super) fn new(examination: Option<Examination>, mut findings: Vec<Finding>) -> Self {
        findings
            .sort_by_key(|finding| Reverse(finding.effect.as_ref().map(|effect| effect.weight)));
        Self { examination, verdict: Fitness::of(&findings), findings }
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
