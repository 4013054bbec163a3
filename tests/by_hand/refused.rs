//! Commands that are refused before anything starts.

use std::{fs, os::unix::fs::symlink};

use super::run_directory::RunDirectory;
use crate::support::{end, ipcmark};

ipcmark_harness::tests![mistakes_are_reported_before_anything_starts];

fn mistakes_are_reported_before_anything_starts() {
    let place = RunDirectory::new();
    place.write("open", "a secret that everybody may read", 0o644);
    place.write("short", "short", 0o600);
    let secret = |name: &str| place.path(name).display().to_string();
    for (words, reason) in [
        ("leader --listen 127.0.0.1:7".to_string(), "--secret"),
        (format!("leader --listen nowhere --secret {}", secret("secret")), "HOST:PORT"),
        (format!("leader --listen 127.0.0.1:0 --secret {}", secret("open")), "chmod 600"),
        (format!("leader --listen 127.0.0.1:0 --secret {}", secret("short")), "fewer than 16"),
        (format!("follower --connect 127.0.0.1:1 --secret {}", secret("none")), "openssl rand"),
        ("follower --connect 127.0.0.1:1".to_string(), "--secret"),
        ("leader -t nothing".to_string(), "no transport 'nothing'"),
        ("follower --cpu 3".to_string(), "--connect"),
    ] {
        let ended = end(&mut ipcmark(&words)).exits(2);
        assert!(ended.stderr.contains(reason), "{words}: {}", ended.stderr);
    }
    let long = place.path(&"x".repeat(120));
    let ended = end(ipcmark("leader -t pipe").arg("--socket").arg(&long)).exits(1);
    assert!(ended.stderr.contains("cannot listen at the socket"), "{}", ended.stderr);
    // A file that is not a socket is not removed to make one.
    place.write("file", "precious", 0o600);
    symlink(place.path("file"), place.path("link")).unwrap();
    for name in ["file", "link"] {
        let ended = end(ipcmark("leader -t pipe").arg("--socket").arg(place.path(name))).exits(1);
        assert!(ended.stderr.contains("cannot listen at"), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(place.path("file")).unwrap(), "precious");
}
