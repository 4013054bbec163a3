//! Values of flags as people write them.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ipcmark_engine::PATTERNS;
use ipcmark_report::{FORMATS, Format, format};
use ipcmark_transport::{Pattern, Wait};

/// A time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as 200ms or 2s"))?;
    let range = Duration::from_millis(1)..=Duration::from_secs(3600);
    match range.contains(&duration) {
        true => Ok(duration),
        false => Err("it is not between 1ms and 1h".into()),
    }
}

/// A time for a whole run.
pub(crate) fn budget(text: &str) -> Result<Duration, String> {
    let budget =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as 30s or 2m"))?;
    let range = Duration::from_secs(1)..=Duration::from_secs(7 * 24 * 3600);
    match range.contains(&budget) {
        true => Ok(budget),
        false => Err("it is not between 1s and 7d".into()),
    }
}

/// A part of a mean, in percent.
pub(super) fn precision(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.1..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it is not between 0.1% and 50%; write it as 2%".into()),
    }
}

/// The floor round trip of a distance.
pub(super) fn distance(text: &str) -> Result<Duration, String> {
    let distance =
        humantime::parse_duration(text).map_err(|e| format!("{e}; write it as 72ns or 1us"))?;
    let range = Duration::from_nanos(1)..=Duration::from_millis(1);
    match range.contains(&distance) {
        true => Ok(distance),
        false => Err("it is not between 1ns and 1ms".into()),
    }
}

/// A word of `--waits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitWord {
    One(Wait),
    All,
}

pub(super) fn wait(word: &str) -> Result<WaitWord, String> {
    match word {
        "all" => Ok(WaitWord::All),
        word => {
            let wait = word.parse().map(WaitWord::One);
            wait.map_err(|()| format!("waits are {}, and all", joined(Wait::ALL)))
        }
    }
}

pub(super) fn pattern(word: &str) -> Result<Pattern, String> {
    let pattern = word.parse().map_err(|()| format!("patterns are {}", joined(Pattern::ALL)))?;
    match PATTERNS.contains(&pattern) {
        true => Ok(pattern),
        false => {
            Err(format!("this version does not measure it yet; it measures {}", joined(PATTERNS)))
        }
    }
}

/// The words of `--format`, each with what it is.
pub(super) fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let word = |format: &&Format| PossibleValue::new(format.name).help(format.summary);
    PossibleValuesParser::new(FORMATS.iter().map(word))
        .map(|name| format(&name).expect("the words are the names of the formats"))
}

fn joined<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
