//! The suite, run for modules: the skeleton, the walk-through, and whatever `$IPCMARK_MODULE_PATH`
//! brings, as `make test` sets it.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use ipcmark_abi::{Found, MODULE_COMMAND};
use ipcmark_conformance::{Suite, Suites};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(MODULE_COMMAND) {
        ipcmark_abi::serve();
    }
    // The processes of a check come here too, and inherit what was found.
    if let Some(code) = ipcmark_conformance::play_part(list) {
        return code;
    }
    let found = Found::look(&[compile("modules/null/null.c"), compile("docs/examples/packets.c")]);
    let (variable, value) = found.to_inherit();
    // SAFETY: this process has one thread as yet, so nobody reads the environment meanwhile.
    unsafe { std::env::set_var(variable, value) };
    ipcmark_conformance::main(list)
}

fn list(suites: &mut Suites) -> Vec<Suite> {
    ipcmark_abi::modules(suites, &Found::inherited())
}

/// Compiles a C file of the repository to a module.
fn compile(source: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join(source);
    let name = source.with_extension("so");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.file_name().expect("a name"));
    let flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"];
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg("-fvisibility=hidden").arg("-I").arg(root.join("include"));
    let status = compiler.arg(&source).arg("-o").arg(&object).status();
    assert!(status.expect("cc runs").success(), "{} does not compile", source.display());
    object
}
