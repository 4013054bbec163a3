//! The list of transports: the modules found, merged with the known ones.

use std::{collections::BTreeSet, sync::Arc};

use ipcmark_transport::{Availability, Collect, Wait};

use crate::{
    catalogue::{self, CatalogueEntry},
    description::Description,
    examine::Offer,
    examined::ExaminedModule,
    found::ExaminedModules,
    origin::ModuleFile,
    packaged,
    transport::Module,
};

/// Passes every transport of the modules to `collect`: first the known ones, found or not, then
/// those unknown to ipcmark.
pub fn modules<C: Collect>(collect: &mut C, found: &ExaminedModules) -> Vec<C::Item> {
    let modules: Vec<Loadable> = found.modules.iter().map(Loadable::new).collect();
    let known = catalogue::entries().iter();
    let known = known.flat_map(|(folder, entry)| known_rows(folder, entry, &modules, found));
    let unknown = modules.iter().flat_map(unknown_rows);
    let mut names = BTreeSet::new();
    let rows = known.chain(unknown).filter(|row| names.insert(row.name()));
    rows.map(|row| collect.item(row)).collect()
}

/// A file that may be a module, and its answer.
struct Loadable<'a> {
    examined: &'a ExaminedModule,
    origin: Arc<ModuleFile>,
}

impl<'a> Loadable<'a> {
    fn new(examined: &'a ExaminedModule) -> Self {
        let names_leftovers = examined.answer.as_ref().is_ok_and(|offer| offer.names_leftovers);
        Self { examined, origin: Arc::new(ModuleFile::new(&examined.path, names_leftovers)) }
    }

    /// The transports that it offers.
    fn rows(&self) -> impl Iterator<Item = Module> {
        let offer = self.examined.answer.as_ref().ok();
        offer.into_iter().flat_map(|offer| self.offered(offer))
    }

    fn offered(&self, offer: &'a Offer) -> impl Iterator<Item = Module> {
        offer.transports.iter().map(|(description, verdict)| {
            let origin = Arc::clone(&self.origin);
            Module::new(description, &offer.family, verdict.clone().into(), Some(origin))
        })
    }
}

/// The rows of a known module; its own description replaces the known one where it can be loaded.
fn known_rows(
    folder: &str,
    entry: &CatalogueEntry,
    modules: &[Loadable<'_>],
    found: &ExaminedModules,
) -> Vec<Module> {
    let row = |description: &Description| {
        let there = modules.iter().flat_map(Loadable::rows).find(|m| m.name() == description.name);
        there.unwrap_or_else(|| match found.passed_over.iter().any(|stem| stem == folder) {
            true => unexamined(entry, description),
            false => absent(folder, entry, description, modules),
        })
    };
    entry.transports.iter().map(row).collect()
}

/// The row of a known transport that was not requested.
fn unexamined(entry: &CatalogueEntry, description: &Description) -> Module {
    let reason = "its module has not been asked, for others were chosen".to_owned();
    let availability = Availability::Unavailable { reason, install: None };
    Module::new(description, &entry.family, availability, None)
}

/// The row of a known transport whose module was not found.
fn absent(
    folder: &str,
    entry: &CatalogueEntry,
    description: &Description,
    modules: &[Loadable<'_>],
) -> Module {
    let file = modules.iter().find(|module| module.examined.stem() == folder);
    let (reason, installing_helps) = match file.map(|module| &module.examined.answer) {
        None => (format!("there is no module {folder}.so"), true),
        Some(Err(refusal)) => (refusal.reason.clone(), refusal.installing_helps),
        Some(Ok(_)) => (format!("the module {folder}.so does not offer it"), true),
    };
    let packaged = match file {
        None => packaged::brings_module(folder),
        Some(module) => packaged::brings_library(&module.examined.path),
    };
    let install = installing_helps.then(|| packaged.unwrap_or_else(|| entry.install.clone()));
    let availability = Availability::Unavailable { reason, install };
    Module::new(description, &entry.family, availability, None)
}

/// The transports of a module that ipcmark does not know, or the reason why it offers none.
fn unknown_rows(module: &Loadable<'_>) -> Vec<Module> {
    let known = catalogue::entries().iter().any(|(folder, _)| *folder == module.examined.stem());
    match &module.examined.answer {
        Err(refusal) if !known => vec![broken(module.examined.stem(), &refusal.reason)],
        _ => module.rows().collect(),
    }
}

/// The row of a file that is not a usable module, listed under the file's name.
fn broken(stem: &str, reason: &str) -> Module {
    // It gets a wait so that it can be requested, and a run then reports why it is not available.
    let summary = "unknown, for its module cannot be used";
    let description = Description::usual(stem, summary, &[Wait::Spin]);
    let availability = Availability::Unavailable { reason: reason.to_owned(), install: None };
    Module::new(&description, stem, availability, None)
}
