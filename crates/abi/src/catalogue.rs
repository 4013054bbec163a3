//! The transports that ipcmark knows, with or without their module: `modules/*/module.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::description::Description;

/// A module that ipcmark knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogueEntry {
    /// The family of its transports.
    pub family: String,
    /// The command that installs the library and the module, or the place that explains how.
    pub install: String,
    /// The transports that it offers.
    #[serde(rename = "transport")]
    pub transports: Vec<Description>,
}

macro_rules! catalogue {
    ($($folder:literal),+ $(,)?) => {
        /// The folder and the text of every `module.toml`: the one explicit list. The texts are links in `known`,
        /// because a crate contains only files of its own folder.
        const TEXTS: &[(&str, &str)] = &[$((
            $folder,
            include_str!(concat!("../known/", $folder, ".toml")),
        )),+];
    };
}

catalogue![
    "zeromq",
    "nng",
    "boost",
    "iceoryx",
    "iceoryx2",
    "zenoh",
    "cpp-ipc",
    "alephzero",
    "fastdds",
    "cyclonedds",
    "openmpi",
    "mpich",
    "ucx",
    "libfabric",
    "dbus",
    "python",
    "grpc",
    "tonic",
    "varlink",
    "redis",
    "nanomsg",
    "aeron",
    "capnproto",
    "lcm",
    "nats",
    "null"
];

/// Every module that ipcmark knows, with the folder that it is built from.
pub(crate) fn entries() -> &'static [(&'static str, CatalogueEntry)] {
    static ENTRIES: LazyLock<Vec<(&str, CatalogueEntry)>> = LazyLock::new(|| {
        let read = |(folder, text): &(&'static str, &str)| (*folder, parse(folder, text));
        TEXTS.iter().map(read).collect()
    });
    &ENTRIES
}

/// True if the module built from this folder may offer a transport that `is_wanted` accepts by its name and its family;
/// a module that ipcmark does not know may.
pub(crate) fn may_offer(folder: &str, is_wanted: &dyn Fn(&str, &str) -> bool) -> bool {
    let known = entries().iter().find(|(known, _)| *known == folder);
    let offers =
        |entry: &CatalogueEntry| entry.transports.iter().any(|t| is_wanted(&t.name, &entry.family));
    known.is_none_or(|(_, entry)| offers(entry))
}

fn parse(folder: &str, text: &str) -> CatalogueEntry {
    match toml::from_str(text) {
        Ok(entry) => entry,
        // Built in; a test reads it.
        Err(error) => unreachable!("modules/{folder}/module.toml: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_description_parses_and_names_are_unique() {
        let entries = entries();
        let names = || entries.iter().flat_map(|(_, entry)| &entry.transports).map(|t| &t.name);
        assert!(names().count() > 0);
        assert_eq!(names().collect::<BTreeSet<_>>().len(), names().count());
        assert!(entries.iter().all(|(_, entry)| !entry.install.is_empty()));
    }

    #[test]
    fn an_unknown_module_may_offer_any_transport() {
        let wanted = |name: &str, family: &str| name == "zeromq-tcp" || family == "boost";
        assert!(["zeromq", "boost", "mine"].into_iter().all(|folder| may_offer(folder, &wanted)));
        assert!(!may_offer("nng", &wanted));
    }
}
