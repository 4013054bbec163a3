//! Plan files: TOML whose keys are the long flags of `ipcmark run`.

use std::fs;

use crate::arguments::{RunArguments, wrong};

/// The process's command line with the words of the plan file put in front of the flags, so that
/// the flags win and the plan goes through the same checks as they do.
pub(crate) fn spliced(arguments: &RunArguments) -> Result<Vec<String>, clap::Error> {
    let Some(path) = &arguments.plan else { return Ok(std::env::args().collect()) };
    let name = path.display();
    let text =
        fs::read_to_string(path).map_err(|e| wrong(format!("cannot read the plan {name}: {e}")))?;
    let plan: toml::Table =
        text.parse().map_err(|e| wrong(format!("cannot understand the plan {name}: {e}")))?;
    let mut words: Vec<String> = std::env::args().take(2).collect();
    for (key, value) in &plan {
        let flag = flag(key, value).ok_or_else(|| {
            wrong(format!(
                "cannot understand the plan {name}: {key} is no text, number, list or truth"
            ))
        })?;
        words.extend(flag);
    }
    let plan_word = path.as_os_str();
    words.extend(
        std::env::args_os()
            .skip(2)
            .filter(|word| word != plan_word)
            .filter_map(|word| word.into_string().ok()),
    );
    Ok(words)
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
}
