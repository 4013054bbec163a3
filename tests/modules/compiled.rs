//! Modules compiled from the sources of `crates/abi/tests/modules`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles the module `name` for the test `test`, the only user of the file.
pub fn module(name: &str, test: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join(format!("crates/abi/tests/modules/{name}.c"));
    compile(&source, &format!("{test}-{name}"))
}

/// Compiles a C file to a shared object of that name.
pub fn compile(source: &Path, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"])
        .arg("-fvisibility=hidden")
        .arg("-I")
        .arg(root.join("include"))
        .arg(source)
        .arg("-o")
        .arg(&object)
        .status()
        .expect("cc runs");
    assert!(status.success(), "{} does not compile", source.display());
    object
}
