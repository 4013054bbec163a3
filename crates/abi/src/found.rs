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

    /// The variable and its value that pass the modules to processes started from now on: those that offer something,
    /// without the summaries of options. The kernel limits a
    /// variable to 128 KiB.
    pub fn to_inherit(&self) -> (&'static str, String) {
        let usable = self.modules.iter().filter_map(|examined| {
            let answer = Ok(examined.answer.as_ref().ok()?.without_prose());
            Some(ExaminedModule { path: examined.path.clone(), answer })
        });
        let inherited = Self { modules: usable.collect(), passed_over: self.passed_over.clone() };
        (VARIABLE, serde_json::to_string(&inherited).expect("paths are UTF-8 and the rest is text"))
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

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use serde_json::json;

    use super::*;
    use crate::examine::{Offer, Refusal};

    /// Regression: with one file of such a name, every transport of every module was unknown to the workers.
    #[test]
    fn a_path_that_is_not_utf_8_costs_no_other_module() {
        let option = json!({"key": "k", "accepts": "", "standard": "", "summary": "for people"});
        let transport =
            json!({"name": "a", "summary": "kept", "waits": ["spin"], "option": [option]});
        let offer = json!({"family": "a", "faults": ["for people"], "names_leftovers": false,
            "transports": [[transport, {"Available": {"version": null}}]]});
        let offer: Offer = serde_json::from_value(offer).unwrap();
        let path = PathBuf::from(OsStr::from_bytes(b"/modules/\xff.so"));
        let odd = ExaminedModule { path, answer: Err(Refusal::new("it is odd".into())) };
        let usable = ExaminedModule { path: "/modules/a.so".into(), answer: Ok(offer) };
        let found = ExaminedModules { modules: vec![odd, usable], passed_over: vec!["b".into()] };
        let (_, text) = found.to_inherit();
        let inherited: ExaminedModules = serde_json::from_str(&text).unwrap();
        assert_eq!(inherited.offering().collect::<Vec<_>>(), [Path::new("/modules/a.so")]);
        assert!(inherited.passed_over == ["b"] && !text.contains("for people"), "{text}");
        assert!(text.contains("kept"), "the conformance suite checks it: {text}");
    }
}
