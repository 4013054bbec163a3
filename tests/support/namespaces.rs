//! Limits of the whole machine, changed for one command in private namespaces.

use std::process::Command;

use super::{Ended, IPCMARK, Verdict, end, is_root, patient, works};

/// Runs `ipcmark` with `words` after `setup`, a shell command, in these namespaces.
pub fn unshared(namespaces: &[&str], setup: &str, words: &str) -> Ended {
    let line = format!("{setup} && exec {IPCMARK} {}", patient(words).join(" "));
    end(Command::new("unshare").args(namespaces).args(["sh", "-c", &line]))
}

/// The namespaces to request: root needs no user namespace to have its privileges in the others.
pub fn namespaces(wanted: &'static str) -> Vec<&'static str> {
    if is_root() { vec![wanted] } else { vec!["--user", "--map-root-user", wanted] }
}

/// The reason why `setup` is impossible here, if it is.
pub fn lacking(namespaces: &[&str], setup: &str) -> Option<Verdict> {
    let words = [namespaces, &["sh", "-c", setup]].concat();
    let why = || Verdict::Skipped(format!("this system does not allow: {setup}"));
    (!works("unshare", &words)).then(why)
}
