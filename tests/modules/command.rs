//! The command with a module.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use serde_json::Value;

use crate::support::IPCMARK;

/// The command in its own directory, so that it finds only modules that are passed to it.
static BARE: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bare");
    fs::create_dir_all(&directory).expect("a directory");
    let bare = directory.join("ipcmark");
    // Atomically, because another test may be using it.
    let fresh = tempfile::tempdir_in(&directory).expect("a directory");
    fs::hard_link(IPCMARK, fresh.path().join("ipcmark")).expect("a second name");
    fs::rename(fresh.path().join("ipcmark"), &bare).expect("its place");
    bare
});

/// The path of that command.
pub fn bare() -> &'static Path {
    &BARE
}

/// The command, without modules from the environment.
pub fn ipcmark() -> Command {
    let mut command = Command::new(bare());
    command.env_remove("IPCMARK_MODULE_PATH");
    command
}

/// The list with an additional module.
pub fn list(module: &Path) -> Vec<Value> {
    entries(ipcmark().args(["list", "--format", "json", "--module"]).arg(module))
}

/// The output of a `list --format json`.
pub fn entries(command: &mut Command) -> Vec<Value> {
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a list in JSON")
}

/// The entry of a transport.
pub fn entry<'a>(entries: &'a [Value], name: &str) -> Option<&'a Value> {
    entries.iter().find(|entry| entry["name"] == name)
}

/// The reason why the transport `name` cannot run with this module.
pub fn reason(module: &Path, name: &str) -> String {
    let entries = list(module);
    let entry = entry(&entries, name).unwrap_or_else(|| panic!("{name} is not listed"));
    assert_eq!(entry["available"], false);
    entry["reason"].as_str().expect("a reason").to_owned()
}

/// A short run with a module; returns the output and the cases of the result.
pub fn run<S: AsRef<OsStr>>(module: &Path, arguments: &[S]) -> (Output, Vec<Value>) {
    let mut command = ipcmark();
    command.args(["run", "-n", "500", "--format", "json", "--module"]).arg(module).args(arguments);
    finish(&mut command)
}

/// Runs a run until it ends.
pub fn finish(command: &mut Command) -> (Output, Vec<Value>) {
    let output = command.output().expect("the command runs");
    let result: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no result: {error}\n{}", text(&output.stderr)));
    let cases = result["cases"].as_array().expect("cases").clone();
    (output, cases)
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
