//! Checks beyond the types: every figure is a number, counts add up, each measurement fits its case's pattern, and no
//! two cases are the same.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    figure::{check_figures, is_figure},
    model::{Case, Outcome, RoundRecord, RunDistances, RunResult},
};

impl RunResult {
    /// Checks what the types cannot guarantee. The error is a sentence that names the case.
    pub fn check(&self) -> Result<(), String> {
        check_figures(&[("clock.read_ns", self.clock.read_ns)])?;
        self.distances.as_ref().map_or(Ok(()), RunDistances::check)?;
        self.rounds.iter().try_for_each(RoundRecord::check)?;
        self.check_unique()?;
        for (number, case) in self.cases.iter().enumerate() {
            let name = &case.identity.transport;
            case.check().map_err(|cause| format!("case {} ({name}): {cause}", number + 1))?;
        }
        Ok(())
    }

    /// Checks that no two cases have the same identity.
    fn check_unique(&self) -> Result<(), String> {
        let mut known = HashMap::new();
        for (number, case) in self.cases.iter().enumerate() {
            let identity = serde_json::to_string(&case.identity).map_err(|e| e.to_string())?;
            if let Some(first) = known.insert(identity, number) {
                let name = &case.identity.transport;
                return Err(format!(
                    "cases {} and {} ({name}) are the same",
                    first + 1,
                    number + 1
                ));
            }
        }
        Ok(())
    }

    /// The result without figures that JSON cannot represent: a case with such a figure becomes failed, and distances
    /// and rounds with one are removed. So one bad figure costs one row instead of the file.
    pub fn settled(&self) -> Cow<'_, Self> {
        if self.check().is_ok() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        if !is_figure(settled.clock.read_ns) {
            settled.clock.read_ns = 0.0;
            settled.notes.push("The cost of reading the clock could not be measured.".into());
        }
        settled.distances = settled.distances.filter(|distances| distances.check().is_ok());
        settled.rounds.retain(|round| round.check().is_ok());
        settled.cases.iter_mut().for_each(Case::settle);
        Cow::Owned(settled)
    }
}

impl Case {
    /// The part of [`RunResult::check`] that concerns one case.
    pub fn check(&self) -> Result<(), String> {
        let pattern = self.identity.pattern;
        match &self.outcome {
            Outcome::Ok { measurement } if !measurement.is_of(pattern) => {
                Err(format!("its measurement is not one of the pattern {pattern}"))
            }
            Outcome::Ok { measurement } => measurement.check(),
            _ => Ok(()),
        }
    }

    /// Marks a case that contradicts itself as failed.
    fn settle(&mut self) {
        if let Err(reason) = self.check() {
            self.outcome = Outcome::Failed { reason };
        }
    }
}
