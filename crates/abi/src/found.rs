//! The modules found, passed by the command to the processes that it starts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{
    asked::{self, Asked},
    catalogue, discovery,
};

/// The environment variable in which the command passes the modules that it found.
const VARIABLE: &str = "IPCMARK_FOUND_MODULES";

/// The modules found: each was examined once, in a separate process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Found {
    pub(crate) modules: Vec<Asked>,
    /// The names, without extension, of the files that were not examined.
    pub(crate) passed_over: Vec<String>,
}

impl Found {
    /// Looks for modules: the `named` files, those in `$IPCMARK_MODULE_PATH`, those next to the
    /// command. Starts this executable again for each with the word [`MODULE_COMMAND`].
    ///
    /// [`MODULE_COMMAND`]: crate::MODULE_COMMAND
    pub fn look(named: &[PathBuf]) -> Self {
        let modules = discovery::ask(discovery::files(named));
        Self { modules, passed_over: Vec::new() }
    }

    /// The same for these transports only; all of them are known. A module that offers none of them, as far as is
    /// known, is not examined. Loading some libraries takes as long as a short run.
    pub fn look_for(named: &[PathBuf], transports: &[String]) -> Self {
        let mut wanted = discovery::files(named);
        let is_wanted = |file: &PathBuf| catalogue::may_offer(asked::stem(file), transports);
        let (found, others): (Vec<_>, Vec<_>) =
            wanted.split_off(named.len()).into_iter().partition(is_wanted);
        wanted.extend(found);
        let passed_over = others.iter().map(|file| asked::stem(file).to_owned()).collect();
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
        let offering = self.modules.iter().filter(|asked| asked.answer.is_ok());
        offering.map(|asked| asked.path.as_path())
    }

    /// The files that offer nothing, each with the reason.
    pub fn refused(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.iter().filter_map(|asked| {
            let refusal = asked.answer.as_ref().err()?;
            Some((asked.path.as_path(), refusal.reason.as_str()))
        })
    }

    /// Faults in modules that still offer something, a sentence each.
    pub fn faults(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.iter().flat_map(|asked| {
            let faults = asked.answer.as_ref().map_or(&[][..], |offer| &offer.faults[..]);
            faults.iter().map(|fault| (asked.path.as_path(), fault.as_str()))
        })
    }
}
