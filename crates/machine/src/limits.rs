//! The limits of the system for this process.

use std::fs;

use crate::{
    cgroup::Groups,
    files::{Files, field},
};

/// The number of descriptors that it may open.
pub fn open_files() -> u64 {
    let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE);
    limit.map_or(u64::MAX, |(soft, _)| soft)
}

/// Memory that is available without swapping, in bytes: the smaller of the kernel's estimate and the memory that the
/// control groups leave.
pub fn available_memory_bytes() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let machine = kib.map_or(u64::MAX, |kib| kib * 1024);
    machine.min(control_group_bytes(&Files::of_system()).unwrap_or(u64::MAX))
}

/// The memory that the limits of this process's control groups leave, if they have any; memory that the kernel can drop
/// at once counts as available.
fn control_group_bytes(files: &Files) -> Option<u64> {
    let groups = Groups::of(files, "memory")?;
    let [limit, usage] = match groups.unified {
        true => ["memory.max", "memory.current"],
        false => ["memory.limit_in_bytes", "memory.usage_in_bytes"],
    };
    let [limits, usages, stats] =
        [limit, usage, "memory.stat"].map(|name| groups.texts(files, name));
    let left = |((limit, usage), stat): ((&String, &String), &String)| {
        let [limit, usage]: [u64; 2] = [limit.parse().ok()?, usage.parse().ok()?];
        let cache = field(stat, "inactive_file").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(cache)))
    };
    limits.iter().zip(&usages).zip(&stats).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_left() {
        assert!(open_files() > 0 && available_memory_bytes() > 0);
    }

    #[test]
    fn the_tightest_of_the_control_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "0::/all/own\n");
        write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("sys/fs/cgroup/cgroup.procs", "");
        for (group, limit, usage) in [("all", "1000", "900"), ("all/own", "max", "300")] {
            write(&format!("sys/fs/cgroup/{group}/memory.max"), limit);
            write(&format!("sys/fs/cgroup/{group}/memory.current"), usage);
            write(&format!("sys/fs/cgroup/{group}/memory.stat"), "anon 200\ninactive_file 50\n");
        }
        let files = Files::below(root.path());
        assert_eq!(control_group_bytes(&files), Some(150));
        write("sys/fs/cgroup/all/own/memory.max", "290");
        assert_eq!(control_group_bytes(&files), Some(40));
        write("sys/fs/cgroup/all/own/memory.max", "100");
        assert_eq!(control_group_bytes(&files), Some(0));
    }
}
