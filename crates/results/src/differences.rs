//! The settings in which two sides differ, and which a comparison of them therefore compares.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Identity, PlacementPolicy, RunResult};

/// A setting with different values on the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting: `tcp options`, `placement`, `modules`.
    pub setting: String,
    /// Its values in the base; several if its results differ, none if it is not set.
    pub base: BTreeSet<String>,
    /// Its values in the new side.
    pub new: BTreeSet<String>,
}

/// The flag that names a module on the command line.
const MODULE: &str = "--module";

/// The settings in which the sides differ.
pub(crate) fn differences(base: &[&RunResult], new: &[&RunResult]) -> Vec<Difference> {
    let (base, mut new) = (settings(base), settings(new));
    let mut all: Vec<Difference> = base
        .into_iter()
        .map(|(setting, base)| {
            let new = new.remove(&setting).unwrap_or_default();
            Difference { setting, base, new }
        })
        .collect();
    let added =
        new.into_iter().map(|(setting, new)| Difference { setting, base: BTreeSet::new(), new });
    all.extend(added);
    all.retain(|difference| difference.base != difference.new);
    all
}

type Values = BTreeMap<String, BTreeSet<String>>;

fn settings(results: &[&RunResult]) -> Values {
    let mut all = Values::new();
    for result in results {
        let mut add = |setting: String, value: String| {
            all.entry(setting).or_default().insert(value);
        };
        add("ipcmark".into(), result.run.version.clone());
        add("sandbox".into(), result.environment.sandbox.clone());
        modules(&result.run.command).for_each(|module| add("modules".into(), module.into()));
        for identity in result.cases.iter().map(|case| &case.identity) {
            of_row(identity, &mut add);
        }
    }
    all
}

fn of_row(identity: &Identity, add: &mut impl FnMut(String, String)) {
    let Identity { transport, options, library_version, placement, .. } = identity;
    let options: Vec<String> =
        options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !options.is_empty() {
        add(format!("{transport} options"), options.join(" "));
    }
    if let Some(version) = library_version {
        add(format!("{transport} library"), version.clone());
    }
    add(
        "placement".into(),
        match placement {
            PlacementPolicy::Auto => "auto".into(),
            PlacementPolicy::All => "all".into(),
            PlacementPolicy::Off => "off".into(),
            PlacementPolicy::Near(nearness) => nearness.clone(),
            PlacementPolicy::Cpus(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                format!("processors {}", cpus.join(","))
            }
        },
    );
}

/// The modules that a command line names.
fn modules(command: &[String]) -> impl Iterator<Item = &str> {
    let joined = |word: &'_ String| word.strip_prefix(MODULE)?.strip_prefix('=').map(str::len);
    command.iter().enumerate().filter_map(move |(at, word)| match joined(word) {
        Some(len) => Some(&word[word.len() - len..]),
        None if word == MODULE => command.get(at + 1).map(String::as_str),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_in_two_ways() {
        let words = ["ipcmark", "run", "--module", "a.so", "--module=b.so", "--modules"];
        let words = words.map(String::from);
        assert_eq!(modules(&words).collect::<Vec<_>>(), ["a.so", "b.so"]);
    }
}
