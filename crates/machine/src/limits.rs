//! What the system lets this process have.

use std::fs;

/// How many descriptors it may open.
pub fn open_files() -> u64 {
    let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE);
    limit.map_or(u64::MAX, |(soft, _)| soft)
}

/// Memory that is there without swapping, in bytes: what the kernel estimates, less what a control group's limit
/// leaves.
pub fn available_memory_bytes() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let machine = kib.map_or(u64::MAX, |kib| kib * 1024);
    machine.min(control_group_bytes().unwrap_or(u64::MAX))
}

/// What this process's control group may still take, where it has a limit (version 2).
fn control_group_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |file: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{group}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_left() {
        assert!(open_files() > 0 && available_memory_bytes() > 0);
    }
}
