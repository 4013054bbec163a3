//! The paths in hidden places that tests need.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The directories where a test has a temporary file system of its own.
pub const HIDDEN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The paths below a hidden directory that tests read or write: the checkout, the build, modules,
/// programs. None lies within another.
pub fn paths() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = wanted().filter(|path| is_hidden(path)).collect();
    all.sort();
    all.dedup_by(|inner, outer| inner.starts_with(outer));
    all
}

fn wanted() -> impl Iterator<Item = PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(PathBuf::from);
    // The executable is in BUILD/PROFILE/deps.
    let build = env::current_exe().ok().and_then(|exe| exe.ancestors().nth(3).map(PathBuf::from));
    let listed = ["IPCMARK_MODULE_PATH", "PATH"].into_iter().filter_map(env::var_os);
    let listed = listed.flat_map(|list| env::split_paths(&list).collect::<Vec<_>>());
    checkout.into_iter().chain(build).chain(env::current_dir()).chain(listed)
}

fn is_hidden(path: &Path) -> bool {
    HIDDEN.iter().any(|place| path.starts_with(place) && path != Path::new(place)) && path.exists()
}
