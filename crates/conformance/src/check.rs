//! A check of the suite: what both processes play, and what is done around them.

use std::time::Duration;

use ipcmark_transport::{Definition, Span, Wait};

use crate::{
    director::Director,
    failure::Failure,
    stage::Stage,
    suite::{Suite, is_all_ours},
};

/// One check, as its file defines it.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its word in the names of tests.
    pub name: &'static str,
    /// Why a transport need not pass it with a wait, beyond what is so for every check.
    pub(crate) exempt: fn(&Definition, Wait) -> Option<&'static str>,
    /// What one process of it does.
    pub(crate) play: fn(&mut Stage<'_>) -> Result<(), Failure>,
    /// What is done around the two processes.
    pub(crate) direct: fn(&Director<'_>) -> Result<(), Failure>,
    /// Whether processes are killed in it.
    pub(crate) kills: bool,
}

/// One scene, which both processes play to the end.
pub(crate) fn one_scene(director: &Director<'_>) -> Result<(), Failure> {
    director.play(&director.session()?, 0)
}

/// Every transport must pass it.
pub(crate) fn none_exempt(_: &Definition, _: Wait) -> Option<&'static str> {
    None
}

impl Check {
    /// Why this transport need not pass it with this wait.
    pub fn exempt(&self, definition: &Definition, wait: Wait) -> Option<&'static str> {
        (self.exempt)(definition, wait).or_else(|| {
            (definition.capabilities.span == Span::Thread).then_some("it stays within one process")
        })
    }

    /// Whether one failure of it is not yet a failing. Libraries have races of their own when a peer
    /// is killed: a thread of Fast DDS 2.9 that crashes, one of iceoryx that waits for ever, once in
    /// some hundred times. They cost the row that has failed anyway. What is all ours has none.
    pub fn gets_second_try(&self, definition: &Definition) -> bool {
        self.kills && !is_all_ours(definition)
    }

    /// Runs it for one transport with one wait; the failure names all three. What runs longer than `watchdog` is
    /// ended.
    pub fn run(&self, suite: &Suite, wait: Wait, watchdog: Duration) -> Result<(), Failure> {
        let director = Director::new(suite, wait, self.name, watchdog)?;
        let name = &suite.definition().name;
        (self.direct)(&director)
            .map_err(|failure| failure.during(format_args!("{name}/{wait}/{}", self.name)))
    }
}
