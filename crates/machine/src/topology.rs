//! The processors that this process may run on, and their topology.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use ipcmark_transport::Error;

use crate::files::Files;

/// Larger numbers are not processors: a list with them is not expanded.
const MOST_CPUS: u32 = 1 << 16;

/// A processor as the system describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// Its package (socket).
    pub package: i64,
    /// Its physical core, unique within the package: the number of the core's first hardware thread, if the system lists
    /// them. Some machines number the cores of each cluster from 0.
    pub core: i64,
    /// The processors that share its last-level cache, as the system writes the list.
    pub cache: String,
}

impl Cpu {
    /// The processor as `files` describe it.
    pub fn described(files: &Files, id: u32) -> Self {
        let base = format!("sys/devices/system/cpu/cpu{id}");
        let number = |path: &str| files.text(&format!("{base}/{path}"))?.parse().ok();
        let threads = |name: &str| files.text(&format!("{base}/topology/{name}"));
        let threads = ["core_cpus_list", "thread_siblings_list"].into_iter().find_map(threads);
        let first = threads.and_then(|list| numbers(&list).first().copied().map(i64::from));
        // If the system reports nothing, every processor counts as its own core.
        let cache = |n: u32| files.text(&format!("{base}/cache/index{n}/shared_cpu_list"));
        Cpu {
            id,
            package: number("topology/physical_package_id").unwrap_or(0),
            core: first.or_else(|| number("topology/core_id")).unwrap_or(i64::from(id)),
            cache: (0..=4).rev().find_map(cache).unwrap_or_default(),
        }
    }

    /// Its physical core, unique on the machine.
    pub fn physical_core(&self) -> (i64, i64) {
        (self.package, self.core)
    }

    /// Its relation to another processor.
    pub fn relation(&self, other: &Cpu) -> Relation {
        if self.id == other.id {
            Relation::Same
        } else if self.physical_core() == other.physical_core() {
            Relation::Core
        } else if !self.cache.is_empty() && self.cache == other.cache {
            Relation::Cache
        } else if self.package == other.package {
            Relation::Package
        } else {
            Relation::Machine
        }
    }
}

/// The closest resource that two processors share, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// They are the same processor.
    Same,
    /// The physical core.
    Core,
    /// The last-level cache.
    Cache,
    /// The package, but no cache.
    Package,
    /// The machine only.
    Machine,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Relation::Same => "the same processor",
            Relation::Core => "two threads of one core",
            Relation::Cache => "different cores under one last-level cache",
            Relation::Package => "different cores of one package, without a common cache",
            Relation::Machine => "different packages",
        })
    }
}

/// The processors that this process may run on.
///
/// # Errors
/// The kernel does not report them, as under some seccomp profiles.
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
    let files = Files::of_system();
    let ids = (0..libc::CPU_SETSIZE as u32).filter(in_set);
    Ok(ids.map(|id| Cpu::described(&files, id)).collect())
}

/// The memory node of each processor, if the system reports it.
pub fn nodes() -> BTreeMap<u32, u32> {
    let files = Files::of_system();
    let all = files.text("sys/devices/system/node/online").unwrap_or_default();
    let cpus = |node: u32| {
        let list = files.text(&format!("sys/devices/system/node/node{node}/cpulist"));
        numbers(&list.unwrap_or_default()).into_iter().map(move |cpu| (cpu, node))
    };
    numbers(&all).into_iter().flat_map(cpus).collect()
}

/// The number of physical cores of these processors.
pub fn count_cores(cpus: &[Cpu]) -> usize {
    cpus.iter().map(Cpu::physical_core).collect::<BTreeSet<_>>().len()
}

/// The numbers of a list in the kernel's format, `0-3,8`; empty if the list is malformed.
pub fn numbers(list: &str) -> BTreeSet<u32> {
    let ranges: Option<Vec<_>> = list.trim().split(',').map(range).collect();
    ranges.unwrap_or_default().into_iter().flatten().collect()
}

fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (last < MOST_CPUS).then_some(first..=last)
}

/// Numbers as a list in the kernel's format: `0-3,8`.
pub fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers.into_iter().collect::<BTreeSet<_>>() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let written = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    written.collect::<Vec<_>>().join(",")
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

    #[test]
    fn lists_are_read_and_written_as_the_kernel_does() {
        assert_eq!(numbers("0-3,8\n"), BTreeSet::from([0, 1, 2, 3, 8]));
        assert_eq!(numbers(""), BTreeSet::new());
        assert_eq!(list([8, 1, 2, 3, 0, 2]), "0-3,8");
        assert_eq!(list([]), "");
    }

    #[test]
    fn invalid_lists_have_no_numbers() {
        for text in ["x", "1,x", "1-", "-1", "0-4294967295", "3,99999999999"] {
            assert_eq!(numbers(text), BTreeSet::new(), "{text}");
        }
        assert_eq!(numbers("5-2"), BTreeSet::new());
    }

    /// Regression: of an Arm machine with clusters whose cores are all numbered from 0, processors of several clusters were
    /// taken for threads of one core.
    #[test]
    fn cores_are_told_apart_by_their_threads() {
        let machine = tempfile::tempdir().unwrap();
        for (id, core, threads) in [(0, 0, "0"), (4, 0, "4"), (6, 0, "6-7"), (7, 0, "6-7")] {
            let topology = format!("sys/devices/system/cpu/cpu{id}/topology");
            let topology = machine.path().join(topology);
            std::fs::create_dir_all(&topology).unwrap();
            std::fs::write(topology.join("core_id"), format!("{core}\n")).unwrap();
            std::fs::write(topology.join("thread_siblings_list"), format!("{threads}\n")).unwrap();
        }
        let cpus = [0, 4, 6, 7].map(|id| Cpu::described(&Files::below(machine.path()), id));
        assert_eq!((count_cores(&cpus), cpus[2].relation(&cpus[3])), (3, Relation::Core));
    }

    #[test]
    fn processors_are_related_by_the_least_that_they_share() {
        let cpu = |id, package, core, cache: &str| Cpu { id, package, core, cache: cache.into() };
        let first = cpu(0, 0, 0, "0-3");
        for (other, relation) in [
            (cpu(0, 0, 0, "0-3"), Relation::Same),
            (cpu(1, 0, 0, "0-3"), Relation::Core),
            (cpu(2, 0, 1, "0-3"), Relation::Cache),
            (cpu(4, 0, 2, "4-7"), Relation::Package),
            (cpu(8, 1, 0, "8-11"), Relation::Machine),
        ] {
            assert_eq!(first.relation(&other), relation);
        }
        let [unknown, other] = [cpu(0, 0, 0, ""), cpu(1, 0, 1, "")];
        assert_eq!(
            unknown.relation(&other),
            Relation::Package,
            "no cache that both share is known"
        );
    }
}
