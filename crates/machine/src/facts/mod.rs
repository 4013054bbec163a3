//! Facts about the machine: each is read and judged by its effect on the figures; a harmful one has a remedy. A fact is
//! one entry in the list of its file; facts that the system does not report are left out.

mod activity;
mod cgroups;
mod confinement;
mod fact;
mod frequency;
mod identity;
mod idle;
mod kernel;
mod limits;
mod memory;
mod processors;
mod quantity;
mod queues;
mod system;
mod time;
mod tracing;

pub use fact::{Effect, Examined, Fact, Finding, Question, Remedy, Weight};
pub use identity::{Facts, governor};
pub use processors::with_one_thread_a_core;
pub use system::System;

/// Every fact, in the order in which harmless ones are shown.
pub fn all() -> impl Iterator<Item = &'static Fact> {
    let groups = [
        identity::FACTS,
        processors::FACTS,
        frequency::FACTS,
        idle::FACTS,
        time::FACTS,
        kernel::FACTS,
        memory::FACTS,
        cgroups::FACTS,
        confinement::FACTS,
        tracing::FACTS,
        limits::FACTS,
        queues::FACTS,
        activity::FACTS,
    ];
    groups.into_iter().flatten()
}

/// The facts that the system reports.
pub fn findings(system: &System) -> Vec<Finding> {
    all().filter_map(|fact| fact.finding(system)).collect()
}

#[cfg(test)]
mod tests;
