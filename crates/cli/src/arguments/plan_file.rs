//! Plan files: TOML whose keys are the long flags of `ipcmark run`.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use clap::FromArgMatches;

use super::run::RunArguments;
use crate::definition::{Failure, Invocation};

/// Keys that say the same thing in two ways: one on the command line replaces both.
const RIVALS: [[&str; 2]; 2] = [["round-trips", "duration"], ["cpus", "no-pin"]];

/// The flags of a command that takes a plan. The words of the plan stand in front of the user's flags, so
/// that they go through the same checks; what the user has written is left out of the plan.
pub(crate) fn arguments<A: FromArgMatches>(invocation: &Invocation<'_>) -> Result<A, Failure> {
    match invocation.flags.get_one::<PathBuf>("plan") {
        None => invocation.arguments(),
        Some(plan) => invocation.arguments_after(words(plan, &|flag| invocation.has(flag))?),
    }
}

fn words(path: &Path, is_given: &dyn Fn(&str) -> bool) -> Result<Vec<OsString>, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| format!("cannot read the plan {name}: {e}"))?;
    let plan: toml::Table =
        text.parse().map_err(|e| format!("cannot understand the plan {name}: {e}"))?;
    let known = RunArguments::keys();
    let mut words = Vec::new();
    if let Some(key) = plan.keys().find(|key| !known.contains(key)) {
        let keys = known.join(", ");
        return Err(format!("the plan {name} has the key {key}; the keys are {keys}"));
    }
    for (key, value) in plan.iter().filter(|(key, _)| !is_overridden(key, is_given)) {
        let flag = flag(key, value);
        words.extend(flag.ok_or_else(|| {
            format!("in the plan {name}, {key} must be a string, integer, list or boolean")
        })?);
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

fn is_overridden(key: &str, is_given: &dyn Fn(&str) -> bool) -> bool {
    let given = |key: &str| is_given(&key.replace('-', "_"));
    let rivals = RIVALS.iter().filter(|rivals| rivals.contains(&key)).flatten();
    given(key) || rivals.into_iter().any(|rival| given(rival))
}

/// One key as a flag; a key that is `false` gives none.
fn flag(key: &str, value: &toml::Value) -> Option<Option<String>> {
    match value {
        toml::Value::Boolean(false) => Some(None),
        toml::Value::Boolean(true) => Some(Some(format!("--{key}"))),
        toml::Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(scalar).collect();
            items.map(|items| Some(format!("--{key}={}", items.join(","))))
        }
        value => scalar(value).map(|text| Some(format!("--{key}={text}"))),
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
        let plan: toml::Table =
            "sizes = [64, \"4k\"]\nno-pin = true\ntrials = 3\nduration = \"1s\"".parse().unwrap();
        let flags: Vec<String> =
            plan.iter().filter_map(|(key, value)| flag(key, value).flatten()).collect();
        let mut expected = ["--sizes=64,4k", "--no-pin", "--trials=3", "--duration=1s"];
        expected.sort();
        let mut flags = flags;
        flags.sort();
        assert_eq!(flags, expected);
        assert_eq!(flag("seed", &toml::Value::Float(0.5)), None);
    }

    #[test]
    fn a_flag_overrides_its_key_and_what_says_the_same() {
        let given = |flag: &str| ["round_trips", "no_pin", "sizes"].contains(&flag);
        let overridden = |key| is_overridden(key, &given);
        for key in ["round-trips", "duration", "no-pin", "cpus", "sizes"] {
            assert!(overridden(key), "{key}");
        }
        assert!(!overridden("transports") && !overridden("touch"));
    }
}
