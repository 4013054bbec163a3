//! The rows that ipcmark knows, whether or not their module is there: `modules/*/module.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::description::Description;

/// A module that ipcmark knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Whose its transports are.
    pub family: String,
    /// The command that brings the library and the module, or where to read how.
    pub install: String,
    /// What it offers.
    #[serde(rename = "transport")]
    pub transports: Vec<Description>,
}

macro_rules! catalogue {
    ($($folder:literal),+ $(,)?) => {
        /// The folder and the text of every `module.toml`: the one explicit list. The texts are links in `known`, for a
        /// crate holds only what lies in its own folder.
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
    "dbus",
    "python",
    "grpc",
    "tonic",
    "redis",
    "nanomsg",
    "aeron",
    "capnproto",
    "lcm",
    "nats",
    "null"
];

/// Every module that ipcmark knows, with the folder it is made from.
pub(crate) fn entries() -> &'static [(&'static str, Entry)] {
    static ENTRIES: LazyLock<Vec<(&str, Entry)>> = LazyLock::new(|| {
        let read = |(folder, text): &(&'static str, &str)| (*folder, parse(folder, text));
        TEXTS.iter().map(read).collect()
    });
    &ENTRIES
}

/// Whether the module made from this folder may offer one of these transports; whatever ipcmark does not know may.
pub(crate) fn may_offer(folder: &str, transports: &[String]) -> bool {
    let known = entries().iter().find(|(known, _)| *known == folder);
    let offers = |entry: &Entry| entry.transports.iter().any(|t| transports.contains(&t.name));
    known.is_none_or(|(_, entry)| offers(entry))
}

fn parse(folder: &str, text: &str) -> Entry {
    match toml::from_str(text) {
        Ok(entry) => entry,
        // Built in, and read by a test.
        Err(error) => unreachable!("modules/{folder}/module.toml: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_text_is_read_and_no_name_stands_twice() {
        let entries = entries();
        let names = || entries.iter().flat_map(|(_, entry)| &entry.transports).map(|t| &t.name);
        assert!(names().count() > 0);
        assert_eq!(names().collect::<BTreeSet<_>>().len(), names().count());
        assert!(entries.iter().all(|(_, entry)| !entry.install.is_empty()));
    }

    #[test]
    fn what_is_not_known_may_offer_anything() {
        let wanted = ["zeromq-tcp".to_owned(), "pipe".to_owned()];
        assert!(may_offer("zeromq", &wanted) && may_offer("mine", &wanted));
        assert!(!may_offer("nng", &wanted) && !may_offer("zeromq", &[]));
    }
}
