//! The transports of the command: those of the operating system, then those of modules.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ipcmark_abi::ExaminedModules;
use ipcmark_engine::Registry;
use ipcmark_registry::known;

use crate::{output, selection::Word};

/// The transports; `is_whole` is true if every named module offers some.
pub(crate) struct Transports {
    pub registry: Registry,
    is_whole: bool,
    /// The environment variable through which keepers find the same modules, and its value.
    inherited: (&'static str, String),
}

impl Transports {
    /// Makes keepers that start from now on find these transports, and not those of another list.
    pub(crate) fn export_to_children(&self) {
        let (variable, value) = &self.inherited;
        // SAFETY: every caller has only one thread, so nothing reads the environment meanwhile.
        unsafe { std::env::set_var(variable, value) };
    }

    /// The final exit status: a failure if a named module was refused.
    pub(crate) fn status(&self, done: ExitCode) -> ExitCode {
        if self.is_whole || done != ExitCode::SUCCESS { done } else { ExitCode::FAILURE }
    }
}

/// Looks for modules and lists every transport that `words` select; no words select all. The command must have
/// only one thread. An error is one of the command line.
pub(crate) fn look(named: &[PathBuf], words: &[String]) -> Result<Transports, String> {
    for file in named {
        File::open(file).map_err(|e| format!("cannot read the module {}: {e}", file.display()))?;
    }
    let words = words.iter().map(|word| Word::new(word)).collect::<Result<Vec<_>, _>>()?;
    let found = match are_known(&words) {
        true => {
            let is_wanted =
                |name: &str, family: &str| words.iter().any(|w| w.selects(name, family));
            ExaminedModules::look_for(named, &is_wanted)
        }
        false => ExaminedModules::look(named),
    };
    for (path, fault) in found.faults() {
        output::say(format_args!("the module {}: {fault}", path.display()));
    }
    let is_whole = complain_of_refused(named, &found);
    let transports = Transports {
        registry: ipcmark_registry::of(&found),
        is_whole,
        inherited: found.to_inherit(),
    };
    transports.export_to_children();
    Ok(transports)
}

/// True if each of these selects a transport that the command knows by itself. What selects none is for a module that
/// the command does not know, or for a newer one than it knows.
fn are_known(words: &[Word<'_>]) -> bool {
    let known = known();
    let is_known = |word: &Word<'_>| {
        known.iter().map(|k| k.definition()).any(|known| word.selects(&known.name, &known.family))
    };
    !words.is_empty() && words.iter().all(is_known)
}

/// Reports why named modules cannot be used; true if all can.
fn complain_of_refused(named: &[PathBuf], found: &ExaminedModules) -> bool {
    let named: Vec<PathBuf> = named.iter().filter_map(|file| fs::canonicalize(file).ok()).collect();
    let is_named = |path: &Path| named.iter().any(|named| named == path);
    let refused: Vec<_> = found.refused().filter(|(path, _)| is_named(path)).collect();
    for (path, reason) in &refused {
        output::say(format_args!("cannot use the module {}: {reason}", path.display()));
    }
    refused.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_globs_and_families_of_known_transports_are_known() {
        let are_known = |words: &[&str]| {
            let words: Vec<Word> = words.iter().map(|word| Word::new(word).unwrap()).collect();
            are_known(&words)
        };
        assert!(are_known(&["tcp", "zeromq-*", "boost", "iceoryx2"]));
        assert!(!are_known(&[]), "no words select all, so modules that nobody knows too");
        assert!(!are_known(&["tcp", "mine"]) && !are_known(&["mine-*"]));
    }
}
