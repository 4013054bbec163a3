//! The modules found, passed by the command to the processes that it starts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    catalogue, discovery,
    examined::{self, ExaminedModule},
};

/// The environment variable in which the command passes the modules that it found.
const VARIABLE: &str = "IPCMARK_FOUND_MODULES";

/// The modules found: each was examined once, in a separate process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ExaminedModules {
    pub(crate) modules: Vec<ExaminedModule>,
    /// The names, without extension, of the files that were not examined.
    pub(crate) passed_over: Vec<String>,
}

impl ExaminedModules {
    /// Looks for modules: the `named` files, those in `$IPCMARK_MODULE_PATH`, those next to the
    /// command. Starts this executable again for each with the word [`MODULE_COMMAND`].
    ///
    /// [`MODULE_COMMAND`]: crate::MODULE_COMMAND
    pub fn look(named: &[PathBuf]) -> Self {
        let modules = discovery::ask(discovery::files(named));
        Self { modules, passed_over: Vec::new() }
    }

    /// The same for the transports that `is_wanted` accepts by name and family. A module that offers none of them, as
    /// far as is known, is not examined. Loading some libraries takes as long as a short run.
    pub fn look_for(named: &[PathBuf], is_wanted: &dyn Fn(&str, &str) -> bool) -> Self {
        let mut wanted = discovery::files(named);
        let is_wanted = |file: &PathBuf| catalogue::may_offer(examined::stem(file), is_wanted);
        let (found, others): (Vec<_>, Vec<_>) =
            wanted.split_off(named.len()).into_iter().partition(is_wanted);
        wanted.extend(found);
        let passed_over = others.iter().map(|file| examined::stem(file).to_owned()).collect();
        Self { modules: discovery::ask(wanted), passed_over }
    }

    /// The modules that the command that started this process has found.
    pub fn inherited() -> Self {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The variable and its value that pass the modules to processes started from now on.
    pub fn to_inherit(&self) -> (&'static str, String) {
        (VARIABLE, serde_json::to_string(self).unwrap_or_default())
    }

    /// The modules that offer something.
    pub fn offering(&self) -> impl Iterator<Item = &Path> {
        let offering = self.modules.iter().filter(|examined| examined.answer.is_ok());
        offering.map(|examined| examined.path.as_path())
    }

    /// The files that offer nothing, each with the reason.
    pub fn refused(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.iter().filter_map(|examined| {
            let refusal = examined.answer.as_ref().err()?;
            Some((examined.path.as_path(), refusal.reason.as_str()))
        })
    }

    /// Faults in modules that still offer something, a sentence each.
    pub fn faults(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.iter().flat_map(|examined| {
            let faults = examined.answer.as_ref().map_or(&[][..], |offer| &offer.faults[..]);
            faults.iter().map(|fault| (examined.path.as_path(), fault.as_str()))
        })
    }
}
