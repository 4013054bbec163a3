//! The folder where a package installs modules, and the package's commands for installing missing parts.
//!
//! A command in `PREFIX/bin` has its modules in `PREFIX/lib/ipcmark/modules`, for any prefix. A package may install
//! files there with a command to show, one line each: `PREFIX/lib/ipcmark/install` installs the modules, and
//! `modules/NAME.install` the library of the module `NAME.so`, or that module where the package does not contain it. A
//! checkout has none, and the advice comes from the modules' sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The longest command that is shown, in bytes.
const LONGEST: usize = 200;

/// The folder of the package's modules; `None` if the path of the command is unknown.
pub(crate) fn modules() -> Option<PathBuf> {
    Some(library()?.join("modules"))
}

/// The command that installs a missing module, if ipcmark was installed by a package.
pub(crate) fn brings_module(name: &str) -> Option<String> {
    let of_its_own = line(&modules()?.join(name).with_extension("install"));
    of_its_own.or_else(|| line(&library()?.join("install")))
}

/// The command that installs the library of a module, if the module was installed by a package.
pub(crate) fn brings_library(module: &Path) -> Option<String> {
    line(&module.with_extension("install"))
}

fn library() -> Option<PathBuf> {
    let command = std::env::current_exe().ok()?;
    Some(command.parent()?.parent()?.join("lib/ipcmark"))
}

/// The first line of a file if it is short and consists of plain characters.
fn line(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().next()?.trim();
    let is_plain = line.len() <= LONGEST && line.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    (is_plain && !line.is_empty()).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_install_file_names_the_package_of_a_library() {
        let place = tempfile::tempdir().unwrap();
        let module = place.path().join("nng.so");
        let told = |text: &str| {
            fs::write(place.path().join("nng.install"), text).unwrap();
            brings_library(&module)
        };
        assert_eq!(brings_library(&module), None);
        assert_eq!(told("apt install libnng1\n"), Some("apt install libnng1".into()));
        assert_eq!(told("\n"), None);
        assert_eq!(told("apt install \u{1b}[2J\n"), None);
        assert_eq!(told(&"x".repeat(201)), None);
    }
}
