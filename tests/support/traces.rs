//! The possible leftovers of a run in the host's directories.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::fd::AsRawFd,
    path::Path,
};

/// The names that contain the id of a run.
pub fn names(id: &str) -> Vec<String> {
    assert_eq!(id.len(), 8, "'{id}' is no id of a run");
    let places = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    paths.filter(|path| path.contains(id)).collect()
}

/// The segments of Fast DDS whose creators are dead: nobody holds their locks.
pub fn dead_segments() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let locks = names.filter(|name| name.starts_with("fastrtps_") && name.ends_with("_el"));
    locks.filter(|name| File::open(format!("/dev/shm/{name}")).is_ok_and(is_unlocked)).collect()
}

fn is_unlocked(file: File) -> bool {
    // SAFETY: an open descriptor; closing it releases the lock.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) == 0 }
}

/// The names in the directories for temporary files, with their content. For a test in its own namespaces. A checkout
/// may also lie there, in which other tests build files: it is excluded.
pub fn everything() -> Vec<String> {
    let places = ["/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"];
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli");
    let all = places.iter().flat_map(|place| below(Path::new(place)));
    all.filter(|path| !Path::new(path).starts_with(checkout)).collect()
}

fn below(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path()).flat_map(|path| {
        let inside = if path.is_symlink() { Vec::new() } else { below(&path) };
        [vec![path.display().to_string()], inside].concat()
    });
    paths.collect()
}

/// The C library (`sem_open`) first gives a named semaphore a random name. Nobody can distinguish it from a semaphore
/// with that name.
pub fn is_semaphore_in_the_making(path: &str) -> bool {
    let random = path.strip_prefix("/dev/shm/sem.");
    random.is_some_and(|name| name.len() == 6 && name.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The keys of ipcmark's System V objects.
pub fn system_v() -> Vec<String> {
    ["msg", "shm", "sem"].into_iter().flat_map(keys).collect()
}

fn keys(kind: &str) -> Vec<String> {
    let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
    let key = |line: &str| line.split_whitespace().next()?.parse::<u32>().ok();
    let ours = table.lines().filter_map(key).filter(|key| key >> 24 == 0x69);
    ours.map(|key| format!("{key:#010x}")).collect()
}
