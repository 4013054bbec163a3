//! The machine's facts as the result states them.

use ipcmark_machine::{
    clock,
    facts::{self, Facts},
    placement::Placement,
    topology,
};
use ipcmark_results::{Clock, Environment};

/// The machine, and where the workers were placed on it.
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
    }
}

/// The clock as a worker found it on its own processor.
pub(crate) fn clock(read_ns: f64, step_ns: u64) -> Clock {
    Clock { read_ns, step_ns, source: clock::source() }
}
