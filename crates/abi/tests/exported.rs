//! The conformance suite for a module written in Rust.

use std::{env, path::PathBuf, process::ExitCode};

use ipcmark_abi::{ExaminedModules, MODULE_COMMAND};
use ipcmark_conformance::{Suite, Suites};

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(MODULE_COMMAND) {
        ipcmark_abi::serve();
    }
    if let Some(code) = ipcmark_conformance::play_part(list) {
        return code;
    }
    let (variable, value) = ExaminedModules::look(&[example()]).to_inherit();
    // SAFETY: this process has only one thread so far, so nobody reads the environment meanwhile.
    unsafe { env::set_var(variable, value) };
    ipcmark_conformance::main(list)
}

/// Only the transport under test, out of all known ones.
fn list(suites: &mut Suites) -> Vec<Suite> {
    let mut list = ipcmark_abi::modules(suites, &ExaminedModules::inherited());
    list.retain(|suite| suite.definition().name == "packets");
    assert_eq!(list.len(), 1, "the module is listed");
    list
}

/// The path of the example that cargo builds with the tests.
fn example() -> PathBuf {
    let own = env::current_exe().expect("a path");
    let profile = own.parent().and_then(|deps| deps.parent()).expect("two directories");
    profile.join("examples/libpackets_module.so")
}
