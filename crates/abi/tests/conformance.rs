//! The conformance suite for modules: the skeleton, the walk-through, and the modules in
//! `$IPCMARK_MODULE_PATH`, which `make test` sets.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use ipcmark_abi::{ExaminedModules, MODULE_COMMAND};
use ipcmark_conformance::{Suite, Suites};

fn main() -> ExitCode {
    if env::args().nth(1).as_deref() == Some(MODULE_COMMAND) {
        ipcmark_abi::serve();
    }
    // The processes of a check also start here, and inherit the found modules.
    if let Some(code) = ipcmark_conformance::play_part(list) {
        return code;
    }
    let found = ExaminedModules::look(&[
        compile("modules/null/null.c"),
        compile("docs/examples/packets.c"),
    ]);
    if let Err(fault) = something_on_the_path(&found) {
        eprintln!("conformance: {fault}");
        return ExitCode::FAILURE;
    }
    if env::var_os(PATH) != Some(NOTHING.into()) {
        an_empty_path_is_red();
    }
    let (variable, value) = found.to_inherit();
    // SAFETY: this process has only one thread so far, so nobody reads the environment meanwhile.
    unsafe { env::set_var(variable, value) };
    ipcmark_conformance::main(list)
}

/// The directories of modules that `make test` names.
const PATH: &str = "IPCMARK_MODULE_PATH";

/// A directory without modules.
const NOTHING: &str = "/nowhere";

/// If directories of modules are named, one of them must have a usable module: a run in which all are missing would
/// look like a pass.
fn something_on_the_path(found: &ExaminedModules) -> Result<(), String> {
    let Some(list) = env::var_os(PATH).filter(|list| !list.is_empty()) else { return Ok(()) };
    let directories = env::split_paths(&list).filter_map(|path| path.canonicalize().ok());
    let directories: Vec<PathBuf> = directories.collect();
    let is_there = |file: &Path| directories.iter().any(|directory| file.starts_with(directory));
    match found.offering().any(is_there) {
        true => Ok(()),
        false => Err(format!(
            "{PATH} is {} and no module there can be used; build them: make modules",
            list.display()
        )),
    }
}

/// Tests the check above by running this executable again.
fn an_empty_path_is_red() {
    let mut again = Command::new(env::current_exe().expect("a path"));
    let output = again.arg("--list").env(PATH, NOTHING).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("no module there can be used"), "{told}");
}

fn list(suites: &mut Suites) -> Vec<Suite> {
    ipcmark_abi::modules(suites, &ExaminedModules::inherited())
}

/// Compiles a C file of the repository to a module.
fn compile(source: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join(source);
    let stem = source.file_stem().expect("a name").to_string_lossy();
    // A name different from the module built for use, because that one is tested too.
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{stem}.so"));
    let flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"];
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg("-fvisibility=hidden").arg("-I").arg(root.join("include"));
    let status = compiler.arg(&source).arg("-o").arg(&object).status();
    assert!(status.expect("cc runs").success(), "{} does not compile", source.display());
    object
}
