//! What a run can leave in the host's own places.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::fd::AsRawFd,
};

/// The names that carry the id of a run.
pub fn names(id: &str) -> Vec<String> {
    assert_eq!(id.len(), 8, "'{id}' is no id of a run");
    let places = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    paths.filter(|path| path.contains(id)).collect()
}

/// The segments of Fast DDS whose makers are dead: nobody holds their locks.
pub fn dead_segments() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let locks = names.filter(|name| name.starts_with("fastrtps_") && name.ends_with("_el"));
    locks.filter(|name| File::open(format!("/dev/shm/{name}")).is_ok_and(is_unlocked)).collect()
}

fn is_unlocked(file: File) -> bool {
    // SAFETY: an open descriptor; closing it gives the lock back.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) == 0 }
}

/// The System V objects with a key of ipcmark whose makers are all dead.
pub fn system_v() -> Vec<String> {
    ["msg", "shm", "sem"].into_iter().flat_map(orphans).collect()
}

fn orphans(kind: &str) -> Vec<String> {
    let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let names = lines.next().unwrap_or_default();
    let users = ["lspid", "lrpid", "cpid", "lpid"];
    let columns: Vec<usize> =
        (0..names.len()).filter(|column| users.contains(&names[*column])).collect();
    let number = |line: &[&str], column: usize| line[column].parse::<i64>().unwrap_or(0);
    let is_ours = |line: &Vec<&str>| number(line, 0) & 0xffff_0000 == 0x6970_0000;
    let is_orphan = |line: &Vec<&str>| {
        let mut users = columns.iter().map(|column| number(line, *column)).filter(|id| *id > 0);
        let known = users.clone().next().is_some();
        known && !users.any(|id| fs::exists(format!("/proc/{id}")).unwrap_or(false))
    };
    let lines = lines.filter(|line| is_ours(line) && is_orphan(line));
    lines.map(|line| format!("{kind} {}", line.join(" "))).collect()
}
