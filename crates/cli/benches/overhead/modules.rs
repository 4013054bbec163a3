//! The transports to compare: those of the operating system, and a module skeleton.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use ipcmark_abi::ExaminedModules;

/// Loads the skeleton, compiled as by `make modules`, and passes it on to future keepers through
/// the environment.
pub(crate) fn look() -> ExaminedModules {
    let found = ExaminedModules::look(&[skeleton()]);
    let (variable, value) = found.to_inherit();
    // SAFETY: this process has only one thread so far, so nothing reads the environment meanwhile.
    unsafe { std::env::set_var(variable, value) };
    found
}

fn skeleton() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join("null-for-overhead.so");
    let flags = ["-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-I"];
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg(root.join("include")).arg(root.join("modules/null/null.c"));
    let status = compiler.arg("-o").arg(&object).status().expect("cc runs");
    assert!(status.success(), "the skeleton of a module does not compile");
    object
}
