//! The processors that this process may run on, and how they lie to one another.

use std::{collections::BTreeSet, fs};

use ipcmark_transport::Error;

/// A processor as the system describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// Its package (socket).
    pub package: i64,
    /// Its physical core, unique within the package.
    pub core: i64,
    /// The processors that share its last-level cache, as the system writes the list.
    pub cache: String,
}

impl Cpu {
    /// Its physical core, unique on the machine.
    pub fn physical_core(&self) -> (i64, i64) {
        (self.package, self.core)
    }
}

/// The processors that this process may run on.
///
/// # Errors
/// The kernel does not tell, as under some seccomp profiles.
pub fn usable() -> Result<Vec<Cpu>, Error> {
    // SAFETY: the set is a valid place for the result.
    let (result, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), set)
    };
    if result != 0 {
        return Err(Error::last_os("read", "the processors this process may use"));
    }
    // SAFETY: the number is within the set.
    let in_set = |id: &u32| unsafe { libc::CPU_ISSET(*id as usize, &set) };
    Ok((0..libc::CPU_SETSIZE as u32).filter(in_set).map(describe).collect())
}

/// How many physical cores these processors are.
pub fn count_cores(cpus: &[Cpu]) -> usize {
    cpus.iter().map(Cpu::physical_core).collect::<BTreeSet<_>>().len()
}

fn describe(id: u32) -> Cpu {
    let base = format!("/sys/devices/system/cpu/cpu{id}");
    let read = |path: &str| fs::read_to_string(format!("{base}/{path}")).ok();
    let number = |path| read(path).and_then(|text| text.trim().parse().ok());
    // A system that tells nothing gets every processor as a core of its own.
    let cache = (0..=4).rev().find_map(|n| read(&format!("cache/index{n}/shared_cpu_list")));
    Cpu {
        id,
        package: number("topology/physical_package_id").unwrap_or(0),
        core: number("topology/core_id").unwrap_or(i64::from(id)),
        cache: cache.unwrap_or_default().trim().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_run_somewhere() {
        let cpus = usable().unwrap();
        assert!(!cpus.is_empty() && count_cores(&cpus) <= cpus.len());
        assert!(cpus.is_sorted_by_key(|cpu| cpu.id));
    }
}
