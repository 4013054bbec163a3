//! The identity of a machine: its processor, its kernel, its distribution. These facts are not
//! judged.

use super::{
    fact::{Effect, Examined, Fact, Question, Weight},
    system::System,
};
use crate::{
    files::Files,
    hypervisor, processor_name,
    topology::{self, Cpu},
};

/// The properties of the machine that affect the figures. A property that the system does not
/// report is `unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The processor's name.
    pub cpu_model: String,
    /// Processors that this process may use.
    pub cpus: Vec<Cpu>,
    /// Kernel name, release, version and architecture.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// The hypervisor, or `none` on bare metal.
    pub hypervisor: String,
    /// Memory in bytes; 0 if the system does not report it.
    pub memory_bytes: u64,
}

impl Facts {
    /// Reads them.
    pub fn read() -> Self {
        let files = Files::of_system();
        Self {
            cpu_model: processor_name::name(&files).unwrap_or_else(unknown),
            cpus: topology::usable().unwrap_or_default(),
            kernel: kernel().unwrap_or_else(unknown),
            os: os_name(&files).unwrap_or_else(unknown),
            hypervisor: hypervisor::name(),
            memory_bytes: memory_bytes(&files, "MemTotal").unwrap_or(0),
        }
    }
}

fn unknown() -> String {
    "unknown".into()
}

pub(super) const FACTS: &[Fact] = &[
    Fact {
        name: "processor",
        source: "/proc/cpuinfo",
        examine: |system| processor_name::name(&system.files).map(Examined::harmless),
    },
    Fact { name: "kernel", source: "uname", examine: |_| kernel().map(Examined::harmless) },
    Fact {
        name: "distribution",
        source: "/etc/os-release",
        examine: |system| os_name(&system.files).map(Examined::harmless),
    },
    Fact {
        name: "hypervisor",
        source: "cpuid, /sys/class/dmi/id, /proc/device-tree",
        examine: examine_hypervisor,
    },
];

fn examine_hypervisor(system: &System) -> Option<Examined> {
    let effect = Effect::new(
        Weight::Note,
        &[Question::Spinning, Question::Sleeping, Question::Tails],
        "the host decides when a virtual processor runs and on which real one, so that the topology shown here \
         need not be the hardware's; distances, hiccups and stolen time show the effect",
    );
    let name = system.hypervisor.clone();
    Some(match name {
        Some(name) => Examined::harmless(name).with(Some(effect)),
        None => Examined::harmless("none"),
    })
}

fn kernel() -> Option<String> {
    let name = nix::sys::utsname::uname().ok()?;
    let parts = [name.sysname(), name.release(), name.version(), name.machine()];
    Some(parts.map(|part| part.to_string_lossy().into_owned()).join(" "))
}

fn os_name(files: &Files) -> Option<String> {
    let release = files.text("etc/os-release")?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

/// The frequency governor of a processor, if the system reports it.
pub fn governor(cpu: u32) -> Option<String> {
    Files::of_system().text(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
}

/// A line of `/proc/meminfo`.
pub(super) fn memory_bytes(files: &Files, key: &str) -> Option<u64> {
    let kib = files.field("proc/meminfo", key)?;
    kib.trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}
