//! Limits of the running system.

use std::{fs, path::Path};

use ipcmark_transport::Availability;

/// The first number in a file below /proc/sys.
pub fn read(name: &str) -> Option<usize> {
    let text = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Available if the kernel has this file below /proc/sys.
pub fn probe(name: &str, reason: &str) -> Availability {
    match read(name) {
        Some(_) => Availability::Available { version: None },
        None => Availability::Unavailable {
            reason: format!("{reason} (no /proc/sys/{name})"),
            install: None,
        },
    }
}
