//! The directory in which the endpoints of a run by hand meet.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use ipcmark_results::{RunResult, Status};

use crate::support::ipcmark;

/// A directory for the socket and the secret of a run.
pub struct RunDirectory {
    pub directory: tempfile::TempDir,
}

impl RunDirectory {
    pub fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        place.write("secret", "a secret of more than sixteen characters\n", 0o600);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// `ipcmark` with these words, using this directory's socket.
    pub fn here(&self, words: &str) -> Command {
        let mut command = ipcmark(words);
        command.arg("--socket").arg(self.path("socket"));
        command
    }

    /// The same at an address, with this directory's secret.
    pub fn at(&self, words: &str, address: &str) -> Command {
        let mut command = ipcmark(words);
        let flag = if words.starts_with("leader") { "--listen" } else { "--connect" };
        command.args([flag, address, "--secret"]).arg(self.path("secret"));
        command
    }
}

/// A free address.
pub fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

pub fn assert_all(result: &RunResult, status: Status) {
    for case in &result.cases {
        let (identity, reason) = (&case.identity, case.reason());
        assert_eq!(case.status(), status, "{} {}: {reason:?}", identity.transport, identity.wait);
    }
}
