//! A check of the suite: the code of both processes, and the code of the test around them.

use std::time::Duration;

use ipcmark_transport::{Definition, Span, Wait};

use crate::{
    context::CheckContext,
    failure::Failure,
    runner::CheckRunner,
    suite::{Suite, is_all_ours},
};

/// One check, as its file defines it.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name in the names of tests.
    pub name: &'static str,
    /// The reason why a transport is exempt with a wait, in addition to the rule for every check.
    pub(crate) exempt: fn(&Definition, Wait) -> Option<&'static str>,
    /// Runs in each of the two processes.
    pub(crate) run_process: fn(&mut CheckContext<'_>) -> Result<(), Failure>,
    /// Runs in the test, around the two processes.
    pub(crate) run_test: fn(&CheckRunner<'_>) -> Result<(), Failure>,
    /// True if it kills processes.
    pub(crate) kills: bool,
}

/// A single scenario that both processes run to the end.
pub(crate) fn one_scenario(runner: &CheckRunner<'_>) -> Result<(), Failure> {
    runner.run(&runner.session()?, 0)
}

/// No transport is exempt.
pub(crate) fn none_exempt(_: &Definition, _: Wait) -> Option<&'static str> {
    None
}

impl Check {
    /// The reason why this transport is exempt with this wait.
    pub fn exempt(&self, definition: &Definition, wait: Wait) -> Option<&'static str> {
        (self.exempt)(definition, wait).or_else(|| {
            (definition.capabilities.span == Span::Thread).then_some("it stays within one process")
        })
    }

    /// True if a single failure is repeated before it counts. Libraries have races of their own when a peer is killed:
    /// a thread of Fast DDS 2.9 crashes, or one of iceoryx waits forever, about once in some hundred runs. In a
    /// measurement they cost only a row that has failed anyway. Our own transports get no second try.
    pub fn gets_second_try(&self, definition: &Definition) -> bool {
        self.kills && !is_all_ours(definition)
    }

    /// Runs it for one transport with one wait; the failure names all three. The watchdog ends processes that run
    /// longer than `watchdog`.
    pub fn run(&self, suite: &Suite, wait: Wait, watchdog: Duration) -> Result<(), Failure> {
        let runner = CheckRunner::new(suite, wait, self.name, watchdog)?;
        let name = &suite.definition().name;
        (self.run_test)(&runner)
            .map_err(|failure| failure.during(format_args!("{name}/{wait}/{}", self.name)))
    }
}
