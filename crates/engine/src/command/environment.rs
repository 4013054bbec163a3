//! The machine facts for the result.

use ipcmark_machine::{
    clock,
    facts::{self, Facts, Finding, System},
    placement::Placement,
    topology,
};
use ipcmark_results::{Clock, Environment, FactEffect, MachineFact};

/// The machine, and the placement of the workers on it.
pub(crate) fn environment(placement: &Placement, sandbox: String) -> Environment {
    let Facts { cpu_model, cpus, kernel, os, hypervisor, memory_bytes } = Facts::read();
    Environment {
        cpu_model,
        cpus_usable: cpus.len() as u32,
        cores_usable: topology::count_cores(&cpus) as u32,
        kernel,
        os,
        hypervisor,
        governor: placement.leader.and_then(facts::governor),
        memory_bytes,
        sandbox,
        placement: placement.words.clone(),
        facts: machine_facts(placement),
    }
}

/// The facts that `doctor` reports about the endpoints' processors, without its measurements.
fn machine_facts(placement: &Placement) -> Vec<MachineFact> {
    let Ok(system) = System::running() else { return Vec::new() };
    let chosen: Vec<u32> = placement.cpus().collect();
    let system = system.with_cpus(Some(&chosen[..]).filter(|chosen| !chosen.is_empty()));
    facts::findings(&system).into_iter().map(machine_fact).collect()
}

fn machine_fact(finding: Finding) -> MachineFact {
    let effect = finding.effect.map(|effect| FactEffect {
        weight: effect.weight.to_string(),
        rows: effect.questions.iter().map(ToString::to_string).collect(),
        sentence: effect.sentence.into_owned(),
        remedy: effect.remedy.map(|remedy| remedy.command.into_owned()),
    });
    MachineFact { name: finding.name.into(), value: finding.value, effect }
}

/// The clock as a worker measured it on its own processor.
pub(crate) fn clock(read_ns: f64, step_ns: u64) -> Clock {
    Clock { read_ns, step_ns, source: clock::source() }
}
