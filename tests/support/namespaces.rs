//! Limits that are the machine's, changed for one command in namespaces of its own.

use std::process::Command;

use super::{Ended, IPCMARK, Verdict, end, is_root, patient, works};

/// Runs `ipcmark` with `words` after `setup`, a line of the shell, in these namespaces.
pub fn unshared(namespaces: &[&str], setup: &str, words: &str) -> Ended {
    let line = format!("{setup} && exec {IPCMARK} {}", patient(words).join(" "));
    end(Command::new("unshare").args(namespaces).args(["sh", "-c", &line]))
}

/// The namespaces to ask for: root needs no user namespace to have its rights in the others.
pub fn namespaces(wanted: &'static str) -> Vec<&'static str> {
    if is_root() { vec![wanted] } else { vec!["--user", "--map-root-user", wanted] }
}

/// Why `setup` cannot be had here, if it cannot.
pub fn lacking(namespaces: &[&str], setup: &str) -> Option<Verdict> {
    let words = [namespaces, &["sh", "-c", setup]].concat();
    let why = || Verdict::Skipped(format!("this system does not allow: {setup}"));
    (!works("unshare", &words)).then(why)
}
