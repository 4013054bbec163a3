//! Servers between the two ends, held on one processor while both sides of a comparison spin.
//!
//! On two processors a server shares one with an end that polls, and the scheduler has two ways to place it that each
//! keep themselves up: it wakes on the processor of the end that has sent, or stays where it was. A round trip takes
//! about 1.6 times as long in the second, and a bare program falls into it more seldom.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The programs, as modules and bare programs start them. Go's runtime would have fewer threads on one processor, so
/// that `nats-server` is not among them.
const SERVERS: [&str; 3] = ["redis-server", "dbus-daemon", "dbus-broker"];

/// While it lives, `PATH` begins with scripts of the servers' names that start them on the second usable processor, the
/// follower's on a machine with two.
pub(crate) struct HeldServers {
    path: OsString,
    _scripts: TempDir,
}

impl HeldServers {
    pub(crate) fn new() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let scripts = TempDir::new().expect("a directory for scripts");
        for (name, server) in SERVERS.iter().filter_map(|name| Some((name, found(name, &path)?))) {
            write_script(&scripts.path().join(name), &server);
        }
        let places = [scripts.path().to_owned()].into_iter().chain(env::split_paths(&path));
        set_path(&env::join_paths(places).expect("names without colons"));
        Self { path, _scripts: scripts }
    }
}

impl Drop for HeldServers {
    fn drop(&mut self) {
        set_path(&self.path);
    }
}

fn found(name: &str, path: &OsString) -> Option<PathBuf> {
    env::split_paths(path).map(|place| place.join(name)).find(|program| program.exists())
}

fn write_script(at: &Path, server: &Path) {
    let cpus = ipcmark_machine::topology::usable().expect("the usable processors");
    let cpu = cpus.get(1).unwrap_or(&cpus[0]).id;
    let text = format!("#!/bin/sh\nexec taskset --cpu-list {cpu} '{}' \"$@\"\n", server.display());
    fs::write(at, text).expect("a script");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("a script that can be run");
}

fn set_path(path: &OsString) {
    // SAFETY: between two comparisons the benchmark has one thread; those of a run end with it.
    unsafe { env::set_var("PATH", path) };
}
