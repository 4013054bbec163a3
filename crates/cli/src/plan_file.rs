//! Plan files: TOML whose keys are the long flags of `ipcmark run`.

use std::{ffi::OsString, fs, path::Path};

use crate::arguments::{RunArguments, run_flags, wrong};

/// Keys that say the same thing in two ways: one on the command line stands for both.
const RIVALS: [[&str; 2]; 2] = [["round-trips", "duration"], ["cpus", "no-pin"]];

/// The process's command line with the words of the plan file put in front of the flags, so that
/// the plan goes through the same checks as they do. What `is_given` as a flag is left out of the
/// plan.
pub(crate) fn spliced(
    arguments: &RunArguments,
    is_given: &dyn Fn(&str) -> bool,
) -> Result<Vec<OsString>, clap::Error> {
    let mut words: Vec<OsString> = std::env::args_os().take(2).collect();
    if let Some(path) = &arguments.plan {
        words.extend(plan_words(path, is_given).map_err(wrong)?);
    }
    words.extend(std::env::args_os().skip(2));
    Ok(words)
}

fn plan_words(path: &Path, is_given: &dyn Fn(&str) -> bool) -> Result<Vec<OsString>, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| format!("cannot read the plan {name}: {e}"))?;
    let plan: toml::Table =
        text.parse().map_err(|e| format!("cannot understand the plan {name}: {e}"))?;
    let known = run_flags();
    let mut words = Vec::new();
    if let Some(key) = plan.keys().find(|key| !known.contains(key)) {
        let keys = known.join(", ");
        return Err(format!("the plan {name} has the key {key}; the keys are {keys}"));
    }
    for (key, value) in plan.iter().filter(|(key, _)| !is_overridden(key, is_given)) {
        let flag = flag(key, value);
        words.extend(flag.ok_or_else(|| {
            format!("in the plan {name} {key} is no text, number, list or truth")
        })?);
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

fn is_overridden(key: &str, is_given: &dyn Fn(&str) -> bool) -> bool {
    let given = |key: &str| is_given(&key.replace('-', "_"));
    let rivals = RIVALS.iter().filter(|rivals| rivals.contains(&key)).flatten();
    given(key) || rivals.into_iter().any(|rival| given(rival))
}

/// One key as a flag; a key that is `false` is no flag.
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
        assert_eq!(flag("rate", &toml::Value::Float(0.5)), None);
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
