//! Tests selected by name: they must exist, or a run that tests nothing would look like a pass.

use ipcmark_transport::Availability;
use libtest_mimic::Trial;

use crate::suite::Suite;

/// The variable that selects the tests: `TRANSPORT`, `TRANSPORT/WAIT` or `TRANSPORT/WAIT/CHECK`, separated by commas.
/// Without it everything runs.
const VARIABLE: &str = "IPCMARK_CONFORM";

/// The names of the selected tests.
pub struct TestSelection(Vec<String>);

impl TestSelection {
    /// The selection in the environment.
    pub fn from_env() -> Self {
        Self::parse(&std::env::var(VARIABLE).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Self(names.map(str::to_owned).collect())
    }

    /// True if the test of this name is selected.
    pub fn includes(&self, test: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| covers(name, test))
    }

    /// Checks that the transport of every name exists and can run here.
    pub fn check<'s>(&self, suites: impl Iterator<Item = &'s Suite> + Clone) -> Result<(), String> {
        self.0.iter().try_for_each(|name| available(name, suites.clone()))
    }

    /// Checks that every name matches a test.
    pub fn are_among(&self, trials: &[Trial]) -> Result<(), String> {
        let has_none = |name: &&String| !trials.iter().any(|trial| covers(name, trial.name()));
        match self.0.iter().find(has_none) {
            None => Ok(()),
            Some(name) => {
                Err(format!("'{name}' names no test; a test is called TRANSPORT/WAIT/CHECK"))
            }
        }
    }
}

fn available<'s>(
    name: &str,
    mut suites: impl Iterator<Item = &'s Suite> + Clone,
) -> Result<(), String> {
    let transport = name.split('/').next().unwrap_or(name);
    let names: Vec<&str> = suites.clone().map(|suite| &*suite.definition().name).collect();
    match suites.find(|suite| suite.definition().name == transport).map(Suite::probe) {
        Some(Availability::Available { .. }) => Ok(()),
        Some(Availability::Unavailable { reason, .. }) => {
            Err(format!("the transport '{transport}' cannot run here: {reason}"))
        }
        None => {
            let there = names.join(", ");
            Err(format!("there is no transport '{transport}' here; there are {there}"))
        }
    }
}

/// True if the test has this name, or the name is a prefix of whole parts.
fn covers(name: &str, test: &str) -> bool {
    test.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_covers_its_parts_and_no_longer_name() {
        let selection = TestSelection::parse("pipe, shm-ring/spin");
        assert!(
            selection.includes("pipe/block/sizes") && selection.includes("shm-ring/spin/sizes")
        );
        assert!(
            !selection.includes("pipes/block/sizes") && !selection.includes("shm-ring/block/sizes")
        );
        assert!(TestSelection::parse("").includes("anything"));
    }
}
