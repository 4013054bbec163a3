//! The system from which facts are read.

use ipcmark_transport::Error;
use nix::sys::statvfs::statvfs;

use crate::{
    clock, counters,
    files::Files,
    hypervisor,
    topology::{self, Cpu},
    wakeups,
};

/// The sources of facts: files, and values that Linux returns by system calls only.
#[derive(Debug)]
pub struct System {
    /// Its files.
    pub files: Files,
    /// The processors used for measuring.
    pub cpus: Vec<Cpu>,
    /// The hypervisor; `None` on bare metal.
    pub hypervisor: Option<String>,
    /// The step of the clock.
    pub clock_step_ns: u64,
    /// The cost of reading it.
    pub clock_reading_ns: f64,
    /// The bytes that `/dev/shm` can still take.
    pub shared_memory_bytes: Option<u64>,
    /// The error of the processor's counters, if they cannot be used; `None` if nobody tried.
    pub counters: Option<Result<(), Error>>,
    /// The error of the kernel's tracepoints, if they cannot be used; `None` if nobody tried.
    pub tracepoints: Option<Result<(), Error>>,
}

impl System {
    /// The running system, with the processors that this process may use.
    ///
    /// # Errors
    /// The kernel does not report the processors.
    pub fn running() -> Result<Self, Error> {
        let hypervisor = Some(hypervisor::name()).filter(|name| name != "none");
        let room = statvfs("/dev/shm").ok();
        Ok(Self {
            files: Files::of_system(),
            cpus: topology::usable()?,
            hypervisor,
            clock_step_ns: clock::step_ns(),
            clock_reading_ns: clock::reading_cost_ns(),
            shared_memory_bytes: room.map(|room| room.blocks_available() * room.fragment_size()),
            counters: Some(counters::check()),
            tracepoints: Some(wakeups::check()),
        })
    }

    /// The same with these processors, each once, in the given order; with all of them for `None`.
    #[must_use]
    pub fn with_cpus(self, ids: Option<&[u32]>) -> Self {
        let Some(ids) = ids else { return self };
        let mut cpus = Vec::new();
        for cpu in ids.iter().filter_map(|id| self.cpus.iter().find(|cpu| cpu.id == *id)) {
            if !cpus.contains(cpu) {
                cpus.push(cpu.clone());
            }
        }
        Self { cpus, ..self }
    }

    /// The numbers of its processors, ascending.
    pub fn ids(&self) -> Vec<u32> {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// True if this process has the rights of root, in its user namespace.
    pub(super) fn is_root(&self) -> bool {
        let ids = self.files.field("proc/self/status", "Uid");
        ids.is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0"))
    }

    /// The number in a file below `/proc/sys`, by its name with dots.
    pub(super) fn sysctl(&self, name: &str) -> Option<u64> {
        self.files.number(&format!("proc/sys/{}", name.replace('.', "/")))
    }

    /// The content of one file of each processor that has it, by its path below the processor's directory.
    pub(super) fn of_each_cpu(&self, path: &str) -> Vec<(u32, String)> {
        let read = |id: u32| {
            Some((id, self.files.text(&format!("sys/devices/system/cpu/cpu{id}/{path}"))?))
        };
        self.ids().into_iter().filter_map(read).collect()
    }

    /// The option of the kernel's command line, with its value.
    pub(super) fn boot_option(&self, name: &str) -> Option<String> {
        let line = self.files.text("proc/cmdline")?;
        // Words after -- are for init.
        let options = line.split_whitespace().take_while(|word| *word != "--");
        let found = options.filter(|word| word.split('=').next() == Some(name));
        found.last().map(str::to_owned)
    }
}
