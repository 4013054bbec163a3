//! Plan files: TOML whose keys are the long flags of `ipcmark run`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::FromArgMatches;

use super::{
    run::{PlanKey, RunArguments},
    text_file,
};
use crate::definition::{Invocation, Rejection};

/// Keys that exclude each other: one on the command line replaces both.
const CONFLICTS: [[&str; 2]; 13] = [
    ["trace", "rate"],
    ["trace", "interval"],
    ["trace", "sizes"],
    ["rate", "interval"],
    ["count", "rate"],
    ["count", "interval"],
    ["count", "trace"],
    ["round-trips", "duration"],
    ["cpus", "no-pin"],
    ["placement", "cpus"],
    ["placement", "no-pin"],
    ["trials", "budget"],
    ["trials", "precision"],
];

/// A plan as read from its file.
pub(crate) struct PlanFile {
    name: String,
    plan: toml::Table,
}

/// The flags of a command that takes a plan. The words of the plan come before the user's flags, so that
/// they go through the same checks; flags that the user has written are left out of the plan.
pub(crate) fn arguments<A: FromArgMatches>(invocation: &Invocation<'_>) -> Result<A, Rejection> {
    match invocation.flags.get_one::<PathBuf>("plan") {
        None => invocation.arguments(),
        Some(plan) => {
            let words = PlanFile::read(plan)?.words(&|flag| invocation.has(flag))?;
            invocation.arguments_after(words)
        }
    }
}

impl PlanFile {
    /// Reads a plan.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let text =
            text_file::read(path).map_err(|e| format!("cannot read the plan {name}: {e}"))?;
        Self::parse(name, &text)
    }

    /// A plan of this name and content.
    pub(crate) fn parse(name: String, text: &str) -> Result<Self, String> {
        let plan = text.parse().map_err(|e| format!("cannot understand the plan {name}: {e}"))?;
        Ok(Self { name, plan })
    }

    /// True if it has this key, a flag name with its hyphens.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.plan.contains_key(key)
    }

    /// The plan without these keys.
    pub(crate) fn without(mut self, keys: &[&str]) -> Self {
        self.plan.retain(|key, _| !keys.contains(&key));
        self
    }

    /// Its keys as words of a command line, without those that are given elsewhere.
    pub(crate) fn words(&self, is_given: &dyn Fn(&str) -> bool) -> Result<Vec<OsString>, String> {
        let (name, known) = (&self.name, RunArguments::keys());
        let mut words = Vec::new();
        for (key, value) in &self.plan {
            let known = known.iter().find(|known| known.name == *key).ok_or_else(|| {
                let keys: Vec<&str> = known.iter().map(|key| key.name.as_str()).collect();
                format!("the plan {name} has the key {key}; the keys are {}", keys.join(", "))
            })?;
            if !is_overridden(key, is_given) {
                words.extend(flags(known, value).ok_or_else(|| {
                    format!("in the plan {name}, {key} must be a string, integer, list or boolean")
                })?);
            }
        }
        Ok(words.into_iter().map(OsString::from).collect())
    }
}

fn is_overridden(key: &str, is_given: &dyn Fn(&str) -> bool) -> bool {
    let given = |key: &str| is_given(&key.replace('-', "_"));
    let conflicting = CONFLICTS.iter().filter(|conflicting| conflicting.contains(&key)).flatten();
    given(key) || conflicting.into_iter().any(|rival| given(rival))
}

/// One key as flags; a key with the value `false` gives none.
fn flags(key: &PlanKey, value: &toml::Value) -> Option<Vec<String>> {
    let name = &key.name;
    let flag = |value: String| format!("--{name}={value}");
    match value {
        toml::Value::Boolean(false) => Some(Vec::new()),
        toml::Value::Boolean(true) => Some(vec![format!("--{name}")]),
        toml::Value::Array(items) => {
            let items: Vec<String> = items.iter().map(scalar).collect::<Option<_>>()?;
            Some(match key.repeats {
                true => items.into_iter().map(flag).collect(),
                false => vec![flag(items.join(","))],
            })
        }
        value => Some(vec![flag(scalar(value)?)]),
    }
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_flags() {
        let plan: toml::Table = "sizes = [64, \"4k\"]\nno-pin = true\ntrials = 3\n\
            export = [\"csv=a,b\", \"json=c\"]\nset = [\"a.b=1\", \"a.c=2\"]"
            .parse()
            .unwrap();
        let known = RunArguments::keys();
        let of = |name: &str| known.iter().find(|key| key.name == name).unwrap();
        let mut words: Vec<String> =
            plan.iter().flat_map(|(key, value)| flags(of(key), value).unwrap()).collect();
        words.sort();
        let expected = [
            "--export=csv=a,b",
            "--export=json=c",
            "--no-pin",
            "--set=a.b=1,a.c=2",
            "--sizes=64,4k",
            "--trials=3",
        ];
        assert_eq!(words, expected);
        assert_eq!(flags(of("seed"), &toml::Value::Float(0.5)), None);
    }

    #[test]
    fn a_flag_overrides_its_key_and_equivalent_keys() {
        let given = |flag: &str| ["round_trips", "no_pin", "sizes"].contains(&flag);
        let overridden = |key| is_overridden(key, &given);
        for key in ["round-trips", "duration", "no-pin", "cpus", "sizes"] {
            assert!(overridden(key), "{key}");
        }
        assert!(!overridden("transports") && !overridden("touch"));
    }
}
