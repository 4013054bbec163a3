//! Finds modules and examines each in a separate process.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    examine::{Offer, Refusal},
    examined::ExaminedModule,
    packaged,
    process::{self, ModuleProcess},
};

/// The command word that examines a module.
pub(crate) const EXAMINE: &str = "examine";

/// The environment variable that lists directories of modules.
const PATH_VARIABLE: &str = "IPCMARK_MODULE_PATH";

/// The candidate files: the named ones first, then those in the directories of `$IPCMARK_MODULE_PATH`, then those next
/// to the command, then those of a package. A named file replaces every other file of the same name: if it cannot be
/// used, nothing else is measured under its names.
pub(crate) fn files(named: &[PathBuf]) -> Vec<PathBuf> {
    let variable = std::env::var_os(PATH_VARIABLE).unwrap_or_default();
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join("modules")));
    let directories = std::env::split_paths(&variable).chain(beside).chain(packaged::modules());
    let mut files: Vec<PathBuf> =
        named.iter().map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone())).collect();
    for directory in directories.filter(|directory| !directory.as_os_str().is_empty()) {
        for file in objects(&directory) {
            let is_named = named.iter().any(|named| named.file_name() == file.file_name());
            if !is_named && !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

/// The shared objects in a directory, sorted by name.
fn objects(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let objects = paths.filter(|path| path.extension().is_some_and(|end| end == "so"));
    let mut objects: Vec<PathBuf> =
        objects.filter_map(|path| fs::canonicalize(path).ok()).collect();
    objects.sort();
    objects
}

/// Examines all files concurrently.
pub(crate) fn ask(files: Vec<PathBuf>) -> Vec<ExaminedModule> {
    let (files, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.to_str().is_some());
    let words = |file: &PathBuf| [EXAMINE.into(), file.into()];
    let processes = files.iter().map(|file| ModuleProcess::start(&words(file))).collect();
    let answers = process::answers(processes);
    let examined = files.into_iter().zip(answers);
    let flat = |answer: Result<_, _>| {
        answer.map_err(Refusal::new).and_then(|answer| answer).and_then(Offer::checked)
    };
    let examined = examined.map(|(path, answer)| ExaminedModule { path, answer: flat(answer) });
    examined.chain(others.into_iter().map(unreadable)).collect()
}

/// A module whose path cannot be passed on.
fn unreadable(path: PathBuf) -> ExaminedModule {
    let reason = "its path is not UTF-8: rename the file or the directory";
    ExaminedModule { path, answer: Err(Refusal::new(reason.into())) }
}
